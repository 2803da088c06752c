"""Schedules of streams from what was measured of the machine: with threads or without, past the caches or through them.

A stream touches each element about once, and more of them than any cache holds: the memory's bandwidth is its limit.
Where one thread uses all of that others only disturb it, and what is written need not be read into a cache first.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.ir.tree import Leaf, TreeLoop, statements_below
from scheduler.ir.types import known_type
from scheduler.moves.space import Chain, Space
from scheduler.moves.tile_sizes import array_bytes
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import minimize_strides
from scheduler.schedule import Schedule
from scheduler.transform import Stream, Tile

_AGAIN = 2.0  # times an element of a stream is come back to at most, by other iterations
_SATURATED = 1.1  # times the bandwidth of one thread: with less from all of them, one is enough
_REGIONS = 4.0  # parallel regions a nest has to be worth
_PARTS = 4  # tiles of a single loop for each thread
_WHOLE = 64  # elements: tiles are a multiple of it, so that they end where lines do


def streams(space: Space) -> tuple[Schedule, ...]:
    """Of a nest that is a stream, or too short for threads, up to four schedules; else none.

    Raises QuotaExceeded.
    """
    if _short(space):
        found = [minimize_strides(space.replayer, ())]
    elif _beyond(space):
        found = list(_long(space))
    else:
        return ()
    made = dict.fromkeys(space.vectorized(schedule) for schedule in found)
    return tuple(schedule for schedule in made if space.legal(schedule))


def streamable(space: Space, loop: TreeLoop) -> tuple[str, ...]:
    """Arrays that an innermost loop can write past the caches, and should: nothing in the nest reads them, the loop
    runs along them, and the nest's data are in no cache."""
    model = space.replayer.model
    if loop.parallel is not None or loop.tile or not all(isinstance(child, Leaf) for child in loop.children):
        return ()
    if not _beyond(space):
        return ()
    every = [use for statement in model.placed for use in model.uses(statement)]
    read = {use.access.array for use in every if not use.is_write}
    found: dict[str, int] = {}
    for statement, row in loop.rows:
        direction = {name: row.coefficient(name) for name in row.names()}
        for use in model.uses(statement):
            if use.is_write:
                fits = use.must and bool(use.access.subscripts) and use.access.is_affine
                along = fits and space.stride(use, direction) == 1
                found[use.access.array] = found.get(use.access.array, 0) + (1 if along else 2)
    return tuple(name for name, count in found.items() if count == 1 and name not in read)


def _long(space: Space) -> Iterator[Schedule]:
    """A stream with all threads, and without where they gain nothing or nobody knows; each past the caches first.

    Loops stay together as they are written, for what they share is read once then.
    """
    bases = (minimize_strides(space.replayer, made(space.replayer)) for made in (lambda _: (), maximal_fission))
    base = next((found for found in bases if _is_stream(space, found)), None)
    if base is None:
        return
    threads, rates = space.target.threads, space.target.core.rates
    saturated = rates is not None and rates.memory_gbs[1] < _SATURATED * rates.memory_gbs[0]
    if threads < 2 or saturated:
        yield from dict.fromkeys((_past(space, base), base))
    if threads > 1:
        yield from dict.fromkeys((_past(space, space.parallelized(_parted(space, base))), space.parallelized(base)))
        if rates is None and (alone := _past(space, base)) != base:
            yield alone


def _is_stream(space: Space, base: Schedule) -> bool:
    chains = space.leaf_chains(base)
    return bool(chains) and all(not any(loop.opaque for loop in chain) and _once(space, chain) for chain in chains)


def _parted(space: Space, base: Schedule) -> Schedule:
    """Loops that stand alone in tiles, so that threads can have the tiles and each tile its own streams."""
    schedule, threads = base, space.target.threads
    for chain in space.leaf_chains(base):
        if len(chain) == 1 and streamable(space, chain[0]):
            size = -(-space.extent(chain[0]) // (_PARTS * threads * _WHOLE)) * _WHOLE
            schedule = (*schedule, Tile((chain[0].name,), (size,)))
    return schedule


def _past(space: Space, schedule: Schedule) -> Schedule:
    """Everything written past the caches that can be."""
    steps = tuple(
        Stream(chain[-1].name, array) for chain in space.leaf_chains(schedule) for array in streamable(space, chain[-1])
    )
    return (*schedule, *steps)


def _once(space: Space, chain: Chain) -> bool:
    """Whether every array that no inner cache holds is touched in each iteration at an element of its own, nearly, and
    the innermost loop runs along all of them."""
    statements = statements_below(chain[-1])
    model = space.replayer.model
    near = space.target.l2_bytes
    iterations = space.work(chain) / len(statements)
    for name, size in array_bytes(space, (), (), statements).items():
        element = known_type(space.replayer.nest.array(name).ctype).bits // 8
        if size > near and iterations > _AGAIN * size / element:
            return False
    for statement, row in chain[-1].rows:
        direction = {name: row.coefficient(name) for name in row.names()}
        if any(space.stride(use, direction) > 1 for use in model.uses(statement)):
            return False
    return True


def _beyond(space: Space) -> bool:
    """Whether the nest touches more than the last cache holds."""
    caches = space.target.core.caches
    return bool(caches) and _touched(space) > caches[-1].size_bytes


def _short(space: Space) -> bool:
    """Whether one thread is done with the nest's data sooner than a parallel region pays."""
    rates = space.target.core.rates
    if rates is None or space.target.threads < 2:
        return False
    return _touched(space) / (rates.cache_gbs[0] * 1e9) < _REGIONS * rates.region_s


def _touched(space: Space) -> int:
    return sum(array_bytes(space, (), (), tuple(space.replayer.model.placed)).values())
