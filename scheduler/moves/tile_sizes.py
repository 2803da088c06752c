"""Tile sizes: a grid for each dimension, and those that fill a cache of the machine, in two levels where that helps.

What a tile touches follows from the rows of its loops and the accesses in it.

Source: the grid is LOOPer's (Merouani et al. 2024, section 4), with larger sizes; a tile that fills a share of a cache
as in Coleman and McKinley 1995.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.tree import TreeLoop, path_to
from scheduler.ir.types import known_type
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.schedule import Schedule
from scheduler.transform import Tile

Interval = tuple[int, int]
_LINE_BYTES = 64


def tile_bytes(space: Space, band: Chain, sizes: tuple[int, ...]) -> int:
    """Bytes of the lines that one tile of the band touches; what subscripts of data touch counts as one element."""
    return sum(array_bytes(space, band, sizes, tuple(dict(band[0].rows))).values())


def array_bytes(space: Space, band: Chain, sizes: tuple[int, ...], statements: tuple[str, ...]) -> dict[str, int]:
    """`tile_bytes` of each array that the statements touch; without a band, in all their iterations."""
    model, nest = space.replayer.model, space.replayer.nest
    boxes: dict[str, list[Interval]] = {}
    for statement in statements:
        known = _iterators(space, band, sizes, statement)
        for use in model.uses(statement):
            box = [_interval(s, known) if isinstance(s, Affine) else (0, 0) for s in use.access.subscripts]
            old = boxes.get(use.access.array, box)
            boxes[use.access.array] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, box, strict=True)]
    found = {}
    for name, box in boxes.items():
        array = nest.array(name)
        widths = [high - low + 1 for low, high in box]
        widths = [min(w, most or w) for w, most in zip(widths, space.shape(array), strict=True)]
        run = math.prod(widths[-1:]) * known_type(array.ctype).bits // 8
        found[name] = math.prod(widths[:-1]) * -(-run // _LINE_BYTES) * _LINE_BYTES
    return found


def _iterators(space: Space, band: Chain, sizes: tuple[int, ...], statement: str) -> Mapping[str, Interval]:
    """The values of a statement's iterators in the tile at the origin; those of no loop of the band take all theirs."""
    iterators = space.replayer.model.iterators(statement)
    whole = {name: (0, max(space.extents.get(name, 1), 1) - 1) for name in iterators}
    known: dict[str, Interval] = {}
    for loop, size in zip(band, sizes, strict=True):
        row = loop.row(statement)
        new = [name for name in iterators if name not in known and row.coefficient(name)]
        if not new:
            continue
        own = loop.origin if loop.origin in new else new[-1]
        factor = row.coefficient(own)
        low, high = _interval(row - Affine.of(own) * factor, {**whole, **known})
        ends = ((0 - high) / factor, (size - 1 - low) / factor)
        known[own] = (round(min(ends)), round(max(ends)))
    return {**whole, **known}


def _interval(expression: Affine, known: Mapping[str, Interval]) -> Interval:
    """The values an expression takes; names that are no iterators count as 0: they move boxes without widening them."""
    low = high = expression.const
    for atom, factor in expression.terms:
        if isinstance(atom, FloorDiv):
            first, last = (end // atom.denominator for end in _interval(atom.numerator, known))
        else:
            first, last = known.get(atom, (0, 0))
        ends = sorted((factor * first, factor * last))
        low, high = low + ends[0], high + ends[1]
    return low, high


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
