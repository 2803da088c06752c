"""Blockings for registers and caches as BLAS libraries have them: the moves of a chain with a reduction.

Source: Goto and van de Geijn 2008; Van Zee and van de Geijn 2015 (BLIS).
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access
from scheduler.ir.tree import TreeLoop
from scheduler.normalize.stride import permute_steps
from scheduler.schedule import Pack, RegisterBlock, Schedule, Tile
from scheduler.space import Chain, Space, chains_with


def register_moves(space: Space, schedule: Schedule, chain: Chain) -> Iterator[Schedule]:
    """BLIS-like blockings of a chain with a reduction, a vectorizable loop and a loop that re-uses its operand."""
    sequential = space.sequential(schedule)
    if any(loop.opaque or loop.tile for loop in chain):
        return
    strided = {loop.name: _strided_reads(space, loop) for loop in chain if loop.name not in sequential}
    vectors = [loop for loop in chain if strided.get(loop.name) is not None]
    vectors.sort(key=lambda loop: strided[loop.name] or 0)
    lanes = space.target.vector_bytes // space.element_bytes(chain)
    for vector in vectors[:2]:
        others = [loop for loop in chain if loop.name not in sequential and loop is not vector]
        reductions = [loop for loop in chain if loop.name in sequential]
        if not reductions or space.extent(vector) < 2 * lanes:
            continue
        rows_of: list[TreeLoop | None] = []
        rows_of += others[::-1][:2] or [None]
        for row in rows_of:
            for rows, columns in ((6, 2), (4, 3), (4, 2), (8, 1)):
                if row is not None and space.extent(row) < 2 * rows:
                    continue
                yield from _blocked(space, schedule, chain, vector, row, reductions, rows, columns * lanes)


def _strided_reads(space: Space, loop: TreeLoop) -> int | None:
    """How many reads are not contiguous along the loop; None unless every write is."""
    count = 0
    for statement, row in loop.rows:
        direction = {n: row.coefficient(n) for n in row.names()}
        for use in space.replayer.model.uses(statement):
            stride = space.stride(use, direction)
            if use.is_write and stride != 1:
                return None
            count += stride > 1
    return count


def _blocked(
    space: Space,
    schedule: Schedule,
    chain: Chain,
    vector: TreeLoop,
    row: TreeLoop | None,
    reductions: list[TreeLoop],
    rows: int,
    columns: int,
) -> Iterator[Schedule]:
    names = tuple(loop.name for loop in chain)
    blocked = tuple(x for x in (row.name if row else None, vector.name) if x is not None)
    sizes = (rows, columns) if row else (columns,)
    rest = tuple(n for n in names if n not in blocked and n != reductions[-1].name)
    reduction = reductions[-1].name
    plain = (*schedule, *permute_steps(names, (*rest, *blocked, reduction)), RegisterBlock(blocked, sizes))
    if row is None:
        yield plain
        return
    bytes_each = space.element_bytes(chain)
    extents = (space.extent(vector), space.extent(reductions[-1]), space.extent(row))
    if extents[1] >= 64 and extents[2] >= 4 * rows and extents[0] >= 2 * columns:
        # Goto and van de Geijn 2008: a panel of the vector operand in L1, a block of the row operand in L2.
        depth = even_block(extents[1], space.target.l1_bytes * 3 // 4 // (columns * bytes_each), 8)
        height = even_block(extents[2], space.target.l2_bytes // 2 // (depth * bytes_each), rows)
        width = even_block(extents[0], 4096 // bytes_each, columns, space.target.threads)
        yield from _tiled_block(space, schedule, names, rest, vector, row, reduction, (width, depth, height), sizes)
    yield plain


def _tiled_block(
    space: Space,
    schedule: Schedule,
    names: tuple[str, ...],
    rest: tuple[str, ...],
    vector: TreeLoop,
    row: TreeLoop,
    reduction: str,
    tiles: tuple[int, int, int],
    sizes: tuple[int, ...],
) -> Iterator[Schedule]:
    """Tiles j_t, k_t, i_t around points j, i, k with register blocks of (i, j); operands packed if possible."""
    wanted = (vector.name, reduction, row.name)
    tiled = (*schedule, *permute_steps(names, (*rest, *wanted)), Tile(wanted, tiles))
    if not space.legal(tiled):
        return
    full = chains_with(space.replayer.tree(tiled), vector.name)
    blocks = dict(zip(wanted, (loop.name for loop in full if loop.tile), strict=True))
    inside = (
        *tiled,
        *permute_steps(wanted, (vector.name, row.name, reduction)),
        RegisterBlock((row.name, vector.name), sizes),
    )
    packs = _packs(space, full, vector, row, sizes[1], sizes[0], blocks, reduction)
    if packs:
        yield (*inside, *packs)
    yield inside


def _packs(
    space: Space,
    chain: Chain,
    vector: TreeLoop,
    row: TreeLoop,
    columns: int,
    rows: int,
    tiles: dict[str, str],
    reduction: str,
) -> tuple[Pack, ...]:
    """The operand along the vector loop is packed in the reduction's tiles, the other in the row loop's."""
    model = space.replayer.model
    packs: list[Pack] = []
    seen: set[Access] = set()
    written = {u.access.array for s, _ in chain[-1].rows for u in model.uses(s) if u.is_write}
    for statement, _ in chain[-1].rows:
        iterator = {loop.name: _iterator(loop, statement) for loop in chain}
        for use in model.uses(statement):
            array = use.access.array
            if array in written or use.access in seen or len(use.access.subscripts) < 2 or not use.access.is_affine:
                continue
            dims = [s.names() if isinstance(s, Affine) else frozenset() for s in use.access.subscripts]
            for loop, panel, where in ((vector, columns, tiles.get(reduction)), (row, rows, tiles.get(row.name))):
                mine = [k for k, names in enumerate(dims) if iterator[loop.name] in names]
                if len(mine) != 1 or where is None:
                    continue
                rest = tuple(k for k in range(len(dims)) if k != mine[0])
                if any(iterator[reduction] in dims[k] for k in rest):
                    seen.add(use.access)
                    packs.append(Pack(where, array, (mine[0], *rest), mine[0], panel))
                    break
    return tuple(packs)


def _iterator(loop: TreeLoop, statement: str) -> str:
    names = sorted(loop.row(statement).names())
    return names[-1] if names else ""


def even_block(extent: int, limit: int, multiple: int, parts: int = 1) -> int:
    """A block size that divides an extent into equal blocks of at most `limit`, their number a multiple of `parts`."""
    count = max(1, -(-extent // max(limit, multiple)))
    count = -(-count // parts) * parts
    size = -(-extent // count)
    return max(multiple, -(-size // multiple) * multiple)
