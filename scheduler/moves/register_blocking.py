"""Blockings for registers and caches as BLAS libraries have them: the moves of a chain with a reduction.

Source: Goto and van de Geijn 2008; Van Zee and van de Geijn 2015 (BLIS).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access
from scheduler.ir.tree import TreeLoop
from scheduler.machine.target import Target, register_shapes
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.normalize.stride import permute_steps
from scheduler.schedule import Schedule
from scheduler.transform import Pack, RegisterBlock, Tile

_SHAPES = ((6, 2), (4, 3), (4, 2), (8, 1))  # (rows, vectors a row)
_STRUCTURES, _LIKELY = 2, 2  # where blockings are tried before anything else, and how many
_OF_WIDER = 2  # shapes for each width of vectors beyond the usual one


@dataclass(frozen=True, slots=True)
class Roles:
    """The loops of a chain: of the vectors, of the rows beside them, and the innermost reduction."""

    vector: TreeLoop
    row: TreeLoop | None
    reduction: TreeLoop


@dataclass(frozen=True, slots=True)
class Shape:
    """Iterations of the rows' and of the vectors' loop in a register block; `vector_bytes` 0: of the usual width."""

    rows: int
    columns: int
    vector_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CacheTiles:
    """Iterations of the vectors' loop, of the reduction and of the rows' loop in a block for the caches."""

    width: int
    depth: int
    height: int


def register_moves(space: Space, schedule: Schedule, chain: Chain) -> Iterator[Schedule]:
    """BLIS-like blockings of a chain with a reduction, a vectorizable loop and a loop that re-uses its operand, those
    of wider vectors first."""
    element = space.element_bytes(chain)
    target = space.target
    shapes = []
    for wide in wider_vectors(target):
        found = register_shapes(target.core, element, wide)[:_OF_WIDER]
        shapes += [Shape(s.rows, s.columns(element), wide) for s in found]
    shapes += [Shape(rows, vectors * (target.vector_bytes // element)) for rows, vectors in _SHAPES]
    for roles in chain_roles(space, schedule, chain):
        for shape in shapes:
            if roles.row is None or space.extent(roles.row) >= 2 * shape.rows:
                yield from _blocked(space, schedule, chain, roles, shape)


def likely_blocks(space: Space) -> Iterator[Schedule]:
    """A few blockings of the heaviest chain of the first structures, without marks: where they fit, nothing else comes
    near them."""
    for structure in space.structures()[:_STRUCTURES]:
        for chain in space.leaf_chains(structure)[:1]:
            yield from islice(register_moves(space, structure, chain), _LIKELY)


def wider_vectors(target: Target) -> tuple[int, ...]:
    """Bytes of the vectors a core has beyond the usual ones, which the compiler may use."""
    return tuple(wide for wide, _ in target.core.registers if wide > target.vector_bytes)


def chain_roles(space: Space, schedule: Schedule, chain: Chain) -> Iterator[Roles]:
    """What the loops of a chain could be in a blocking, those that read contiguously for the vectors first."""
    sequential = space.sequential(schedule)
    if any(loop.opaque or loop.tile for loop in chain):
        return
    reductions = [loop for loop in chain if loop.name in sequential]
    strided = {loop.name: _strided_reads(space, loop) for loop in chain if loop.name not in sequential}
    vectors = [loop for loop in chain if strided.get(loop.name) is not None]
    vectors.sort(key=lambda loop: strided[loop.name] or 0)
    lanes = space.target.vector_bytes // space.element_bytes(chain)
    for vector in vectors[:2]:
        if not reductions or space.extent(vector) < 2 * lanes:
            continue
        others = [loop for loop in chain if loop.name not in sequential and loop is not vector]
        if not others:
            yield Roles(vector, None, reductions[-1])
        for row in others[::-1][:2]:
            yield Roles(vector, row, reductions[-1])


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


def has_operands(space: Space, roles: Roles) -> bool:
    """Whether the rows and the vectors each have what is read along them and the reduction, but not along the other."""
    assert roles.row is not None
    found = set[str]()
    for statement, _ in roles.reduction.rows:
        along = {
            name: {n for n in loop.row(statement).names()}
            for name, loop in (("row", roles.row), ("vector", roles.vector), ("reduction", roles.reduction))
        }
        for use in space.replayer.model.uses(statement):
            if use.is_write:
                continue
            names = {n for s in use.access.subscripts if isinstance(s, Affine) for n in s.names()}
            found |= {
                mine
                for mine, other in (("row", "vector"), ("vector", "row"))
                if names & along[mine] and names & along["reduction"] and not names & along[other]
            }
    return found == {"row", "vector"}


def _blocked(space: Space, schedule: Schedule, chain: Chain, roles: Roles, shape: Shape) -> Iterator[Schedule]:
    names = tuple(loop.name for loop in chain)
    row, reduction = roles.row, roles.reduction.name
    blocked = tuple(x.name for x in (row, roles.vector) if x is not None)
    sizes = (shape.rows, shape.columns) if row else (shape.columns,)
    rest = tuple(n for n in names if n not in blocked and n != reduction)
    block = RegisterBlock(blocked, sizes, shape.vector_bytes)
    plain = (*schedule, *permute_steps(names, (*rest, *blocked, reduction)), block)
    if row is None:
        yield plain
        return
    element = space.element_bytes(chain)
    if space.extent(roles.reduction) >= 64 and space.extent(row) >= 4 * shape.rows:
        # Goto and van de Geijn 2008: a panel of the vector operand in L1, a block of the row operand in L2.
        target = space.target
        depth = even_block(space.extent(roles.reduction), target.l1_bytes * 3 // 4 // (shape.columns * element), 8)
        height = even_block(space.extent(row), target.l2_bytes // 2 // (depth * element), shape.rows)
        width = even_block(space.extent(roles.vector), 4096 // element, shape.columns, target.threads)
        if space.extent(roles.vector) >= 2 * shape.columns:
            yield from cache_blocked(space, schedule, chain, roles, shape, CacheTiles(width, depth, height))
    yield plain


def cache_blocked(
    space: Space, schedule: Schedule, chain: Chain, roles: Roles, shape: Shape, tiles: CacheTiles
) -> Iterator[Schedule]:
    """Tiles j_t, k_t, i_t around points j, i, k with register blocks of (i, j): the operands packed, then as they lie.

    Nothing where tiling is not legal.
    """
    names = tuple(loop.name for loop in chain)
    vector, row, reduction = roles.vector, roles.row, roles.reduction.name
    assert row is not None
    wanted = (vector.name, reduction, row.name)
    rest = tuple(n for n in names if n not in wanted)
    sizes = (tiles.width, tiles.depth, tiles.height)
    tiled = (*schedule, *permute_steps(names, (*rest, *wanted)), Tile(wanted, sizes))
    if not space.legal(tiled):
        return
    full = chains_with(space.replayer.tree(tiled), vector.name)
    blocks = dict(zip(wanted, (loop.name for loop in full if loop.tile), strict=True))
    inside = (
        *tiled,
        *permute_steps(wanted, (vector.name, row.name, reduction)),
        RegisterBlock((row.name, vector.name), (shape.rows, shape.columns), shape.vector_bytes),
    )
    operands = [
        (loop, panel, where)
        for loop, panel, where in (
            (vector, shape.columns, blocks.get(reduction)),
            (row, shape.rows, blocks.get(row.name)),
        )
        if where is not None
    ]
    written = {u.access.array for s, _ in full[-1].rows for u in space.replayer.model.uses(s) if u.is_write}
    packs = _packs(space, full, operands, reduction, written)
    if packs:
        yield (*inside, *packs)
    yield inside


def panels(space: Space, roles: Roles, where: str, shape: Shape) -> tuple[Pack, ...]:
    """What is read along the vectors packed in a loop, also of an array that is written elsewhere in it."""
    assert roles.row is not None
    chain = (roles.row, roles.vector, roles.reduction)
    return _packs(space, chain, [(roles.vector, shape.columns, where)], roles.reduction.name, frozenset())


def _packs(
    space: Space,
    chain: Chain,
    operands: Sequence[tuple[TreeLoop, int, str]],
    reduction: str,
    left: Collection[str],
) -> tuple[Pack, ...]:
    """Each operand packed but for arrays in `left`.

    An operand: the loop it is read along beside the reduction, the panel's width, the loop it is packed in.
    """
    model = space.replayer.model
    packs: list[Pack] = []
    seen: set[Access] = set()
    for statement, _ in chain[-1].rows:
        iterator = {loop.name: iterator_of(loop, statement) for loop in chain}
        for use in model.uses(statement):
            array = use.access.array
            if array in left or use.is_write or use.access in seen:
                continue
            if len(use.access.subscripts) < 2 or not use.access.is_affine:
                continue
            dims = [s.names() if isinstance(s, Affine) else frozenset() for s in use.access.subscripts]
            for loop, panel, where in operands:
                mine = [k for k, names in enumerate(dims) if iterator[loop.name] in names]
                if len(mine) != 1:
                    continue
                rest = tuple(k for k in range(len(dims)) if k != mine[0])
                if any(iterator[reduction] in dims[k] for k in rest):
                    seen.add(use.access)
                    packs.append(Pack(where, array, (mine[0], *rest), mine[0], panel))
                    break
    return tuple(packs)


def iterator_of(loop: TreeLoop, statement: str) -> str:
    """The iterator of a statement that a loop runs through; "" where there is none."""
    names = sorted(loop.row(statement).names())
    return names[-1] if names else ""


def even_block(extent: int, limit: int, multiple: int, parts: int = 1) -> int:
    """A block size that divides an extent into equal blocks of at most `limit`, their number a multiple of `parts`."""
    count = max(1, -(-extent // max(limit, multiple)))
    count = -(-count // parts) * parts
    size = -(-extent // count)
    return max(multiple, -(-size // multiple) * multiple)
