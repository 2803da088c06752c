"""A donor's time maps as the target's: rows over the loops that were matched, for the statements that were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfembed.transfer.match import Pair
from perfembed.transfer.moment import Counterpart, Moment, NoCounterpart
from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, paths_of
from scheduler.transform.reschedule import Reschedule, TimeMap, time_maps

_Loops = Mapping[str, tuple[TreeLoop, ...]]


def rescheduled(moment: Moment, step: Reschedule) -> Counterpart:
    """Target statements without a partner go with one that has the same loops around it.

    Raises NoCounterpart where a statement has nothing to go with, or a loop of the donor's has no partner, and
    NotApplicable where loops of the target are tiled or marked already.
    """
    ours, theirs = _loops(moment.ours.tree), _loops(moment.theirs.tree)
    partners = {pair.target: pair for pair in moment.matching.statements.values()}
    donors = {one.statement: one for one in step.maps}
    pairs: dict[str, Pair] = {}
    maps: dict[str, TimeMap] = {}
    for statement, loops in theirs.items():
        pair = partners.get(statement)
        if pair is not None and pair.donor in donors:
            pairs |= _loop_pairs(moment, ours[pair.donor]) | {f"statement {statement}": pair}
            maps[statement] = _translated(moment, donors[pair.donor], statement, ours[pair.donor], loops)
    order = {statement: place for place, statement in enumerate(theirs)}
    with_it = {s: _beside(s, theirs, maps, order) for s in theirs}
    found = tuple(_placed(s, maps[m], theirs, m, len(theirs), order) for s, m in with_it.items())
    made = (time_maps(Reschedule(found).apply(moment.theirs.tree)),)  # positions without gaps
    beside = [s for s, m in with_it.items() if s != m]
    note = f"{', '.join(beside)} with the statements beside them" if beside else ""
    return Counterpart(made, made, tuple(pairs.values()), note=note)


def _loops(tree: tuple[object, ...]) -> _Loops:
    return {
        statement: tuple(node for _, node in path if isinstance(node, TreeLoop))
        for statement, path in paths_of(tree).items()  # type: ignore[arg-type]
    }


def _loop_pairs(moment: Moment, loops: tuple[TreeLoop, ...]) -> dict[str, Pair]:
    return {loop.name: moment.pair(loop.name) for loop in loops}


def _translated(
    moment: Moment, one: TimeMap, statement: str, ours: tuple[TreeLoop, ...], theirs: tuple[TreeLoop, ...]
) -> TimeMap:
    """Raises NoCounterpart where the loops of the two statements do not stand for each other one by one."""
    names: dict[str, Affine] = {}
    around = {loop.name: loop for loop in theirs}
    for loop in ours:
        target = moment.pair(loop.name).target
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
