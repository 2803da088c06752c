"""Packing: the block of an array that a loop's body reads is copied to a small contiguous buffer first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Literal as OneOf

import islpy as isl

from scheduler.codegen.emit.vectors import canonical
from scheduler.codegen.tree.ast import Walker
from scheduler.codegen.tree.copyable import copied_box, elements_exist
from scheduler.codegen.tree.nodes import Bind, CNode, For, IntExpr, IntOp, Packed, Scope, with_bodies
from scheduler.codegen.tree.opaque import written_arrays
from scheduler.codegen.tree.places import Place, is_aligned, time_name
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Action, Assign, Binary, Expr, Name, Read
from scheduler.ir.tree import PackMark, statements_below, tree_loops
from scheduler.ir.walk import children


def insert_packs(nodes: tuple[CNode, ...], poly: PolyTree, walker: Walker) -> tuple[CNode, ...]:
    """Puts the bodies of loops with pack marks into Packed nodes."""
    if not any(place.loop.packs for place in poly.by_name.values()):
        return nodes

    def visit(body: tuple[CNode, ...], times: Mapping[str, IntExpr], strided: bool) -> tuple[CNode, ...]:
        return tuple(one(node, times, strided) for node in body)

    def one(node: CNode, times: Mapping[str, IntExpr], strided: bool) -> CNode:
        if not isinstance(node, For | Scope):
            return with_bodies(node, lambda body: visit(body, times, strided))
        place = poly.by_name[node.loop]
        time = node.time if node.time is not None else _time(place, poly, walker, times)
        inner = {**times, node.loop: time} if time is not None else times
        several = len(statements_below(place.loop)) > 1
        strided = strided or (isinstance(node, For) and abs(node.step) > 1 and several and not is_aligned(place.loop))
        body = visit(node.body, inner, strided)
        for mark in reversed(place.loop.packs):
            if strided:
                # isl may run statements with different offsets in one iteration: not at the time of that loop.
                raise CodegenUnsupported(f"{mark.array} is packed in a strided loop around several statements")
            bound = tuple(takewhile(lambda child: isinstance(child, Bind), body))  # the bounds may speak of it
            body = (*bound, _packed(mark, place, poly, walker, inner, body[len(bound) :]))
        return replace(node, body=body)

    return visit(nodes, {}, False)


def _time(place: Place, poly: PolyTree, walker: Walker, times: Mapping[str, IntExpr]) -> IntExpr | None:
    """The time of a loop that isl eliminated."""
    if not any(loop.packs for loop in (place.loop, *tree_loops(place.loop.children))):
        return None
    bound = poly.only_time(place.path)
    env = {time_name(name): value for name, value in times.items()}
    return None if bound is None else _integer(bound, poly.strides(place.path), walker, env)


def _packed(
    mark: PackMark,
    place: Place,
    poly: PolyTree,
    walker: Walker,
    times: Mapping[str, IntExpr],
    body: tuple[CNode, ...],
) -> Packed:
    array = poly.model.nest.array(mark.array)
    if not set(place.names) <= set(times):
        raise CodegenUnsupported(f"the iterations of the loops around {place.loop.name} are not known one by one")
    if len(mark.order) != len(array.shape):
        raise CodegenUnsupported(f"{array.name} has {len(array.shape)} dimensions, its packing {len(mark.order)}")
    env = {time_name(name): value for name, value in times.items()}
    strides = poly.strides(place.path)
    accesses, touched = _footprint(mark, place, poly, strides)
    if not elements_exist(array, mark, place, poly, accesses, touched, strides):
        raise CodegenUnsupported(f"the block of {array.name} may have elements that the program never reads")
    low, high, extents = [], [], []
    for d in range(len(array.shape)):
        first, last = touched.dim_min(d), touched.dim_max(d)
        extent = _extent(touched, d, mark, strides)
        assert extent is not None
        low.append(_integer(first, strides, walker, env))
        high.append(_integer(last, strides, walker, env))
        extents.append(-(-extent // mark.panel) * mark.panel if mark.panel and d == mark.panel_dim else extent)
    inside = any(loop.parallel for loop in tree_loops(place.loop.children))
    around = any(loop.parallel for loop in place.path)
    where: OneOf["inside", "around", "none"] = "inside" if inside else "around" if around else "none"
    value = _stored_value(mark.array, accesses, place, poly)
    needed = _needed(touched, place, poly, strides, walker, env)
    whole = bool(mark.panel) and _whole_panels(touched, mark, strides.intersect(poly.context()))
    return Packed(mark, accesses, tuple(low), tuple(high), tuple(extents), value, where, body, needed, whole)


def _needed(
    touched: isl.Set, place: Place, poly: PolyTree, strides: isl.Set, walker: Walker, env: Mapping[str, IntExpr]
) -> IntExpr | None:
    """When there are elements to copy (the bounds are right only then); None: in every iteration.

    The loop that isl makes of blocks of blocks may also stand where there is none, between those in which something
    runs.
    """
    runs: isl.Set | None = None
    for statement in statements_below(place.loop):
        part = poly.at(statement, place.path).params()
        runs = part if runs is None else runs.union(part)
    assert runs is not None
    between = isl.Set.from_basic_set(runs.simple_hull().remove_divs())
    context = between.intersect(strides).intersect(poly.context()).coalesce()
    reads = touched.params()
    if context.is_subset(reads):
        return None
    condition = isl.AstBuild.from_context(context).expr_from_set(reads.gist(context))
    return _needless_left_out(walker.expr(condition, dict(env)))


def _needless_left_out(condition: IntExpr) -> IntExpr | None:
    """Without comparisons of an expression with itself, of which compilers warn; None where nothing is left."""
    if not isinstance(condition, IntOp):
        return condition
    if condition.op == "&&":
        kept = tuple(part for part in map(_needless_left_out, condition.args) if part is not None)
        return IntOp("&&", kept) if len(kept) > 1 else kept[0] if kept else None
    same = condition.op in ("==", "<=", ">=") and condition.args[0] == condition.args[1]
    return None if same else condition


def _footprint(mark: PackMark, place: Place, poly: PolyTree, strides: isl.Set) -> tuple[frozenset[Access], isl.Set]:
    """The accesses to pack and the elements they read in one iteration of the loop.

    Where the array is read in several ways (`A[i][k] * A[j][k]`), these are the ones that stay in a block
    of constant size and move with the loop, and with the panels of a register block, together if their blocks are near
    each other.
    """
    array = mark.array
    parts: dict[Access, isl.Set] = {}
    for statement in statements_below(place.loop):
        for use in poly.model.uses(statement):
            if use.access.array != array:
                continue
            if not use.access.is_affine:
                raise CodegenUnsupported(f"{array} is not only read with affine subscripts in {place.loop.name}")
            if not use.is_write:
                part = poly.touched(statement, use, place.path)
                known = parts.get(use.access)
                parts[use.access] = part if known is None else known.union(part)
    # A statement that is shifted may read what another one writes with the same words: that must not go to the copy.
    uses = (use for statement in statements_below(place.loop) for use in poly.model.uses(statement))
    targets = {use.access for use in uses if use.is_write}
    parts = {a: p for a, p in parts.items() if a not in targets and not _changes(mark, p, place, poly, strides)}
    if not parts:
        raise CodegenUnsupported(f"{array} is not read, or changes where it is read, in loop {place.loop.name}")

    def bounded(touched: isl.Set) -> bool:
        return all(_extent(touched, d, mark, strides) is not None for d in range(len(mark.order)))

    def moves(touched: isl.Set) -> bool:
        position = touched.find_dim_by_name(isl.dim_type.param, time_name(place.loop.name))
        return position >= 0 and bool(touched.involves_dims(isl.dim_type.param, position, 1))

    blocks = {access: part for access, part in parts.items() if bounded(part)}
    chosen = {access: part for access, part in blocks.items() if moves(part)} or blocks
    if not chosen:
        raise CodegenUnsupported(f"the block of {array} read in {place.loop.name} has no constant bound")
    moving = _panel_iterators(mark, place)
    chosen = {access: part for access, part in chosen.items() if _along_panel(access, mark, moving)} or chosen
    kept: list[Access] = []
    touched: isl.Set | None = None
    for access, part in chosen.items():
        together = part if touched is None else touched.union(part)
        if touched is None or (bounded(together) and not _changes(mark, together, place, poly, strides)):
            kept, touched = [*kept, access], together
    assert touched is not None
    return frozenset(kept), touched


def _changes(mark: PackMark, touched: isl.Set, place: Place, poly: PolyTree, strides: isl.Set) -> bool:
    """Whether something of what is copied is written while the copy stands for it, by this thread or another."""
    parallel = next((k for k, loop in enumerate(place.path) if loop.parallel is not None), None)
    inside = place.loop if parallel is None else place.path[parallel]
    writes = [(s, u) for s in statements_below(inside) for u in poly.model.uses(s) if u.is_write]
    mine = [(s, use) for s, use in writes if use.access.array == mark.array]
    if not mine:
        return False
    known = strides.intersect(poly.context())
    copied = copied_box(touched.intersect_params(known), mark).intersect_params(known)
    path = place.path if parallel is None else place.path[:parallel]
    return any(not poly.touched(s, use, path).intersect(copied).is_empty() for s, use in mine)


def _panel_iterators(mark: PackMark, place: Place) -> frozenset[str]:
    """Iterators that the register blocks inside count in steps of the panel's width."""
    below = tuple(tree_loops(place.loop.children))
    names = {
        name
        for loop in below
        if loop.register is not None and mark.panel
        for name, size in zip(loop.register.loops, loop.register.sizes, strict=True)
        if size == mark.panel
    }
    rows = [row for loop in below if loop.name in names for _, row in loop.rows]
    return frozenset(name for row in rows for name in row.names())


def _along_panel(access: Access, mark: PackMark, moving: frozenset[str]) -> bool:
    """Whether a panel holds what one register block reads of it."""
    subscript = access.subscripts[mark.panel_dim] if mark.panel else None
    return isinstance(subscript, Affine) and bool(subscript.names() & moving)


def _extent(touched: isl.Set, d: int, mark: PackMark, strides: isl.Set) -> int | None:
    """How many elements of a dimension the buffer must hold, from the start of a panel on."""
    start, last = touched.dim_min(d), touched.dim_max(d)
    if mark.panel and d == mark.panel_dim:
        start = start.sub(start.mod_val(_val(touched, mark.panel)))
    values = isl.Set.from_pw_aff(last.sub(start).intersect_params(strides))
    largest = values.project_out(isl.dim_type.param, 0, values.dim(isl.dim_type.param)).dim_max_val(0)
    return largest.to_python() + 1 if largest.is_int() else None


def _whole_panels(touched: isl.Set, mark: PackMark, known: isl.Set) -> bool:
    """Whether the block begins and ends with a panel wherever it is."""
    ends = (touched.dim_min(mark.panel_dim), touched.dim_max(mark.panel_dim).add_constant_val(_val(touched, 1)))
    for end in ends:
        rest = isl.Set.from_pw_aff(end.mod_val(_val(touched, mark.panel)).intersect_params(known))
        values = rest.project_out(isl.dim_type.param, 0, rest.dim(isl.dim_type.param))
        if not values.is_subset(isl.Set.read_from_str(touched.get_ctx(), "{ [0] }")):
            return False
    return True


def _val(near: isl.Set, number: int) -> isl.Val:
    return isl.Val.int_from_si(near.get_ctx(), number)


def _stored_value(array: str, accesses: frozenset[Access], place: Place, poly: PolyTree) -> Expr:
    """The largest expression of the only read of the array and of constants of the nest: `alpha * A[i][k]`.

    Storing its value instead of the element saves computing it again for every use.
    """
    written = written_arrays(poly)
    found: list[Expr] = []
    below = statements_below(place.loop)
    reads = sum(use.access in accesses for s in below for use in poly.model.uses(s))

    def constant(e: Expr) -> bool:
        if isinstance(e, Read):
            return not e.access.subscripts and e.access.array not in written and e.access.array != array
        return not isinstance(e, Name) and all(constant(child) for child in children(e))

    def largest(e: Expr) -> Expr | None:
        """`e` if it is such an expression; collects the largest ones below otherwise."""
        if isinstance(e, Read):
            return e if e.access in accesses else None
        inner = [largest(child) for child in children(e)]
        others = [child for child, part in zip(children(e), inner, strict=True) if part is None]
        parts = [part for part in inner if part is not None]
        whole = isinstance(e, Binary) and e.op == "*" and canonical(e.ctype) in ("double", "float")
        if len(parts) == 1 and whole and all(constant(o) for o in others):
            return e
        found.extend(parts)
        return None

    for statement in below:
        for action in poly.model.placed[statement].statement.body:
            for top in action_expressions(action):
                part = largest(top)
                found += [part] if part is not None else []
    if len(found) == reads == 1:
        return found[0]
    ctype = poly.model.nest.array(array).ctype
    return Read(Access(array), ctype)


def action_expressions(action: Action) -> Iterator[Expr]:
    if isinstance(action, Assign):
        yield action.value
        return
    yield action.condition
    for inner in (*action.then, *action.orelse):
        yield from action_expressions(inner)


def _integer(bound: isl.PwAff, strides: isl.Set, walker: Walker, env: Mapping[str, IntExpr]) -> IntExpr:
    """The bound as an expression; pieces for block starts that do not occur are left out."""
    kept: isl.PwAff | None = None
    for domain, value in bound.get_pieces():
        if not domain.intersect(strides).is_empty():
            piece = isl.PwAff.alloc(domain, value)
            kept = piece if kept is None else kept.union_add(piece)
    assert kept is not None
    domain = kept.domain().coalesce()
    expr = isl.AstBuild.from_context(domain).expr_from_pw_aff(kept.gist(domain).coalesce())
    return walker.expr(expr, dict(env))
