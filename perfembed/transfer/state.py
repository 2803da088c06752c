"""Where a transfer stands when one step of a donor is to be made the target's, and parameters made to fit that.

Tiles keep the share of the cache they filled at the donor; register blocks keep their number of vectors; everything is
fitted to the target's extents, in even parts where that is possible.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from perfembed.transfer.assignment import distances
from perfembed.transfer.match import Matching
from perfembed.transfer.view import Path, Side, View
from scheduler.computed.streams import streamable
from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, find_loop, tree_loops
from scheduler.ir.types import known_type
from scheduler.ir.walk import AccessUse
from scheduler.machine.target import Target, register_shapes
from scheduler.moves.openmp_schedule import by_data
from scheduler.moves.register_blocking import even_block
from scheduler.moves.trip_counts import PORTION, power_of_two
from scheduler.schedule import Schedule
from scheduler.transform import NEST_STEPS, Parallelize, RegisterBlock, Transformation
from scheduler.transform.common import Tree
from scheduler.transform.transfer import Counterpart, NoCounterpart, Pair, Unmatched
from scheduler.transform.unroll import fitting

_SHORT = 4  # loops of so few iterations are not tiled
_STEPS = tuple(2 ** (k / 2) for k in range(-4, 5))  # by how much a tile may be scaled: 1/4 to 4
_MAX_BLOCK = 64


def tile_sizes(
    donor: Side,
    donor_view: View,
    given: Mapping[str, int],
    target: Side,
    target_view: View,
    wanted: Mapping[str, int],
    waves: bool,
    split: Collection[str] = (),
) -> dict[str, int]:
    """Sizes for the loops of `wanted` (target's loop -> donor's size), all scaled alike so that their tile takes the
    share of the same cache that the tile of `given` (donor's loop -> size) takes at the donor; then even parts of each
    extent, or with `waves` (the tiles will be skewed) powers of two. Loops too short to tile are left out; of
    those in `split` every thread gets as many tiles.
    """
    first, second = _top(donor_view, given), _top(target_view, wanted)
    scaled = dict(wanted)
    if first is not None and second is not None:
        ours = footprint(donor, donor_view, first, given)
        cache, theirs = next(
            (pair for pair in zip(_caches(donor.machine), _caches(target.machine), strict=True) if ours <= pair[0]),
            (0, 0),
        )
        if cache and ours:
            share = ours / cache

            def miss(factor: float) -> tuple[float, float]:
                sizes = {name: max(2, round(size * factor)) for name, size in wanted.items()}
                taken = footprint(target, target_view, second, sizes) / theirs
                return abs(math.log(max(taken, 1e-9) / share)), abs(math.log(factor))

            factor = min(_STEPS, key=miss) if miss(1.0)[0] > 0.5 else 1.0
            scaled = {name: max(2, round(size * factor)) for name, size in wanted.items()}
    found = {}
    for name, size in scaled.items():
        loop = target_view.loop(name)
        extent = target.extent(loop) if loop is not None else size
        if extent > _SHORT and waves:
            found[name] = max(_SHORT, min(power_of_two(round(size * 1.4)), power_of_two(extent // 2)))
        elif extent > _SHORT:
            parts = target.machine.threads if name in split else 1
            multiple = next((m for m in (8, 6, 4, 2) if wanted[name] % m == 0 and extent >= 4 * m), 1)
            found[name] = max(2, even_block(extent, size, multiple, parts))
    return found


def footprint(side: Side, view: View, top: TreeLoop, sizes: Mapping[str, int]) -> float:
    """Bytes that one tile touches: the loops of `sizes` make so many iterations, others below `top` all of theirs."""
    extents: dict[str, int] = {}
    for loop in tree_loops((top,)):
        if loop.tile:
            extents[loop.origin] = min(extents.get(loop.origin, loop.tile), loop.tile)
        else:
            extents.setdefault(loop.origin, side.extent(loop))
        if loop.name in sizes:
            extents[loop.origin] = min(sizes[loop.name], side.extent(loop))
    total = 0.0
    seen = set()
    for statement, _ in top.rows:
        for use in side.replayer.model.uses(statement):
            if use.access in seen or not use.access.subscripts:
                continue
            seen.add(use.access)
            elements = 1.0
            for subscript in use.access.subscripts:
                if isinstance(subscript, Affine):
                    elements *= 1 + sum(
                        abs(subscript.coefficient(n)) * (extents.get(n, 1) - 1) for n in subscript.names()
                    )
            total += elements * known_type(side.replayer.nest.array(use.access.array).ctype).bits / 8
    return total


def register_block(
    donor: Side, target: Side, sizes: Sequence[int], vector_bytes: int, loops: Sequence[TreeLoop]
) -> RegisterBlock:
    """A donor's block of these loops of the target (the last one: of the vectors): as many rows and vectors a row.

    Of vectors that the target's core does not have, or may not use, no more than its own registers hold.
    """
    core = target.machine.core
    wide = vector_bytes if vector_bytes in dict(core.registers) else 0
    ours, theirs = lanes(donor, None, vector_bytes), lanes(target, loops[-1], wide)
    vectors = max(1, round(sizes[-1] / max(ours, 1)))
    if vector_bytes and not wide:
        width = target.machine.vector_bytes
        for shape in register_shapes(core, width // theirs, width)[:1]:
            sizes = (*(min(size, shape.rows) for size in sizes[:-1]), sizes[-1])
            vectors = min(vectors, shape.vectors)
    last = min(vectors * theirs, _MAX_BLOCK)
    while last > theirs and target.extent(loops[-1]) < 2 * last:
        last -= theirs
    found = [fitting(size, target.extent(loop)) for size, loop in zip(sizes[:-1], loops[:-1], strict=True)]
    return RegisterBlock(tuple(loop.name for loop in loops), (*found, last), wide)


def lanes(side: Side, loop: TreeLoop | None, vector_bytes: int = 0) -> int:
    """Elements in a vector (0: the usual one) of the type that the statements of a loop (None: of the nest) use."""
    statements = side.replayer.model.placed if loop is None else dict(loop.rows)
    bits = [
        known_type(side.replayer.nest.array(use.access.array).ctype).bits
        for s in statements
        for use in side.replayer.model.uses(s)
        if use.access.subscripts
    ]
    return max(1, (vector_bytes or side.machine.vector_bytes) * 8 // max(bits, default=64))


def parallel_grain(
    side: Side, loop: TreeLoop, step: Parallelize, name: str, collapse: int, donor_by_data: bool = False
) -> Parallelize:
    """Dynamic where iterations differ in length; chunks small enough for every thread to get several.

    `donor_by_data`: in the donor, data decide how long its iterations are. Where they do so here, too, the donor knows
    best whether that evens out.
    """
    space = side.space
    dynamic = step.dynamic if donor_by_data and by_data(space, loop) else int(space.uneven(loop))
    chunk = 0
    if dynamic or step.chunk:
        usual = space.portion(loop)
        chunk = min(step.chunk, usual) if 0 < step.chunk < PORTION else usual
    return Parallelize(name, dynamic, chunk, collapse)


def _caches(machine: Target) -> tuple[int, int, int, int]:
    return machine.l1_bytes, machine.l2_bytes, machine.l3_bytes, 1 << 62


def _top(view: View, sizes: Mapping[str, int]) -> TreeLoop | None:
    """The outermost of the loops named."""
    return next((loop for loop in tree_loops(view.tree) if loop.name in sizes), None)


@dataclass(frozen=True, slots=True)
class TransferState:
    """A step of the donor (`rest` follow it) at the trees before it, with the matching of their nodes.

    It is the `StepMatching` that transformations are carried over through.
    """

    donor: Side
    target: Side
    ours: View
    theirs: View
    matching: Matching
    step: Transformation
    rest: Schedule

    def counterpart(self) -> Counterpart:
        """The step for the target. Raises SchedulerError: NoCounterpart, AlreadySo, NotApplicable."""
        if isinstance(self.step, NEST_STEPS):
            raise NoCounterpart(f"what {self.step.keyword} does is not carried over to other nests")
        return self.step.transfer(self)

    @property
    def loops(self) -> Mapping[str, Pair]:
        return self.matching.loops

    @property
    def statements(self) -> Mapping[str, Pair]:
        return self.matching.statements

    @property
    def donor_tree(self) -> Tree:
        return self.ours.tree

    @property
    def target_tree(self) -> Tree:
        return self.theirs.tree

    def pair(self, loop: str) -> Pair:
        found = self.loops.get(loop)
        if found is None:
            raise Unmatched(f"no loop of the target stands for {loop}")
        return found

    def loop(self, name: str) -> TreeLoop:
        found = find_loop(self.theirs.tree, name)
        if found is None:
            raise NoCounterpart(f"there is no loop {name}")
        return found

    def common_path(self, *names: str) -> Path:
        """The target's path with most work on which all these loops stand. Raises NoCounterpart."""
        for path in self.theirs.paths:
            if set(names) <= {loop.name for loop in path.loops}:
                return path
        raise NoCounterpart(f"loops {', '.join(names)} are not inside each other")

    def order(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(loop.name for loop in self.common_path(*names).loops if loop.name in names)

    def beside(self, statement: str) -> tuple[str, ...]:
        return next((path.statements for path in self.theirs.paths if statement in path.statements), ())

    def donor_uses(self, statement: str) -> Sequence[AccessUse]:
        return self.donor.replayer.model.uses(statement)

    def target_uses(self, statement: str) -> Sequence[AccessUse]:
        return self.target.replayer.model.uses(statement)

    def array_distance(self, donor: str, target: str) -> float:
        return float(distances((donor,), (target,), self.ours.arrays, self.theirs.arrays)[0, 0])

    def extent(self, loop: TreeLoop) -> int:
        return self.target.extent(loop)

    @property
    def threads(self) -> int:
        return self.target.machine.threads

    def worth_threads(self, loop: TreeLoop) -> bool:
        path = self.theirs.path_of(loop.name)
        return path is not None and self.target.worth_threads(path, loop)

    def writes_along(self, loop: TreeLoop) -> bool:
        return self.target.writes_along(loop)

    def streamable(self, loop: TreeLoop) -> tuple[str, ...]:
        return streamable(self.target.space, loop)

    def tile_sizes(
        self, given: Mapping[str, int], wanted: Mapping[str, int], waves: bool, split: Collection[str]
    ) -> Mapping[str, int]:
        return tile_sizes(self.donor, self.ours, given, self.target, self.theirs, wanted, waves, split)

    def register_sizes(
        self, sizes: Sequence[int], vector_bytes: int, loops: Sequence[TreeLoop]
    ) -> tuple[tuple[int, ...], int]:
        block = register_block(self.donor, self.target, sizes, vector_bytes, loops)
        return block.sizes, block.vector_bytes

    def grain(self, step: Parallelize, loop: TreeLoop, collapse: int) -> Parallelize:
        donor = find_loop(self.ours.tree, step.loop)
        of_data = donor is not None and by_data(self.donor.space, donor)
        return parallel_grain(self.target, loop, step, loop.name, collapse, of_data)
