"""Makes a built nest valid: moves subscripts into bounds, finds the extents of arrays, names the statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from scheduler.ir.affine import Affine
from scheduler.ir.mapping import map_actions, map_bound, map_expr
from scheduler.ir.nest import Access, Array, Loop, Node, Predicate, Statement

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


def _visited(
    nodes: tuple[Node, ...], visit: Visit, boxes: Mapping[str, Box], opaque: Mapping[str, Box], numbers: Iterator[int]
) -> tuple[Node, ...]:
    """The nodes with `visit` applied to every access, inner accesses first; statements are named by `numbers`."""

    def accesses(access: Access) -> Access:
        return visit(access, boxes)

    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Statement):
            result.append(Statement(f"S{next(numbers)}", map_actions(node.body, accesses)))
            continue
        inner = boxes
        if isinstance(node, Loop):
            inner = {**boxes, node.name: loop_box(node, boxes, opaque)}
            node = replace(node, start=map_bound(node.start, accesses), stop=map_bound(node.stop, accesses))
        elif isinstance(node, Predicate):
            node = replace(node, condition=map_expr(node.condition, accesses))
        result.append(replace(node, body=_visited(node.body, visit, inner, opaque, numbers)))
    return tuple(result)


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

    nodes = _visited(nodes, measure, {}, opaque, count())
    nodes = _visited(nodes, move, {}, opaque, count())
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
