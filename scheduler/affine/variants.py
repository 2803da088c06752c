"""What is made of a computed schedule tree: loops of a band in the order that suits threads and vectors, or split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scheduler.affine.forest import affine
from scheduler.affine.model import Band, Node, Several, Statements
from scheduler.ir.tree import Leaf, TreeLoop
from scheduler.normalize.stride import access_stride, directions
from scheduler.replay import Replayer
from scheduler.transform.common import nest_chain

_FAR = 64  # elements; farther is no worse


def variants(node: Node, replayer: Replayer) -> Iterator[Node]:
    """As isl gave it; with the loops of its bands in another order; then with their last loops split, one for each
    part below: what is inside stays simple and can be vectorized. The order is legal, the splits have to be checked."""
    ordered = _ordered(node, replayer)
    yield node
    yield ordered
    yield _sunk(ordered, 1)
    yield _sunk(ordered, None)


def _ordered(node: Node, replayer: Replayer) -> Node:
    """Loops that carry nothing outside, and of them the one with the smallest strides inside all others."""
    if isinstance(node, Several):
        return replace(node, children=tuple(_ordered(child, replayer) for child in node.children))
    if isinstance(node, Statements):
        return node
    child = _ordered(node.child, replayer)
    places = list(range(len(node.rows)))
    if node.permutable and len(places) > 1:
        cost = [_cost(node, k, replayer) for k in places]
        inner = min(places, key=lambda k: (cost[k], -k))
        rest = sorted((k for k in places if k != inner), key=lambda k: not node.coincident[k])
        places = [*rest, inner]
    rows, free = tuple(node.rows[k] for k in places), tuple(node.coincident[k] for k in places)
    return Band(rows, free, node.permutable, child)


def _cost(band: Band, place: int, replayer: Replayer) -> int:
    """How far accesses jump along a loop while the other loops of the band stand."""
    model, nest = replayer.model, replayer.nest
    loops = [
        TreeLoop(str(k), tuple((s, affine(model, s, linear)) for s, linear in rows.items()), (), "")
        for k, rows in enumerate(band.rows)
    ]
    tree = nest_chain(tuple(loops), tuple(Leaf(s) for s in band.rows[place]))
    total = 0
    for statement, direction in directions((tree,), loops[place]).items():
        for use in model.uses(statement):
            if not nest.array(use.access.array).is_scalar:
                total += min(access_stride(nest, use, direction), _FAR)
    return total


def _sunk(node: Node, count: int | None) -> Node:
    """The last `count` loops of each band (None: all but the first) below the parts that follow in it."""
    if isinstance(node, Several):
        return replace(node, children=tuple(_sunk(child, count) for child in node.children))
    if isinstance(node, Statements):
        return node
    child = _sunk(node.child, count)
    kept = max(len(node.rows) - count, 0) if count is not None else min(len(node.rows), 1)
    if not isinstance(child, Several | Statements) or kept == len(node.rows):
        return replace(node, child=child)
    parts = child.children if isinstance(child, Several) else tuple(Statements((name,)) for name in child.names)
    if len(parts) < 2:
        return replace(node, child=child)
    inner = tuple(
        _restricted(replace(node, rows=node.rows[kept:], coincident=node.coincident[kept:], child=p)) for p in parts
    )
    below = Several(inner, not isinstance(child, Several) or child.ordered)
    if not kept:
        return below
    return Band(node.rows[:kept], node.coincident[:kept], node.permutable, below)


def _restricted(band: Band) -> Band:
    """The band with rows for the statements below it alone."""
    names = frozenset(below(band.child))
    return replace(band, rows=tuple({s: row for s, row in rows.items() if s in names} for rows in band.rows))


def below(node: Node) -> Iterator[str]:
    """The statements of a tree."""
    if isinstance(node, Statements):
        yield from node.names
    elif isinstance(node, Band):
        yield from below(node.child)
    else:
        for child in node.children:
            yield from below(child)
