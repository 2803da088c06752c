"""The end of an extraction: subscripts, shapes and parameters are decided, and the nest is assembled.

Long, because each of these needs what the others found.
"""

from __future__ import annotations

from scheduler.frontend.analysis.poly import Poly
from scheduler.frontend.analysis.prove import Domain
from scheduler.frontend.c_ast.csyntax import CExpr, Ref, Un, all_expressions, subexpressions
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import target_variable
from scheduler.frontend.scop import integers, strides
from scheduler.frontend.scop.checks import split
from scheduler.frontend.scop.context import ArrayInfo, Context, Pending
from scheduler.frontend.scop.delinearize import Shaped, delinearize
from scheduler.frontend.scop.integers import NotAffine
from scheduler.frontend.scop.overlaps import check_aliases, distinct, restricted
from scheduler.frontend.scop.rewrite import Rewriter, grouped
from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Array,
    Constraint,
    Expr,
    Loop,
    LoopNest,
    Name,
    Node,
    Read,
    Span,
    Statement,
    Storage,
    Subscript,
)
from scheduler.ir.walk import action_uses, placed_statements
from scheduler.polyhedral.private_scopes import narrow_scopes


def finish(ctx: Context, nodes: tuple[Node, ...], name: str, span: Span) -> LoopNest:
    """Raises Reject."""
    used = _used_pending(nodes, ctx)
    flat: dict[str, tuple[Affine, ...]] = {}
    chosen: dict[int, tuple[Subscript, ...]] = {}
    by_array: dict[str, list[int]] = {}
    for index in used:
        by_array.setdefault(ctx.accesses.pending[index].array, []).append(index)
    accesses = {name: [ctx.accesses.pending[i] for i in indices] for name, indices in by_array.items()}
    shapes = {name: _shape(ctx, ctx.accesses.arrays[name], found) for name, found in accesses.items()}
    shapes |= strides.shapes(ctx, [_loose(ctx, name, accesses[name]) for name in by_array if shapes[name] is None])
    for array, indices in by_array.items():
        shaped = shapes[array]
        for position, index in enumerate(indices):
            if shaped is not None:
                info = ctx.accesses.arrays[array]
                flat[array] = (*shaped.inner, *((Affine.constant(len(info.members)),) if info.members else ()))
                chosen[index] = (*shaped.subscripts[position], *_plain(ctx.accesses.pending[index])[1:])
            else:
                _note_parameters(ctx, ctx.accesses.pending[index])
                chosen[index] = _inside(ctx, ctx.accesses.arrays[array], ctx.accesses.pending[index])
    opaque_names = _OpaqueNames(ctx)
    for subscripts in chosen.values():
        for subscript in subscripts:
            if not isinstance(subscript, Affine):
                opaque_names.rewriter.expr(subscript)
    for bound in _opaque_bounds(nodes):
        opaque_names.rewriter.expr(bound)

    scalars: dict[str, Array] = {}

    def access(found: Access) -> Access:
        if not found.array.startswith("@"):
            return found
        index = int(found.array[1:])
        subscripts = tuple(s if isinstance(s, Affine) else rewriter.expr(s) for s in chosen[index])
        return Access(ctx.accesses.pending[index].array, subscripts)

    def value(found: Name) -> Expr:
        if found.name in ctx.assumed.parameters or found.name not in ctx.assumed.maybe_parameters:
            return found
        variable = ctx.assumed.maybe_parameters[found.name]
        storage = Storage.GLOBAL if variable.storage in ("global", "static") else Storage.LOCAL
        scalars[found.name] = Array(
            found.name, variable.ctype.name, (), storage, base=variable.base or None, const=True
        )
        return Read(Access(found.name), found.ctype)

    arrays: dict[str, Array] = {}
    rewriter = Rewriter(access, value)
    body = rewriter.nodes(nodes)
    mentioned = _mentioned(body)
    written = _written(body)
    for info in ctx.accesses.arrays.values():
        if info.name in mentioned:
            arrays[info.name] = _array(ctx, info, flat.get(info.name), info.name in written)
    arrays.update(scalars)
    for parameter in ctx.assumed.numbers:
        ctx.parameter(ctx.assumed.maybe_parameters[parameter])
    given = [Constraint(Affine.of(p) - number, "==") for p, number in sorted(ctx.assumed.numbers.items())]
    check_aliases(ctx, arrays, written)
    nest = LoopNest(
        name,
        tuple(ctx.assumed.parameters[p] for p in sorted(ctx.assumed.parameters)),
        tuple(distinct(ctx, arrays, restricted(ctx, arrays, array)) for array in arrays.values()),
        body,
        _tightest([*given, *ctx.assumed.facts.assumptions]),
        span,
        ctx.function.name,
    )
    if not any(True for _ in placed_statements(nest)):
        for leave in ctx.reading.leaves[:1]:
            raise Reject(leave.begin, leave.reason, leave.advice)
        raise Reject(ctx.begin, "the loop does nothing", "remove it")
    nest, ctx.inspector = split(ctx, nest)
    return grouped(narrow_scopes(nest))


def _tightest(assumptions: list[Constraint]) -> tuple[Constraint, ...]:
    """Without those that another one of the same form implies."""
    least: dict[tuple[object, str], Constraint] = {}
    for constraint in assumptions:
        key = (constraint.affine.terms if constraint.kind == ">=" else constraint.affine, constraint.kind)
        known = least.get(key)
        if known is None or constraint.affine.const < known.affine.const:
            least[key] = constraint
    return tuple(least.values())


def _used_pending(nodes: tuple[Node, ...], ctx: Context) -> list[int]:
    """Pending accesses the tree really contains (others were tried and dropped), inner ones included."""
    found: list[int] = []

    def note(access: Access) -> Access:
        if access.array.startswith("@"):
            index = int(access.array[1:])
            if index not in found:
                found.append(index)
                for dimension in ctx.accesses.pending[index].dimensions:
                    if dimension.poly is None or dimension.poly.affine is None:
                        walker.expr(dimension.expr)
        return access

    walker = Rewriter(note, lambda name: name)
    walker.nodes(nodes)
    return found


class _OpaqueNames:
    """Integer scalars in opaque subscripts and bounds are parameters too."""

    def __init__(self, ctx: Context) -> None:
        def note(name: Name) -> Expr:
            variable = ctx.assumed.maybe_parameters.get(name.name)
            if variable is not None:
                ctx.parameter(variable)
            return name

        self.rewriter = Rewriter(lambda a: a, note)


def _note_parameters(ctx: Context, access: Pending) -> None:
    """The integers in a product are parameters too: a test may need them to tell which elements are meant."""
    for dimension in access.dimensions:
        if dimension.poly is not None and dimension.poly.affine is None:
            for name in sorted(dimension.poly.names() & ctx.assumed.maybe_parameters.keys()):
                ctx.parameter(ctx.assumed.maybe_parameters[name])


def _opaque_bounds(nodes: tuple[Node, ...]) -> list[Expr]:
    found: list[Expr] = []
    for node in nodes:
        if isinstance(node, Loop):
            found += [b for b in (node.start, node.stop) if not isinstance(b, tuple)]
        if not isinstance(node, Statement):
            found += _opaque_bounds(node.body)
    return found


def _shape(ctx: Context, info: ArrayInfo, accesses: list[Pending]) -> Shaped | None:
    """The delinearized shape of an array with a single subscript, if it has one."""
    polys = _linear(info, accesses)
    return delinearize(ctx.assumed.facts, polys, ctx.is_parameter_name) if polys else None


def _loose(ctx: Context, name: str, accesses: list[Pending]) -> strides.Loose:
    info = ctx.accesses.arrays[name]
    needed = any(a.is_write for a in accesses) or info.storage != Storage.RESTRICT
    return strides.Loose(name, tuple(_linear(info, accesses)), needed)


def _linear(info: ArrayInfo, accesses: list[Pending]) -> list[tuple[Poly, Domain]]:
    """The subscripts of an array with a single one; none where one of them is no polynomial."""
    last = 1 if info.members else 0
    if info.storage == Storage.PRIVATE or any(len(a.dimensions) != 1 + last for a in accesses):
        return []
    found = [(a.dimensions[0].poly, a.domain) for a in accesses]
    polys = [(poly, domain) for poly, domain in found if poly is not None]
    return polys if len(polys) == len(found) else []


def _inside(ctx: Context, info: ArrayInfo, access: Pending) -> tuple[Subscript, ...]:
    """The subscripts. An inner one that leaves its dimension would reach other elements than it says: of a subscript it
    must not be known, of a pointer it must be sure that it does not. Raises Reject.
    """
    found = _plain(access)
    # A row may be as long as it is: that it does not reach into others is tested when the code runs.
    inner = [p for p in range(1, min(len(found), len(info.shape))) if p > info.rows]
    if access.moved:
        assumed = list(ctx.assumed.facts.assumptions)
        for subscripts in (found, _carried(info, found, nearest=True), _carried(info, found, nearest=False)):
            if all(_stays_inside(ctx, access, subscripts[p], info.shape[p]) for p in inner):
                return subscripts
            ctx.assumed.facts.assumptions[:] = assumed
        reason = f"a pointer into a row of '{info.name}' may leave that row"
        raise Reject(ctx.begin, reason, "use the array with its declared dimensions")
    for subscript, extent in ((found[p], info.shape[p]) for p in inner):
        if not isinstance(extent, int) or not isinstance(subscript, Affine):
            continue
        if subscript.is_constant and 0 <= subscript.const < extent:
            continue
        facts, domain = ctx.assumed.facts, access.domain
        if facts.never(subscript, domain) or facts.never(-subscript + extent - 1, domain):
            reason = f"a subscript of '{info.name}' leaves its dimension"
            raise Reject(ctx.begin, reason, "use the array with its declared dimensions")
    return found


def _stays_inside(ctx: Context, access: Pending, subscript: Subscript, extent: object) -> bool:
    """Proved, or assumed and tested."""
    if not isinstance(subscript, Affine) or extent is None:
        return False
    try:
        size = Affine.constant(extent) if isinstance(extent, int) else integers.exact(ctx, extent)  # type: ignore[arg-type]
    except NotAffine:
        return False
    facts, domain = ctx.assumed.facts, access.domain
    return facts.require(subscript, domain) and facts.require(size - subscript - 1, domain)


def _plain(access: Pending) -> tuple[Subscript, ...]:
    result: list[Subscript] = []
    for dimension in access.dimensions:
        affine = dimension.poly.affine if dimension.poly is not None else None
        result.append(dimension.expr if affine is None else affine)
    return tuple(result)


def _carried(info: ArrayInfo, plain: tuple[Subscript, ...], nearest: bool) -> tuple[Subscript, ...]:
    """With whole rows that an inner subscript goes on by in the one before it: the `p[i*N + j]` of `p = &a[0][0]` is
    `a[i][j]`. Of a constant: to the nearest row (`(i + 1)*N + j - 1` is of the next one), or to the one that it is in.
    """
    found = list(plain)
    for position in range(min(len(found), len(info.shape)) - 1, info.rows, -1):
        above, subscript, extent = found[position - 1], found[position], info.shape[position]
        if not (isinstance(above, Affine) and isinstance(subscript, Affine) and isinstance(extent, int) and extent > 0):
            continue
        half = extent // 2
        rows = [(atom, (c + half) // extent) for atom, c in subscript.terms]
        whole = Affine.build(rows, (subscript.const + half * nearest) // extent)
        found[position - 1], found[position] = above + whole, subscript - whole * extent
    return tuple(found)


def _array(ctx: Context, info: ArrayInfo, inner: tuple[Affine, ...] | None, written: bool) -> Array:
    if inner is not None:
        shape: tuple[Affine | None, ...] = (None, *inner)
    else:
        shape = tuple(_extent(ctx, info, e, position) for position, e in enumerate(info.shape))
    return Array(
        info.name,
        info.ctype,
        shape,
        info.storage,
        inner is not None,
        info.scope,
        info.base,
        not written and info.storage != Storage.PRIVATE,
        members=info.members,
        rows=info.rows,
        untyped=ctx.unit.dialect.untyped,
    )


def _extent(ctx: Context, info: ArrayInfo, extent: object, position: int) -> Affine | None:
    if isinstance(extent, int):
        return Affine.constant(extent)
    if extent is None:
        if position <= info.rows:
            return None
        raise Reject(_at(ctx, info), f"a size of '{info.name}' is not known", "declare the array with its sizes")
    changed = _changed_since(ctx, info, extent)  # type: ignore[arg-type]
    if changed is not None:
        reason = f"'{changed}', a size of '{info.name}', changes behind its declaration"
        raise Reject(_at(ctx, info), reason, "keep the size in a variable of its own")
    try:
        return integers.exact(ctx, extent)  # type: ignore[arg-type]
    except NotAffine:
        if position == 0:
            return None
        raise Reject(
            _at(ctx, info), f"a size of '{info.name}' is not affine", "compute the size into a variable first"
        ) from None


def _changed_since(ctx: Context, info: ArrayInfo, extent: CExpr) -> str | None:
    """A variable that a size was computed from when the array came to be, and that was set again since."""
    sizes = {e.var for e in subexpressions(extent) if isinstance(e, Ref) and (e.var.writes or e.var.address_taken)}
    array = info.variable
    if array is None or array in ctx.scope.inside or not sizes:
        return None
    for expr in all_expressions(ctx.function.body):
        if array.storage == "param" or expr.at > array.offset:
            target = target_variable(expr)
            if isinstance(expr, Un) and expr.op == "&" and isinstance(expr.operand, Ref):
                target = expr.operand.var
            if target in sizes:
                return target.name if target is not None else None
    return None


def _at(ctx: Context, info: ArrayInfo) -> int:
    return ctx.begin


def _mentioned(body: tuple[Node, ...]) -> set[str]:
    found: set[str] = set()

    def note(access: Access) -> Access:
        found.add(access.array)
        for subscript in access.subscripts:
            if not isinstance(subscript, Affine):
                walker.expr(subscript)
        return access

    walker = Rewriter(note, lambda name: name)
    walker.nodes(body)
    return found


def _written(body: tuple[Node, ...]) -> set[str]:
    nest = LoopNest("", (), (), body)
    return {
        use.access.array
        for placed in placed_statements(nest)
        for use in action_uses(placed.statement.body)
        if use.is_write
    }
