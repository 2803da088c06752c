"""Reschedule: the time map of every statement given outright.

A time map is a vector that alternates between positions among siblings and rows (time expressions over the statement's
iterators, sizes and 1), as in Girbal et al., "Semi-automatic composition of loop transformations" (IJPP 2006, section
3): instances run in lexicographic order of it, whatever the order was before. Statements whose vectors begin alike
share loops.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable, TextError
from scheduler.ir.affine import Affine, parse_affine
from scheduler.ir.names import free_name
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, paths_of, tree_loops
from scheduler.transform.common import Tree
from scheduler.transform.transfer import Counterpart, NoCounterpart, Pair, StepMatching

_Loops = Mapping[str, tuple[TreeLoop, ...]]
_TEXT = re.compile(r"([A-Za-z_]\w*)\s*->\s*\((.*)\)", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True)
class TimeMap:
    """`positions[0], rows[0], positions[1], …, rows[-1], positions[-1]`: one position more than rows."""

    statement: str
    positions: tuple[int, ...]
    rows: tuple[Affine, ...]

    def __post_init__(self) -> None:
        if len(self.positions) != len(self.rows) + 1:
            raise ValueError(f"{len(self.rows)} rows need as many positions and one, not {len(self.positions)}")

    def __str__(self) -> str:
        entries = [str(self.positions[0])]
        for row, position in zip(self.rows, self.positions[1:], strict=True):
            entries += [str(row), str(position)]
        return f"{self.statement} -> ({', '.join(entries)})"


def parse_time_map(text: str, entries: Sequence[str]) -> TimeMap:
    """The inverse of `str`; `entries` is what stands between the parentheses of `text`. Raises TextError."""
    match = _TEXT.fullmatch(text)
    values = [parse_affine(entry) for entry in entries]
    places, rows = values[::2], values[1::2]
    if match is None or len(values) % 2 == 0 or not all(place.is_constant for place in places):
        raise TextError(f"{text!r}: expected `statement -> (position, row, position, …)` with constant positions")
    return TimeMap(match[1], tuple(place.const for place in places), tuple(rows))


@dataclass(frozen=True, slots=True)
class Reschedule:
    """The loops of all statements made anew from time maps, one for each statement of the nest."""

    keyword: ClassVar[str] = "reschedule"
    maps: tuple[TimeMap, ...]

    def apply(self, tree: Tree) -> Tree:
        given = {one.statement: one for one in self.maps}
        leaves = paths_of(tree)
        if len(given) != len(self.maps) or set(given) != set(leaves):
            raise NotApplicable(f"a time map is needed for each of {', '.join(leaves)}, and for nothing else")
        origins = _origins(tree)
        taken: set[str] = set()

        def build(maps: Sequence[TimeMap], depth: int) -> Tree:
            groups: dict[int, list[TimeMap]] = {}
            for one in maps:
                groups.setdefault(one.positions[depth], []).append(one)
            return tuple(node(groups[position], depth) for position in sorted(groups))

        def node(maps: list[TimeMap], depth: int) -> TreeNode:
            ends = [one for one in maps if len(one.rows) == depth]
            if ends and len(maps) > 1:
                names = ", ".join(one.statement for one in maps)
                raise NotApplicable(f"statements {names} stand at the same position of level {depth}")
            if ends:
                return Leaf(ends[0].statement)
            rows = tuple((one.statement, one.rows[depth]) for one in maps)
            origin = _origin(rows, origins)
            name = free_name(origin, taken, "")
            taken.add(name)
            return TreeLoop(name, rows, build(maps, depth + 1), origin)

        return build([given[statement] for statement in leaves], 0)

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Rows over the loops that were matched, for the statements that were; others go with one that has the same
        loops around it.

        Raises NoCounterpart where a statement has nothing to go with, or a loop of the donor's has no partner, and
        NotApplicable where loops of the target are tiled or marked already.
        """
        ours, theirs = _loops(matching.donor_tree), _loops(matching.target_tree)
        partners = {pair.target: pair for pair in matching.statements.values()}
        donors = {one.statement: one for one in self.maps}
        pairs: dict[str, Pair] = {}
        maps: dict[str, TimeMap] = {}
        for statement, loops in theirs.items():
            pair = partners.get(statement)
            if pair is not None and pair.donor in donors:
                pairs |= {loop.name: matching.pair(loop.name) for loop in ours[pair.donor]}
                pairs[f"statement {statement}"] = pair
                maps[statement] = _translated(matching, donors[pair.donor], statement, ours[pair.donor], loops)
        order = {statement: place for place, statement in enumerate(theirs)}
        with_it = {s: _beside(s, theirs, maps, order) for s in theirs}
        found = tuple(_placed(s, maps[m], theirs, m, len(theirs), order) for s, m in with_it.items())
        made = (time_maps(Reschedule(found).apply(matching.target_tree)),)  # positions without gaps
        beside = [s for s, m in with_it.items() if s != m]
        note = f"{', '.join(beside)} with the statements beside them" if beside else ""
        return Counterpart(made, made, tuple(pairs.values()), note=note)

    def words(self) -> str:
        return (
            "Compute everything in a new order, given by an affine time for each statement: "
            + "; ".join(map(str, self.maps))
            + "."
        )


def time_maps(tree: Tree) -> Reschedule:
    """What makes a tree without marks from any other tree of the same nest. Raises NotApplicable where it has marks."""
    _origins(tree)
    maps: list[TimeMap] = []
    for statement, path in paths_of(tree).items():
        loops = [node for _, node in path if isinstance(node, TreeLoop)]
        rows = tuple(loop.row(statement) for loop in loops)
        maps.append(TimeMap(statement, tuple(position for position, _ in path), rows))
    return Reschedule(tuple(maps))


def rank(matrix: Sequence[Sequence[int]]) -> int:
    """Of an integer matrix, exactly (elimination without fractions)."""
    rows = [list(row) for row in matrix]
    found = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((k for k in range(found, len(rows)) if rows[k][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        head = rows[found]
        for k in range(found + 1, len(rows)):
            factor = rows[k][column]
            rows[k] = [head[column] * x - factor * y for x, y in zip(rows[k], head, strict=True)]
        found += 1
    return found


def _origins(tree: Tree) -> Mapping[str, None]:
    """The loops of the nest that the tree's loops come from. Raises NotApplicable for trees that lose by it."""
    for loop in tree_loops(tree):
        if loop.opaque:
            raise NotApplicable(f"loop {loop.name} has data-dependent bounds")
        if loop.tile:
            raise NotApplicable("reschedule before tiling")
        if loop.parallel or loop.vector or loop.unroll != 1 or loop.packs or loop.register or loop.streams:
            raise NotApplicable(f"reschedule before loop {loop.name} is marked")
    return dict.fromkeys(loop.origin for loop in tree_loops(tree))


def _origin(rows: Sequence[tuple[str, Affine]], origins: Mapping[str, None]) -> str:
    """A loop is called as the innermost loop of the nest that its first row goes along, alone where one does."""
    for _, row in sorted(rows, key=lambda pair: len(pair[1].terms)):
        along = [name for name in origins if name in row.names()]
        if along:
            return along[-1]
    return next(iter(origins), "t")


def _loops(tree: Tree) -> _Loops:
    return {
        statement: tuple(node for _, node in path if isinstance(node, TreeLoop))
        for statement, path in paths_of(tree).items()
    }


def _translated(
    matching: StepMatching, one: TimeMap, statement: str, ours: tuple[TreeLoop, ...], theirs: tuple[TreeLoop, ...]
) -> TimeMap:
    """Raises NoCounterpart where the loops of the two statements do not stand for each other one by one."""
    names: dict[str, Affine] = {}
    around = {loop.name: loop for loop in theirs}
    for loop in ours:
        target = matching.pair(loop.name).target
        if target not in around:
            raise NoCounterpart(f"{target}, which stands for {loop.name}, is not around {statement}")
        own, its = _iterator(loop, one.statement), _iterator(around.pop(target), statement)
        if own is None or its is None:
            raise NoCounterpart(f"{loop.name} and {target} are no plain loops of {one.statement} and {statement}")
        names[own[0]] = Affine.of(its[0], own[1] * its[1])
    if around:
        raise NoCounterpart(f"no loop of the donor stands for {', '.join(around)} around {statement}")
    unknown = sorted({name for row in one.rows for name in row.names()} - names.keys())
    if unknown:
        raise NoCounterpart(f"nothing of the target stands for {', '.join(unknown)}")
    return TimeMap(statement, one.positions, tuple(row.substitute(names) for row in one.rows))


def _iterator(loop: TreeLoop, statement: str) -> tuple[str, int] | None:
    """(iterator, direction) that a loop goes along for a statement; None where it is skewed, tiled or sunk."""
    row = loop.row(statement)
    if len(row.terms) == 1 and not loop.tile:
        ((atom, coefficient),) = row.terms
        if isinstance(atom, str) and abs(coefficient) == 1:
            return atom, coefficient
    return None


def _beside(statement: str, theirs: _Loops, maps: Mapping[str, TimeMap], order: Mapping[str, int]) -> str:
    """The statement itself where it has a map, else the nearest that has one in the same loops. Raises NoCounterpart"""
    if statement in maps:
        return statement
    near = [s for s in maps if [x.name for x in theirs[s]] == [x.name for x in theirs[statement]]]
    if not near:
        raise NoCounterpart(f"no statement of the donor stands for {statement}")
    return min(near, key=lambda s: abs(order[s] - order[statement]))


def _placed(statement: str, one: TimeMap, theirs: _Loops, member: str, count: int, order: Mapping[str, int]) -> TimeMap:
    """The map of a statement or, for one beside it, its copy: before or behind it as in the target."""
    places = [position * (2 * count + 1) for position in one.positions]
    if statement == member:
        return replace(one, positions=tuple(places))
    names: dict[str, Affine] = {}
    for loop in theirs[member]:
        own, its = _iterator(loop, member), _iterator(loop, statement)
        if own is None or its is None:
            raise NoCounterpart(f"{loop.name} is no plain loop of {member} and {statement}")
        names[own[0]] = Affine.of(its[0], own[1] * its[1])
    places[-1] += order[statement] - order[member]
    return TimeMap(statement, tuple(places), tuple(row.substitute(names) for row in one.rows))
