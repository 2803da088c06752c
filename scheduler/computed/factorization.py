"""Blocked forms of triangular factorizations: most of the work in products of blocks, the diagonal aside.

A loop whose bound is the iterator of a loop around it is split where the block of that one begins or ends; the outer
loop is tiled, and what does not touch the diagonal block is distributed out of it: a product, which is blocked for
registers and caches.
Source: the blocked right- and left-looking forms of LAPACK (Anderson et al. 1999, section 3.4), derived by index-set
splitting; register blocks from `scheduler.machine.target`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Loop
from scheduler.ir.tree import Leaf, TreeLoop, path_to
from scheduler.ir.walk import Placed
from scheduler.machine.target import register_shapes
from scheduler.moves.register_blocking import Roles, Shape, chain_roles, has_operands, panels, wider_vectors
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import permute_steps
from scheduler.schedule import Schedule
from scheduler.transform import Interchange, Parallelize, RegisterBlock, Split, Tile

_LEAST, _MOST = 40, 128  # iterations of a block: short enough for the caches, long enough to hide the diagonal's part
_SHORT = 4  # blocks that the loop must have at least
_PANEL = 2  # blocks of columns that are packed together
_DEPTH = 256  # iterations of a long reduction, for the caches


@dataclass(frozen=True, slots=True)
class _Blocked:
    """Splits of a nest, the steps that set the product apart, and the statement that it is made of."""

    splits: Schedule
    steps: Schedule
    statement: str
    size: int


def factorizations(space: Space) -> tuple[Schedule, ...]:
    """Blocked forms of the statement with the most work, for each width of vectors; legal ones.

    Empty where no loop around it is bounded by another that carries dependences. Raises QuotaExceeded.
    """
    placed = _main(space)
    if placed is None or len(placed.loops) < 3:
        return ()
    found: list[Schedule] = []
    for vector_bytes in (0, *wider_vectors(space.target)):
        shape = _shape(space, placed, vector_bytes)
        if shape is None:
            continue
        size = _block_size(shape)
        blocked = _set_apart(space, placed, size)
        if blocked is not None:
            inside = space.of(blocked.splits)
            found += [(*blocked.splits, *made) for made in _products(inside, blocked, shape)]
    return tuple(schedule for schedule in dict.fromkeys(found) if space.legal(schedule))


def _main(space: Space) -> Placed | None:
    """The statement with the most instances, if its loops are affine and count up by one."""
    model = space.replayer.model
    placed = max(model.placed.values(), key=lambda p: space.instances(p.statement.name), default=None)
    if placed is None or any(loop.is_opaque or loop.step != 1 for loop in placed.loops):
        return None
    outermost = space.extents.get(placed.loops[0].name, 1) if placed.loops else 1
    return placed if outermost >= _SHORT * _LEAST else None


def _shape(space: Space, placed: Placed, vector_bytes: int) -> Shape | None:
    """A register block that a block of a moderate size is a whole number of."""
    element = space.element_bytes_of(placed.statement.name)
    shapes = register_shapes(space.target.core, element, vector_bytes or space.target.vector_bytes)
    wanted = [Shape(s.rows, s.columns(element), vector_bytes) for s in shapes]
    # Those that fill the registers least badly come first; fewer rows may make a block of a better size.
    for shape in wanted[:3]:
        for rows in (shape.rows, *(r for r in (12, 8, 6, 4) if r < shape.rows)):
            if lcm(rows, shape.columns) <= _MOST // 2:
                return Shape(rows, shape.columns, vector_bytes)
    return None


def _block_size(shape: Shape) -> int:
    step = lcm(shape.rows, shape.columns)
    return -(-_LEAST // step) * step


# --------------------------------------------------------------------------------- setting the product apart


def _set_apart(space: Space, placed: Placed, size: int) -> _Blocked | None:
    """The main statement split from what touches the diagonal, in a tile of the outermost loop; None if that fails."""
    found = _splits(space, placed, size)
    if found is None:
        return None
    splits, statement = found
    inside = space.of(splits)
    replayer = inside.replayer
    schedule: Schedule = ()
    for tiled in range(len(placed.loops)):
        loops = _loops_of(inside, schedule, statement)
        alone = _alone(inside, schedule, statement)
        if alone and tiled:
            return _Blocked(splits, schedule, statement, size)
        free = [loop for loop in loops if not loop.tile]
        points = [loop for loop in free if not _has_tile(loops, loop)]
        if not points:
            return None
        outer = free[: free.index(points[0])]  # points of the blocks so far
        steps: Schedule = (Tile((points[0].name,), (size,)),)
        try:
            block = chains_with(replayer.tree((*schedule, *steps)), points[0].name)
        except NotApplicable:
            return None
        tile = next((loop.name for loop in block if loop.tile and loop.origin == points[0].origin), None)
        if tile is None:
            return None
        steps = (*steps, *(Interchange(loop.name, tile) for loop in reversed(outer)))
        if not inside.legal((*schedule, *steps)):
            return None
        schedule = maximal_fission(replayer, (*schedule, *steps), only=lambda loop: not loop.tile)
    return None


def _splits(space: Space, placed: Placed, size: int) -> tuple[Schedule, str] | None:
    """Splits at the blocks of outer loops of each loop that an outer one bounds, and the statement off the diagonal."""
    splits: Schedule = ()
    statement = placed.statement.name
    for depth in range(1, len(placed.loops)):
        model = space.of(splits).replayer.model
        around = model.placed[statement].loops
        loop = around[depth]
        place = _place(loop, around[:depth], size)
        if place is not None:
            at, second = place
            longer = (*splits, Split(loop.name, at))
            try:
                after = space.of(longer).replayer.model
            except NotApplicable:
                return None
            if second:
                statement = next(s for s in after.placed if s not in model.placed and s.startswith(f"{statement}_s"))
            splits = longer
    return (splits, statement) if splits else None


def _place(loop: Loop, outer: tuple[Loop, ...], size: int) -> tuple[Affine, bool] | None:
    """Where to split a loop that an outer one bounds, and whether its second part is off the diagonal."""
    names = {x.name for x in outer}
    for bounds, second in ((loop.stop, False), (loop.start, True)):
        for bound in bounds if isinstance(bounds, tuple) else ():
            (name,) = bound.names() if len(bound.names()) == 1 else ("",)
            if name in names and bound.coefficient(name) == 1 and bound.is_linear:
                return Affine.of(name).floordiv(size) * size + (size if second else 0), second
    return None


def _loops_of(space: Space, schedule: Schedule, statement: str) -> tuple[TreeLoop, ...]:
    return tuple(n for _, n in path_to(space.replayer.tree(schedule), statement) if isinstance(n, TreeLoop))


def _has_tile(loops: tuple[TreeLoop, ...], loop: TreeLoop) -> bool:
    return any(other.tile and other.origin == loop.origin for other in loops)


def _alone(space: Space, schedule: Schedule, statement: str) -> bool:
    """Whether the statement's loops inside the tiles are a perfect chain around it alone."""
    points = [loop for loop in _loops_of(space, schedule, statement) if not loop.tile]
    return all(len(loop.children) == 1 for loop in points) and isinstance(points[-1].children[0], Leaf)


# ------------------------------------------------------------------------------------------ the product itself


def _products(space: Space, blocked: _Blocked, shape: Shape) -> Iterator[Schedule]:
    """The product in register blocks, its operand along the vectors packed where it can be."""
    points = tuple(x for x in _loops_of(space, blocked.steps, blocked.statement) if not x.tile)
    for roles in chain_roles(space, blocked.steps, points):
        if roles.row is None or not has_operands(space, roles):
            continue
        names = [loop.name for loop in points]
        wanted = (roles.row.name, roles.vector.name, roles.reduction.name)
        if set(names) != set(wanted):
            continue
        loops = _loops_of(space, blocked.steps, blocked.statement)
        base = (*blocked.steps, *permute_steps(tuple(names), wanted))
        if _has_tile(loops, roles.reduction):
            made = _short_reduction(space, base, roles, shape, blocked.size)
        else:
            made = _long_reduction(space, base, roles, shape, blocked.size)
        best = next((schedule for schedule in made if space.legal(schedule)), None)
        if best is not None:
            yield space.vectorized(space.parallelized(best))
            yield best  # the diagonal by one thread
            return


def _short_reduction(space: Space, base: Schedule, roles: Roles, shape: Shape, size: int) -> Iterator[Schedule]:
    """Right-looking: all that is left is updated by one block of the reduction, a panel of columns at a time."""
    row, vector = roles.row, roles.vector
    assert row is not None
    tiled = (*base, Tile((vector.name,), (_PANEL * size,)))
    panel = _tile_of(space, tiled, vector)
    outside = (*tiled, Interchange(row.name, panel), _block(roles, shape))
    marked = (*outside, Parallelize(panel, 1, 1))
    packs = panels(space, roles, panel, shape)
    if packs:
        yield (*marked, *packs)
    yield marked


def _long_reduction(space: Space, base: Schedule, roles: Roles, shape: Shape, size: int) -> Iterator[Schedule]:
    """Left-looking: a block of the result takes in all that is before it, a part of the reduction at a time."""
    row, vector, reduction = roles.row, roles.vector, roles.reduction
    assert row is not None
    panel = ""
    if not _has_tile(_loops_of(space, base, vector.rows[0][0]), vector):
        base = (*base, Tile((vector.name,), (_PANEL * size,)))
        panel = _tile_of(space, base, vector)
        base = (*base, Interchange(row.name, panel))
    tiled = (*base, Tile((reduction.name,), (_DEPTH,)))
    part = _tile_of(space, tiled, reduction)
    inside = (*tiled, Interchange(vector.name, part), Interchange(row.name, part), _block(roles, shape))
    marked = (*inside, Parallelize(panel or _rows_of(space, inside, row, shape)))
    packs = panels(space, roles, part, shape)
    if packs:
        yield (*marked, *packs)
    yield marked


def _rows_of(space: Space, schedule: Schedule, row: TreeLoop, shape: Shape) -> str:
    """The loop over the rows of register blocks."""
    chain = chains_with(space.replayer.tree(schedule), row.name)
    blocks = (x.name for x in chain if x.name != row.name and x.origin == row.origin and x.tile == shape.rows)
    return next(blocks, "")  # no loop has that name: the schedule is refused


def _tile_of(space: Space, schedule: Schedule, loop: TreeLoop) -> str:
    """The tile loop that the last step made of a loop."""
    before = {x.name for x in chains_with(space.replayer.tree(schedule[:-1]), loop.name)}
    chain: Chain = chains_with(space.replayer.tree(schedule), loop.name)
    return next((x.name for x in chain if x.tile and x.name not in before), "")


def _block(roles: Roles, shape: Shape) -> RegisterBlock:
    assert roles.row is not None
    return RegisterBlock((roles.row.name, roles.vector.name), (shape.rows, shape.columns), shape.vector_bytes)
