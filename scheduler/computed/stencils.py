"""Time tiles of stencils in sizes computed from the machine's caches and threads, without any donor.

What a tile touches is to stay in a cache while the time steps of the tile go over it; of the tiles that do, those are
taken that an update costs least in: bytes from beyond the cache, vector loops that are short, and wavefronts that
leave threads without a tile. Sources: Bondhugula et al. 2008 (PLDI) for the tiles, Malas et al. 2015 (SIAM J. Sci.
Comput. 37(4)) for sizes from the cache that holds the slope.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from scheduler.ir.tree import TreeLoop
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.moves.tile_sizes import array_bytes, tile_bytes
from scheduler.moves.time_tiling import MAX_DEPTH, beginnings, split_inside, time_band, time_loops
from scheduler.moves.trip_counts import power_of_two
from scheduler.schedule import Schedule
from scheduler.transform import Skew, Tile

_ROOM = 0.5  # of a cache for a tile; the rest is for what its next neighbour brings in
_LEAST, _MOST = 4, 4096  # iterations of a tile in one direction
_MEMORY_BYTES = 4.0  # that come from the memory in the time that one update takes
_SHARED_BYTES = 16.0  # and from the last cache
_START = 16.0  # updates in whose time the innermost loop begins
_MOST_WORK = 0.5  # of the nest has to be in the time loop


@dataclass(frozen=True, slots=True)
class TimeTile:
    """Iterations of a tile along each loop of a band, time first; `cost` of an update, 1.0 at best."""

    sizes: tuple[int, ...]
    cost: float


def time_tiles(space: Space, most: int = 4) -> tuple[Schedule, ...]:
    """The nest's time loop tiled with some loops inside it, in at most so many depths and sizes, cheapest first.

    Empty where no outermost loop with most of the work carries dependences and can be made part of a permutable band
    with loops inside, and where a tile brings in no less than a sweep. Raises QuotaExceeded.
    """
    found: list[tuple[float, Schedule]] = []
    for base in beginnings(space.replayer):
        for name in _outermost(space, base):
            found += [pair for depth in range(1, MAX_DEPTH + 1) for pair in _of_depth(space, base, name, depth)]
        if found:
            break
    cheapest = (schedule for _, schedule in sorted(found, key=lambda pair: pair[0]))
    made: dict[Schedule, None] = {}
    for tiled in dict.fromkeys(cheapest):
        for schedule in split_inside(space, tiled):
            if len(made) < most:
                made.setdefault(space.vectorized(schedule))
    return tuple(schedule for schedule in made if space.legal(schedule))


def _outermost(space: Space, base: Schedule) -> Iterator[str]:
    """Loops with nothing around them that carry dependences and have most of the nest's work inside."""
    total = sum(map(space.work, space.leaf_chains(base)))
    roots = {node.name: node for node in space.replayer.tree(base) if isinstance(node, TreeLoop)}
    for name in time_loops(space, base):
        root = roots.get(name)
        if root is not None:
            inside = {statement for statement, _ in root.rows}
            work = sum(space.work(c) for c in space.leaf_chains(base) if {s for s, _ in c[-1].rows} <= inside)
            if work >= _MOST_WORK * total:
                yield name


def _of_depth(space: Space, base: Schedule, name: str, depth: int) -> Iterator[tuple[float, Schedule]]:
    """For each cache the cheapest tile of the time loop and `depth` loops inside, with its cost."""
    banded = time_band(space, base, name, depth)
    if banded is None or len(banded[1]) <= depth:
        return
    schedule, band = banded
    if any(loop.tile or loop.opaque for loop in band):
        return
    taken, swept = set[tuple[int, ...]](), _swept(space, band)
    for level in range(1 if depth < MAX_DEPTH else 2, 4):  # of three dimensions, a tile that fits L1 is all slope
        best = _cheapest(space, band, level)
        if best is not None and best.sizes not in taken and _brought_in(space, band, best.sizes) < swept:
            taken.add(best.sizes)
            tiled = space.wavefront(schedule, band, best.sizes)
            if space.target.threads < 2:  # tiles one after the other need no diagonals
                tiled = tiled[:-3]
            yield best.cost, tiled


def suited(space: Space, schedule: Schedule) -> Schedule:
    """The schedule with the first of its tilings that run in wavefronts in the sizes that suit the machine.

    The same where it has none, or no size fits. Nothing is said of its legality.
    """
    for place, step in enumerate(schedule):
        if not isinstance(step, Tile) or len(step.loops) < 2:
            continue
        tiles = chains_with(space.replayer.tree(schedule[: place + 1]), step.loops[0])
        ends = tuple(loop.name for loop in tiles if loop.tile)[:2]
        rest = schedule[place + 1 :]
        skew = next((s for s in rest if isinstance(s, Skew) and (s.outer, s.inner) == ends), None)
        if skew is not None:
            chain = chains_with(space.replayer.tree(schedule[:place]), step.loops[0])
            band = tuple(loop for loop in chain if loop.name in step.loops)
            found = (tile for level in (2, 3) if (tile := _cheapest(space, band, level)) is not None)
            best = min(found, key=lambda tile: tile.cost, default=None)
            if best is None:
                return schedule
            steeper = replace(skew, factor=max(best.sizes[1] // best.sizes[0], 1))
            return (*schedule[:place], replace(step, sizes=best.sizes), *(steeper if s is skew else s for s in rest))
    return schedule


def _cheapest(space: Space, band: Chain, level: int) -> TimeTile | None:
    """Of the tiles that fit a core's part of the cache of a level; None where there is no such cache or tile."""
    cache = next(iter(space.target.core.caches[level - 1 : level]), None)
    if cache is None:
        return None
    room = _ROOM * cache.size_bytes / min(cache.shared_by, space.target.threads)
    return min(_fitting(space, band, room, level), key=lambda tile: tile.cost, default=None)


def _fitting(space: Space, band: Chain, room: float, level: int) -> Iterator[TimeTile]:
    """Tiles in powers of two that touch no more bytes than there is room for."""
    lanes = max(1, space.target.vector_bytes // space.element_bytes(band))
    last = [_LEAST] * (len(band) - 1) + [4 * lanes]
    ends = [max(low, min(_MOST, power_of_two(space.extent(loop) // 2))) for low, loop in zip(last, band, strict=True)]

    def grown(chosen: tuple[int, ...]) -> Iterator[TimeTile]:
        place = len(chosen)
        if place == len(band):
            yield TimeTile(chosen, _cost(space, band, chosen, level))
            return
        # Tiles of the wavefront line up where the second size is a multiple of the first.
        size = chosen[0] if place == 1 else last[place]
        while size <= ends[place] or size == last[place]:
            more = (*chosen, size)
            if tile_bytes(space, band, (*more, *last[len(more) :])) > room:
                return
            yield from grown(more)
            size *= 2

    return grown(())


def _cost(space: Space, band: Chain, sizes: tuple[int, ...], level: int) -> float:
    """Of an update, in the time of one that finds its data in a cache of the core's own.

    A tile is read from the memory once; one that lies in the cache of level 3, in each of its time steps from there.
    """
    brought = _brought_in(space, band, sizes)
    moved = brought / _MEMORY_BYTES
    if level > 2:
        moved += brought * sizes[0] / _SHARED_BYTES
    started = _START / sizes[-1]
    return (1.0 + moved + started) * _idle(space, band, sizes)


def _swept(space: Space, band: Chain) -> float:
    """Bytes an update that one time step after the other brings in: what it touches, or what no step before it did.

    Where the time loop only sums up, each step has data of its own, and no tile brings in less.
    """
    time, inside = band[0], band[1:]
    statements = tuple(dict(time.rows))
    first, both = (sum(array_bytes(space, (time,), (steps,), statements).values()) for steps in (1, 2))
    private = next(iter(space.target.core.caches[1:2]), None)
    stays = private is not None and first <= _ROOM * private.size_bytes / min(private.shared_by, space.target.threads)
    return (both - first if stays else first) / float(len(time.rows) * math.prod(map(space.extent, inside)))


def _brought_in(space: Space, band: Chain, sizes: tuple[int, ...]) -> float:
    """Bytes an update that a tile touches."""
    return tile_bytes(space, band, sizes) / float(len(band[0].rows) * math.prod(sizes))


def _idle(space: Space, band: Chain, sizes: tuple[int, ...]) -> float:
    """How many times longer it takes because wavefronts have too few tiles for the threads; 1.0 at best.

    Wavefronts go along the first two loops. Of a tiles in time and b in space, skewed by f, run at once at most as
    many as steps of a + f fit; where they are no multiple of the threads, the last round of a wavefront leaves some
    unused: (threads - 1) / (2 threads) of a round on average.
    """
    threads = space.target.threads
    if threads < 2:
        return 1.0
    time, first = band[:2]
    slope = max(abs(first.row(s).coefficient(n)) for s, row in time.rows for n in row.names() or (time.origin,))
    steps, width = space.extent(time) / sizes[0], space.extent(first) / sizes[1]
    at_once = max(1.0, min(steps, space.extent(first) / (sizes[1] + slope * sizes[0])))
    waves = steps * (1 + slope * sizes[0] / sizes[1]) + width
    full = max(steps * width / min(at_once, threads), waves)
    return (full + waves * (threads - 1) / (2 * threads)) / max(steps * width / threads, 1e-9)
