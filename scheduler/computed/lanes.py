"""Recurrences in lanes: several iterations of a parallel loop go through the sequential loops inside side by side.

A solver that walks along lines waits for each step of its recurrence, and no loop inside can be vectorized. The loop
over the lines is cut into blocks, and each block becomes the innermost loop of everything that it does; what an
iteration keeps for itself has one element for each line of the block. Source: Nuzman and Zaks, "Outer-loop
vectorization: revisited for short SIMD architectures" (PACT 2008).

Arrays of structures whose members are read again and again are copied apart first (AoS to SoA).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.tree import Leaf, TreeLoop, tree_loops
from scheduler.ir.types import known_type
from scheduler.moves.space import Space
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import directions
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import AosToSoa, Interchange, Tile, Vectorize
from scheduler.transform.aos_to_soa import read_only_columns

_AGAIN = 16  # times that what is copied is read, at least


def columns(space: Space) -> tuple[Schedule, ...]:
    """All arrays copied apart where that pays, then lanes, else the nest as written and its normal form; legal ones.

    Raises QuotaExceeded.
    """
    first: Schedule = ()
    for array in space.replayer.nest.arrays:
        step = (*first, AosToSoa(array.name))
        if _is_read_again(space, array.name) and _applies(space, step):
            first = step
    if not first:
        return ()
    inside = space.of(first)
    made = lanes(inside) or _in_order(inside)
    return tuple((*first, *schedule) for schedule in dict.fromkeys(made) if inside.legal(schedule))


def _is_read_again(space: Space, array: str) -> bool:
    """Whether the nest reads the members that it only reads often enough; rows count as often as loops go over them."""
    found = read_only_columns(space.replayer.nest, array)
    reads = copied = 0.0
    for column in found.values():
        rows = 0.0
        for placed, use in column:
            reads += space.instances(placed.statement.name)
            names = {name for s in use.access.subscripts if isinstance(s, Affine) for name in s.names()}
            rows = max(rows, math.prod(max(space.extents.get(name, 1), 1) for name in names))
        copied += rows
    return reads >= _AGAIN * copied > 0


def _applies(space: Space, schedule: Schedule) -> bool:
    try:
        return space.legal(schedule)
    except NotApplicable:
        return False


def _in_order(inside: Space) -> tuple[Schedule, ...]:
    """As written and in normal form, parallel and vectorized."""
    orders = dict.fromkeys(((), inside.normalized_structures()[0]))
    return tuple(inside.vectorized(inside.parallelized(order)) for order in orders)


_VECTORS = 8, 2  # of lines side by side
_ROOM = 0.5  # of the second cache for what the lines of a block keep
_WAITING = 0.2  # of the statements inside the loop have to run in sequential loops, at least
_ALONG = 0.7  # of their accesses have to lie side by side for neighbours
_MOST_SINKS = 64


def lanes(space: Space) -> tuple[Schedule, ...]:
    """Two block sizes of the outermost parallel loop with recurrences inside whose iterations lie side by side.

    Raises QuotaExceeded.
    """
    sequential = space.sequential(())
    found: dict[Schedule, None] = {}
    for loop in tree_loops(space.replayer.tree(())):
        if loop.name in sequential or loop.opaque or not _waits(space, loop, sequential):
            continue
        for vectors in _VECTORS:
            schedule = _fitting(space, loop, vectors)
            if schedule is not None:
                found.setdefault(schedule)
        if found:
            break
    return tuple(found)


def _waits(space: Space, loop: TreeLoop, sequential: frozenset[str]) -> bool:
    """Whether the loop's time goes into recurrences inside that its neighbours could go through beside it."""
    if any(one.name == loop.name for chain in space.leaf_chains(()) for one in chain):
        return False  # a perfect nest: it need not be split, and its best order is looked for anyway
    below = {one.name for one in tree_loops(loop.children)}
    inside = [chain for chain in space.leaf_chains(()) if chain[-1].name in below]
    waiting = [chain for chain in inside if chain[-1].name in sequential and not chain[-1].opaque]
    if sum(map(space.work, waiting)) < _WAITING * sum(map(space.work, inside)) or not waiting:
        return False
    steps = directions(space.replayer.tree(()), loop)
    near = [
        space.stride(use, steps[statement]) <= 1
        for chain in waiting
        for statement, _ in chain[-1].rows
        for use in space.replayer.model.uses(statement)
        if space.replayer.nest.array(use.access.array).scope is None
    ]
    return bool(near) and sum(near) >= _ALONG * len(near)


def in_lanes(space: Space, loop: TreeLoop, count: int) -> Schedule | None:
    """A loop of the nest as written in blocks of `count`, each of them innermost; None where the order forbids it.

    Raises QuotaExceeded.
    """
    schedule = _sunk(space, (Tile((loop.name,), (count,)),), loop)
    if schedule is None or not space.legal(schedule):
        return None
    marked = (*schedule, *(Vectorize(one.name) for one in _blocks(space, schedule, loop)))
    return space.parallelized(marked if space.legal(marked) else space.vectorized(schedule))


def _fitting(space: Space, loop: TreeLoop, vectors: int) -> Schedule | None:
    """As many iterations side by side as fill so many vectors, or half of that while what they keep is too much."""
    element = min((space.element_bytes_of(statement) for statement, _ in loop.rows), default=8)
    least = max(2, space.target.vector_bytes // element)
    count = vectors * least
    while count >= least:
        if count < space.extent(loop):
            schedule = in_lanes(space, loop, count)
            replayed = space.replayer.replay(schedule) if schedule is not None else None
            if schedule is None or not isinstance(replayed, ScheduledNest):
                return None
            if _kept(space, replayed, loop) <= _ROOM * space.target.l2_bytes:
                return schedule
        count //= 2
    return None


def _sunk(space: Space, schedule: Schedule, loop: TreeLoop) -> Schedule | None:
    """The loop split around everything that is in it, and each part made innermost."""
    for _ in range(_MOST_SINKS):
        schedule = maximal_fission(space.replayer, schedule, lambda one: _is_mixed(one, loop))
        mixed = [one for one in tree_loops(space.replayer.tree(schedule)) if _is_mixed(one, loop)]
        if not mixed:
            return schedule
        outer = mixed[0]
        inner = outer.children[0]
        if len(outer.children) > 1 or not isinstance(inner, TreeLoop):
            return None
        schedule = (*schedule, Interchange(outer.name, inner.name))
        try:
            if not space.legal(schedule):
                return None
        except NotApplicable:
            return None
    return None


def _is_mixed(one: TreeLoop, loop: TreeLoop) -> bool:
    """Whether it is a part of the loop inside of its blocks with loops in it."""
    return one.origin == loop.origin and not one.tile and not all(isinstance(child, Leaf) for child in one.children)


def _blocks(space: Space, schedule: Schedule, loop: TreeLoop) -> Iterator[TreeLoop]:
    """The parts of the loop inside of its blocks."""
    return (one for one in tree_loops(space.replayer.tree(schedule)) if one.origin == loop.origin and not one.tile)


def _kept(space: Space, scheduled: ScheduledNest, loop: TreeLoop) -> float:
    """Bytes of what the lines of a block keep for themselves, as far as it is used."""
    longest = max((space.extent(one) for one in tree_loops(loop.children)), default=1)
    total = 0.0
    for window in scheduled.windows:
        array = space.replayer.nest.array(window.array)
        extents = (extent for extent in space.shape(array)[array.expanded :] if extent is not None)
        elements = math.prod(min(extent, longest) for extent in extents)
        total += elements * window.size * known_type(array.ctype).bits // 8
    return total
