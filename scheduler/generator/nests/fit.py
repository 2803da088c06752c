"""Makes a built nest valid: moves subscripts into bounds, finds the extents of arrays, names the statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Array,
    Assign,
    Binary,
    Bound,
    Call,
    Cast,
    Conditional,
    Expr,
    Literal,
    Loop,
    Name,
    Node,
    Predicate,
    Read,
    Statement,
    Unary,
)

Box = tuple[Affine, Affine]
Visit = Callable[[Access, Mapping[str, Box]], Access]


def interval(affine: Affine, boxes: Mapping[str, Box]) -> Box:
    """Bounds of an expression over boxes of iterators, affine in the parameters; floors are widened."""
    low = high = Affine.constant(affine.const)
    for atom, coefficient in affine.terms:
        if isinstance(atom, str):
            first, last = boxes.get(atom, (Affine.of(atom), Affine.of(atom)))
        else:
            first, last = interval(atom.numerator, boxes)
            first, last = first.floordiv(atom.denominator), last.floordiv(atom.denominator)
        low += (first if coefficient > 0 else last) * coefficient
        high += (last if coefficient > 0 else first) * coefficient
    return low, high


def loop_box(loop: Loop, boxes: Mapping[str, Box], opaque: Mapping[str, Box]) -> Box:
    """The least and the largest value of an iterator; of several bounds the first one counts."""
    if not (isinstance(loop.start, tuple) and isinstance(loop.stop, tuple)):
        return opaque[loop.name]
    start, stop = interval(loop.start[0], boxes), interval(loop.stop[0], boxes)
    return (start[0], stop[1] - 1) if loop.step > 0 else (stop[0] + 1, start[1])


def map_accesses(nodes: tuple[Node, ...], visit: Visit, boxes: Mapping[str, Box], opaque: Mapping[str, Box],
                 number: list[int]) -> tuple[Node, ...]:  # fmt: skip
    """The nodes with `visit` applied to every access, inner accesses first; statements are numbered from `number`."""
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Statement):
            body = tuple(_action(a, visit, boxes) for a in node.body)
            result.append(Statement(f"S{number[0]}", body))
            number[0] += 1
        elif isinstance(node, Loop):
            inner = {**boxes, node.name: loop_box(node, boxes, opaque)}
            start, stop = _bound(node.start, visit, boxes), _bound(node.stop, visit, boxes)
            result.append(
                replace(node, start=start, stop=stop, body=map_accesses(node.body, visit, inner, opaque, number))
            )
        else:
            if isinstance(node, Predicate):
                node = replace(node, condition=map_expr(node.condition, visit, boxes))
            result.append(replace(node, body=map_accesses(node.body, visit, boxes, opaque, number)))
    return tuple(result)


def _bound(bound: Bound, visit: Visit, boxes: Mapping[str, Box]) -> Bound:
    return bound if isinstance(bound, tuple) else map_expr(bound, visit, boxes)


def _action(action: Action, visit: Visit, boxes: Mapping[str, Box]) -> Action:
    if isinstance(action, Assign):
        value = map_expr(action.value, visit, boxes)
        return Assign(_access(action.target, visit, boxes), action.op, value)
    then, orelse = (tuple(_action(a, visit, boxes) for a in part) for part in (action.then, action.orelse))
    return replace(action, condition=map_expr(action.condition, visit, boxes), then=then, orelse=orelse)


def _access(access: Access, visit: Visit, boxes: Mapping[str, Box]) -> Access:
    subscripts = tuple(s if isinstance(s, Affine) else map_expr(s, visit, boxes) for s in access.subscripts)
    return visit(Access(access.array, subscripts), boxes)


def map_expr(expr: Expr, visit: Visit, boxes: Mapping[str, Box]) -> Expr:
    if isinstance(expr, Literal | Name):
        return expr
    if isinstance(expr, Read):
        return replace(expr, access=_access(expr.access, visit, boxes))
    if isinstance(expr, Unary | Cast):
        return replace(expr, operand=map_expr(expr.operand, visit, boxes))
    if isinstance(expr, Binary):
        return replace(expr, left=map_expr(expr.left, visit, boxes), right=map_expr(expr.right, visit, boxes))
    if isinstance(expr, Call):
        return replace(expr, arguments=tuple(map_expr(a, visit, boxes) for a in expr.arguments))
    assert isinstance(expr, Conditional)
    condition, then, orelse = (map_expr(e, visit, boxes) for e in (expr.condition, expr.then, expr.orelse))
    return Conditional(condition, then, orelse, expr.ctype)


def _at_least(affine: Affine, low: Mapping[str, int], least: Affine) -> Affine:
    """Something >= both for parameters >= their `low`: coefficientwise maxima around that corner."""
    names = sorted(affine.names() | least.names())
    coefficients = {n: max(affine.coefficient(n), least.coefficient(n), 0) for n in names}
    corner = max(a.const + sum(a.coefficient(n) * low[n] for n in names) for a in (affine, least))
    rest = corner - sum(c * low[n] for n, c in coefficients.items())
    return Affine.build(coefficients.items(), rest)


def fit(
    nodes: tuple[Node, ...], arrays: Mapping[str, Array], opaque: Mapping[str, Box], low: Mapping[str, int]
) -> tuple[tuple[Node, ...], dict[str, Array]]:
    """Nodes and arrays with every affine subscript in bounds whenever all parameters are at least `low`.

    Extents that are already known stay, and their subscripts are not moved.
    """
    shift: dict[tuple[str, int], Affine] = {}
    extent: dict[tuple[str, int], Affine] = {}

    def measure(access: Access, boxes: Mapping[str, Box]) -> Access:
        for place, subscript in enumerate(access.subscripts):
            if isinstance(subscript, Affine) and arrays[access.array].shape[place] is None:
                below = -_floors_removed(interval(subscript, boxes)[0], upper=False)
                key = access.array, place
                shift[key] = _at_least(below, low, shift.get(key, Affine()))
        return access

    def move(access: Access, boxes: Mapping[str, Box]) -> Access:
        subscripts = list(access.subscripts)
        for place, subscript in enumerate(access.subscripts):
            key = access.array, place
            if isinstance(subscript, Affine) and arrays[access.array].shape[place] is None:
                subscripts[place] = moved = subscript + shift[key]
                top = _floors_removed(interval(moved, boxes)[1], upper=True) + 1
                extent[key] = _at_least(top, low, extent.get(key, Affine.constant(1)))
        return Access(access.array, tuple(subscripts))

    nodes = map_accesses(nodes, measure, {}, opaque, [0])
    nodes = map_accesses(nodes, move, {}, opaque, [0])
    fitted = {
        name: replace(array, shape=tuple(
            e if e is not None else extent.get((name, place), Affine.constant(1)) for place, e in enumerate(array.shape)
        ))
        for name, array in arrays.items()
    }  # fmt: skip
    return nodes, fitted


def _floors_removed(affine: Affine, upper: bool) -> Affine:
    """A bound without floors: (x - d + 1)/d <= floor(x/d) <= x/d, made integral for x >= 0."""
    result = Affine.constant(affine.const)
    for atom, coefficient in affine.terms:
        if isinstance(atom, str):
            result += Affine.of(atom, coefficient)
        else:
            outward = (coefficient > 0) == upper
            result += _floors_removed(atom.numerator, upper) * coefficient if outward else Affine()
    return result
