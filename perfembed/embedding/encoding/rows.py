"""The loops of a scheduled nest in numbers: how often each runs, and how far one iteration moves the iterators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.cost.ranges import linear_part
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import Loop, LoopNest
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode
from scheduler.ir.walk import bound_names, loops
from scheduler.moves.trip_counts import trip_counts


@dataclass(frozen=True, slots=True)
class Row:
    """A time row without floors: iterations advance `base` by `grain`; `sign` -1: downwards."""

    base: Affine  # without constant, first coefficient positive
    grain: int
    sign: int


@dataclass(frozen=True, slots=True)
class PlacedLoop:
    """A loop of the tree. `extent`: typical iterations each time it is reached; `around`: how often that is."""

    node: TreeLoop
    level: int  # loops around
    extent: float
    around: float
    row: Row
    is_point: bool  # an outer loop goes over blocks of the same row
    uneven: bool  # its bounds depend on other loops


@dataclass(frozen=True, slots=True)
class PlacedLeaf:
    """A statement with the loops around it, and for each what one iteration adds to the statement's iterators."""

    statement: str
    path: tuple[PlacedLoop, ...]
    moves: tuple[Mapping[str, float], ...]


@dataclass(frozen=True, slots=True)
class PlacedTree:
    """Every loop (outer before inner) and statement (in order of execution)."""

    loops: tuple[PlacedLoop, ...]
    leaves: tuple[PlacedLeaf, ...]
    trips: Mapping[str, int]  # of the nest's own loops


def place_tree(nest: LoopNest, tree: tuple[TreeNode, ...], values: Mapping[str, int]) -> PlacedTree:
    """`values` has every parameter (`scheduler.cost.ranges.parameter_values`)."""
    sources = {loop.name: loop for loop in loops(nest)}
    trips = trip_counts(tuple(sources.values()), values)
    found: list[PlacedLoop] = []
    leaves: list[PlacedLeaf] = []

    def visit(nodes: tuple[TreeNode, ...], path: tuple[PlacedLoop, ...], around: float) -> None:
        for node in nodes:
            if isinstance(node, Leaf):
                rows = tuple(normal_row(loop.node.row(node.statement), sources) for loop in path)
                leaves.append(PlacedLeaf(node.statement, path, _moves(rows)))
                continue
            measured = max((_measured(node, s, path, sources, trips) for s, _ in node.rows), key=lambda m: m[0])
            extent, row, is_point, uneven = measured
            placed = PlacedLoop(node, len(path), extent, around, row, is_point, uneven)
            found.append(placed)
            visit(node.children, (*path, placed), around * extent)

    visit(tree, (), 1.0)
    return PlacedTree(tuple(found), tuple(leaves), trips)


def normal_row(row: Affine, sources: Mapping[str, Loop]) -> Row:
    """Strips the floors of tile loops, constants and the direction."""
    grain = 1
    while len(row.terms) == 1 and isinstance(row.terms[0][0], FloorDiv):
        atom, coefficient = row.terms[0]
        assert isinstance(atom, FloorDiv)
        grain = max(grain, atom.denominator)
        row = atom.numerator if coefficient > 0 else -atom.numerator
    sign = -1 if row.terms and row.terms[0][1] < 0 else 1
    base = Affine((row * sign).terms, 0)
    if len(base.terms) == 1 and isinstance(base.terms[0][0], str):
        source = sources.get(base.terms[0][0])
        grain = max(grain, abs(source.step)) if source is not None else grain
    return Row(base, grain, sign)


def _measured(
    node: TreeLoop, statement: str, path: tuple[PlacedLoop, ...], sources: Mapping[str, Loop], trips: Mapping[str, int]
) -> tuple[float, Row, bool, bool]:
    """(extent, row, is it a point loop, do its bounds depend on other loops) as one statement sees the loop."""
    row = normal_row(node.row(statement), sources)
    outer = [normal_row(loop.node.row(statement), sources) for loop in path]
    fixed = {
        r.base.terms[0][0]
        for r in outer
        if len(r.base.terms) == 1 and r.grain == _finest(r.base, sources) and r.base != row.base
    }
    free = {name: c for name, c in linear_part(row.base).items() if name in sources and name not in fixed}
    span = sum(abs(c) * (max(trips[n], 1) - 1) * abs(sources[n].step) for n, c in free.items()) + 1
    blocks = [r.grain for r in outer if r.base == row.base]
    if blocks:
        span = min(span, min(blocks))
    skewed = len(row.base.terms) > 1
    empty = any(trips[name] == 0 for name in free)
    extent = 0.0 if empty else float(-(-span // row.grain))
    uneven = skewed or any(bound_names(sources[n]) & sources.keys() for n in free)
    return extent, row, bool(blocks), uneven


def _finest(base: Affine, sources: Mapping[str, Loop]) -> int:
    name = base.terms[0][0]
    return abs(sources[name].step) if isinstance(name, str) and name in sources else 1


def _moves(rows: tuple[Row, ...]) -> tuple[dict[str, float], ...]:
    """d iterators / d iteration of each loop, the other rows held.

    The distinct rows are a matrix over the iterators, its inverse has the answer in its columns.
    """
    plain = [r.base.terms[0][0] if len(r.base.terms) == 1 and r.base.terms[0][1] == 1 else None for r in rows]
    if all(isinstance(name, str) for name in plain):
        return tuple({str(name): float(r.sign * r.grain)} for name, r in zip(plain, rows, strict=True))
    import numpy as np

    bases = list(dict.fromkeys(r.base for r in rows if r.base.terms))
    parts = [linear_part(base) for base in bases]
    names = list(dict.fromkeys(name for part in parts for name in part))
    inverse = np.linalg.pinv(np.array([[part.get(name, 0.0) for name in names] for part in parts]))
    moves: list[dict[str, float]] = []
    for row in rows:
        column = inverse[:, bases.index(row.base)] if row.base.terms else np.zeros(len(names))
        moves.append({n: float(v) * row.sign * row.grain for n, v in zip(names, column, strict=True) if abs(v) > 1e-9})
    return tuple(moves)
