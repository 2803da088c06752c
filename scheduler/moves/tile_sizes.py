"""Tile sizes: a grid for each dimension, and those that fill a cache of the machine, in two levels where that helps.

Source: the grid is LOOPer's (Merouani et al. 2024, section 4), with larger sizes; a tile that fills a share of a cache
as in Coleman and McKinley 1995.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler.computed.tile_footprint import array_bytes
from scheduler.ir.tree import TreeLoop, path_to
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.schedule import Schedule
from scheduler.transform import Tile

GRID = (8, 16, 32, 64, 128, 256, 512)
_FILLED = 0.75  # of a cache by a tile; the rest is for what comes next
_LONG = 4  # times as long in the innermost dimension, where lines and vectors are
_SMALLEST = 8
_LEVELS_APART = 2  # times: what a second level of tiles must be larger in some dimension


def sizes_of(space: Space, chain: Chain, name: str) -> tuple[int, ...]:
    """The sizes of the grid that cut a loop of a chain into two tiles at least."""
    loop = next(loop for loop in chain if loop.name == name)
    return tuple(size for size in GRID if 2 * size <= space.extent(loop))


def cache_tilings(space: Space, schedule: Schedule, chain: Chain) -> Iterator[Schedule]:
    """The last three and the last two loops of a chain in tiles that fill L1, that fill L2, and in both."""
    names = tuple(loop.name for loop in chain if not loop.opaque)
    if len(names) < 2 or any(loop.tile or loop.register for loop in chain):
        return
    found: list[Schedule] = []
    for band in dict.fromkeys((names[-3:], names[-2:])):
        near, far = (
            fitting(space, schedule, chain, band, size) for size in (space.target.l1_bytes, space.target.l2_bytes)
        )
        for sizes in dict.fromkeys((near, far)):
            if tile := _tile(space, chain, band, sizes):
                found.append((*schedule, tile))
        outer, inner = _tile(space, chain, band, far), _tile(space, chain, band, near)
        if outer and inner and _apart(outer, inner):
            found.append((*schedule, outer, inner))
    yield from dict.fromkeys(found)


def fitting(space: Space, schedule: Schedule, chain: Chain, band: Sequence[str], cache: int) -> tuple[int, ...]:
    """Powers of two, equal but longer in the innermost loop of the band, so that what a tile touches fits the cache."""
    statements = tuple(statement for statement, _ in chain[-1].rows)
    path = path_to(space.replayer.tree(schedule), statements[0])
    outer = [node for _, node in path if isinstance(node, TreeLoop) and set(statements) <= set(dict(node.rows))]
    around = tuple(loop for loop in outer if loop.name not in band)
    loops = tuple(loop for loop in chain if loop.name in band)
    extents = [space.extent(loop) for loop in loops]
    best = (_SMALLEST,) * len(loops)
    size = _SMALLEST
    while size < 2 * max(extents):
        for long in (1, _LONG):
            wanted = (*([size] * (len(loops) - 1)), size * long)
            sizes = tuple(min(s, e) for s, e in zip(wanted, extents, strict=True))
            touched = array_bytes(space, (*around, *loops), (*([1] * len(around)), *sizes), statements)
            if sum(touched.values()) <= _FILLED * cache:
                best = sizes
        size *= 2
    return best


def second_level(space: Space, schedule: Schedule, tile: Tile) -> Tile | None:
    """Larger tiles, which fill L2, around those that `tile` makes of a schedule's loops; None where they would not
    be larger.
    """
    chain = chains_with(space.replayer.tree(schedule), tile.loops[0])
    if {loop.name for loop in chain} < set(tile.loops) or any(loop.tile for loop in chain):
        return None
    sizes = fitting(space, schedule, chain, tile.loops, space.target.l2_bytes)
    rounded = tuple(-(-far // near) * near for far, near in zip(sizes, tile.sizes, strict=True))
    outer = _tile(space, chain, tile.loops, rounded)
    return outer if outer is not None and _apart(outer, tile) else None


def _tile(space: Space, chain: Chain, band: Sequence[str], sizes: Sequence[int]) -> Tile | None:
    """Of those loops that have two tiles at least."""
    extents = {loop.name: space.extent(loop) for loop in chain}
    kept = [(name, size) for name, size in zip(band, sizes, strict=True) if size >= 2 and 2 * size <= extents[name]]
    return Tile(tuple(name for name, _ in kept), tuple(size for _, size in kept)) if kept else None


def _apart(outer: Tile, inner: Tile) -> bool:
    """Whether tiles hold several of the smaller ones, without parts of any."""
    near = dict(zip(inner.loops, inner.sizes, strict=True))
    ratios = [size / near.get(name, 1) for name, size in zip(outer.loops, outer.sizes, strict=True)]
    return set(outer.loops) <= set(near) and min(ratios) >= 1 and max(ratios) >= _LEVELS_APART
