"""Packing: the block of an array that a loop's body reads is copied to a small contiguous buffer first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal as OneOf

import islpy as isl

from scheduler.codegen.ast import Walker
from scheduler.codegen.copyable import copied_box, elements_exist
from scheduler.codegen.expr import CHOICE, RELATION, Printer, wrap
from scheduler.codegen.heap import STACK_BYTES
from scheduler.codegen.nodes import Bind, CNode, For, IntExpr, IntOp, Packed, Scope, add, scale, with_bodies
from scheduler.codegen.opaque import written_arrays
from scheduler.codegen.polytree import Place, PolyTree, is_aligned, time_name
from scheduler.codegen.text import block
from scheduler.codegen.vectors import canonical
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Action, Assign, Binary, Expr, Name, Read
from scheduler.ir.tree import PackMark, statements_below, tree_loops
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import children

MOST_BYTES = 1 << 26
_SHARED_COPY = 16_384  # elements from which on a copy is made by all threads


@dataclass(frozen=True)
class Buffer:
    """Where the elements of a packed array are: `index` gives the buffer's subscripts for the array's."""

    name: str
    ctype: str
    mark: PackMark
    accesses: frozenset[Access] | None
    low: tuple[IntExpr, ...]
    multiples: Mapping[str, int]  # variable -> a number its value is a multiple of

    def index(self, subscripts: tuple[IntExpr, ...]) -> tuple[IntExpr, ...]:
        mark = self.mark
        offsets = [add(s, scale(low, -1)) for s, low in zip(subscripts, self.low, strict=True)]
        if not mark.panel:
            return tuple(offsets[d] for d in mark.order)
        number, inside = self._split(offsets[mark.panel_dim])
        return (*(number if d == mark.panel_dim else offsets[d] for d in mark.order), inside)

    def _split(self, offset: IntExpr) -> tuple[IntExpr, IntExpr]:
        """(panel, place in the panel) of an offset >= 0."""
        panel = self.mark.panel
        size = Affine.constant(panel)
        if not isinstance(offset, Affine):
            return IntOp("/", (offset, size)), IntOp("%", (offset, size))
        whole = Affine.build(offset.terms, 0)
        if multiple_of(whole, panel, self.multiples):
            first, inside = divmod(offset.const, panel)
            exact = all(c % panel == 0 for _, c in whole.terms)
            number: IntExpr = whole.floordiv(panel) if exact else IntOp("/", (whole, size))
            return add(number, Affine.constant(first)), Affine.constant(inside)
        return IntOp("/", (offset, size)), IntOp("%", (offset, size))


def multiple_of(expr: Affine, number: int, multiples: Mapping[str, int]) -> bool:
    if expr.const % number:
        return False
    return all(c * (multiples.get(a, 1) if isinstance(a, str) else 1) % number == 0 for a, c in expr.terms)


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
    parts = {access: part for access, part in parts.items() if not _changes(mark, part, place, poly, strides)}
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


@dataclass(frozen=True, slots=True)
class PackCode:
    """What a Packed node prints before its body, and what it needs at the top of the nest."""

    lines: tuple[str, ...]
    buffer: Buffer
    allocation: tuple[str, str] | None  # declaration with allocation, name to test and free


def pack_code(node: Packed, printer: Printer, multiples: dict[str, int], fresh: Callable[[str], str]) -> PackCode:
    """Declaration and copy loops. `multiples` learns the variables declared here."""
    mark = node.mark
    array = printer.arrays[mark.array]
    name = fresh(f"{mark.array}_pack")
    lines: list[str] = []
    low: list[IntExpr] = []
    for d, bound in enumerate(node.low):
        panel = mark.panel if d == mark.panel_dim else 1
        if isinstance(bound, Affine) and (panel == 1 or multiple_of(bound, panel, multiples)):
            low.append(bound)
            continue
        aligned = bound if panel == 1 else scale(IntOp("floord", (bound, Affine.constant(panel))), panel)
        variable = fresh(f"{name}_{d}")
        lines.append(f"const long {variable} = {printer.integer(aligned)[0]};")
        multiples[variable] = panel
        low.append(Affine.of(variable))
    ctype = node.value.ctype
    buffer = Buffer(name, ctype, mark, node.accesses, tuple(low), multiples)
    shape = [node.extents[d] // (mark.panel if mark.panel and d == mark.panel_dim else 1) for d in mark.order]
    shape += [mark.panel] if mark.panel else []
    count = 1
    for extent in shape:
        count *= extent
    kind = scalar_type(ctype)
    size = count * (kind.bits // 8 if kind is not None else 8)
    if size > MOST_BYTES:
        raise CodegenUnsupported(f"the packed block of {array.name} has {size >> 20} MiB")
    allocation = None
    tail = "".join(f"[{extent}]" for extent in shape[1:])
    if size <= STACK_BYTES:
        lines.append(f"{ctype} {name}[{shape[0]}]{tail} __attribute__((__aligned__(64)));")
    elif node.parallel == "around":
        whole = fresh(f"{name}s")
        stride = -(-size // 64) * 64
        allocation = (f"char *{whole} = pe_alloc((unsigned long){stride} * pe_threads());", whole)
        lines.append(f"{ctype} (*restrict {name}){tail} = (void *)({whole} + (unsigned long){stride} * pe_thread());")
    else:
        allocation = (f"{ctype} (*restrict {name}){tail} = pe_alloc({size});", name)
    together = node.parallel == "inside" and count >= _SHARED_COPY
    lines += _copy(node, buffer, printer, fresh, together)
    return PackCode(tuple(lines), buffer, allocation)


def _copy(node: Packed, buffer: Buffer, printer: Printer, fresh: Callable[[str], str], together: bool) -> list[str]:
    mark = node.mark
    variables = [fresh(f"{buffer.name}_i{d}") for d in range(len(node.low))]
    stops = [wrap(printer.integer(add(high, Affine.constant(1))), RELATION + 1) for high in node.high]
    access = Access(mark.array, tuple(Affine.of(v) for v in variables))
    target = printer.with_redirect(mark.array, replace(buffer, accesses=None))

    def head(d: int, step: int = 1) -> str:
        v = variables[d]
        move = f"{v}++" if step == 1 else f"{v} += {step}"
        return f"for (long {v} = {printer.integer(buffer.low[d])[0]}; {v} < {stops[d]}; {move})"

    if not mark.panel:
        body = [f"{target.access(access)} = {_stored(node, printer, access)};"]
        for d in reversed(mark.order):
            body = block(head(d), body)
    else:
        body = _panel_loops(node, buffer, printer, variables, stops[mark.panel_dim], head, fresh)
    if together:
        body.insert(0, "#pragma omp parallel for schedule(static)")
    return body if node.needed is None else block(f"if ({printer.integer(node.needed)[0]})", body)


def _panel_loops(
    node: Packed,
    buffer: Buffer,
    printer: Printer,
    variables: list[str],
    stop: str,
    head: Callable[..., str],
    fresh: Callable[[str], str],
) -> list[str]:
    """Panel by panel; what is missing in the last one is filled with zeros."""
    mark = node.mark
    panel, place = mark.panel, fresh("q")
    v = variables[mark.panel_dim]
    known = replace(buffer, accesses=None, multiples={**buffer.multiples, v: panel})
    target = printer.with_redirect(mark.array, known)
    subscripts = tuple(Affine.of(name) for name in variables)
    moved = tuple(s + Affine.of(place) if d == mark.panel_dim else s for d, s in enumerate(subscripts))
    written = target.access(Access(mark.array, subscripts)).rsplit("[", 1)[0] + f"[{place}]"
    read = _stored(node, printer, Access(mark.array, moved))
    count = fresh("rest")

    def over(first: str, last: str) -> str:
        return f"for (long {place} = {first}; {place} < {last}; {place}++)"

    def around(body: list[str]) -> list[str]:
        inner = mark.order[mark.order.index(mark.panel_dim) + 1 :]
        for d in reversed(inner):
            body = block(head(d), body)
        return body

    full = around(block(over("0", str(panel)), [f"{written} = {read};"]))
    some = block(over("0", count), [f"{written} = {read};"])
    zeros = block(over(count, str(panel)), [f"{written} = 0;"])
    rest = [f"const long {count} = {stop} - {v};", *around([*some, *zeros])]
    lines = [*block(f"if ({v} + {panel} <= {stop})", full)[:-1], *block("} else", rest)]
    extent = printer.arrays[mark.array].shape[mark.panel_dim]
    if node.whole:
        lines = full
    elif extent is not None and extent.is_constant and extent.const < panel:
        lines = rest  # no panel is ever full, and gcc warns of what would be read
    for d in reversed(mark.order[: mark.order.index(mark.panel_dim) + 1]):
        lines = block(head(d, panel if d == mark.panel_dim else 1), lines)
    return lines


def _stored(node: Packed, printer: Printer, access: Access) -> str:
    """C text of what the buffer holds for an element."""
    rendered = replace(printer, held={}).expr(_of_element(node.value, access))
    return wrap(rendered, CHOICE + 1)


def _of_element(value: Expr, access: Access) -> Expr:
    if isinstance(value, Read):
        return Read(access, value.ctype) if value.access.array == access.array else value
    if isinstance(value, Binary):
        return replace(value, left=_of_element(value.left, access), right=_of_element(value.right, access))
    return value


def printer_inside(printer: Printer, node: Packed, buffer: Buffer) -> Printer:
    """The printer inside a Packed node."""
    packed = dict(printer.packed)
    if not isinstance(node.value, Read):
        read = next(e for e in expressions(node.value) if isinstance(e, Read) and e.access in node.accesses)
        packed[node.value] = Read(read.access, node.value.ctype)
    return replace(printer.with_redirect(node.mark.array, buffer), packed=packed)


def expressions(e: Expr) -> Iterator[Expr]:
    yield e
    for child in children(e):
        yield from expressions(child)
