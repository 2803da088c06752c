"""The search space: for a nest and a schedule so far, the moves that may follow.

A move is a short tuple of transformations that belong together (a tiling with its sizes, a register
block with its packing). The order of the groups is LOOPer's (Merouani et al.): structure (fission, fusion,
time tiling), loop orders, parallelization, tiling, then what happens inside a tile. Moves only propose;
`Replayer` decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scheduler.affine.structures import computed_structures
from scheduler.ir.nest import Array
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, tree_loops
from scheduler.ir.types import known_type
from scheduler.ir.walk import AccessUse, bound_names, loops
from scheduler.machine.target import Target
from scheduler.moves.trip_counts import OrThousand, portion, power_of_two, trip_counts
from scheduler.normalize.fission import maximal_fission, refuse_neighbours
from scheduler.normalize.stride import access_stride, chains, directions, legal_orders, minimize_strides
from scheduler.polyhedral.distances import Distances
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Interchange, Parallelize, Skew, Tile, Unroll, UnrollJam, Vectorize

Chain = tuple[TreeLoop, ...]
_SHORT_LOOP = 8
_LONG_STRIDE = 64  # elements; vectors of what lies farther apart are slow, and gcc may take for ever to make them


class Space:
    """Moves for one nest. `parameters` are the values it will run with; they only shape what is proposed."""

    def __init__(self, replayer: Replayer, target: Target, parameters: Mapping[str, int]) -> None:
        self.replayer = replayer
        self.target = target
        self.parameters = dict(parameters)
        self.extents = trip_counts(tuple(loops(replayer.nest)), parameters)
        # By ids of trees: the replayer keeps its trees, so that no other one has this id.
        self._sequential: dict[tuple[int, bool], frozenset[str]] = {}
        self.skewed: dict[tuple[int, tuple[str, ...]], tuple[Schedule, ...]] = {}  # by loops, the solved skews

    def of(self, first: Schedule) -> Space:
        """Of the nest that first steps leave (`NEST_STEPS`). Raises NotApplicable, QuotaExceeded."""
        return Space(self.replayer.of(first), self.target, self.parameters)

    # ------------------------------------------------------------------------------ structure

    def structures(self) -> tuple[Schedule, ...]:
        """Those made by hand, then those that isl's scheduler computes and that are others."""
        computed = computed_structures(self.replayer)  # asked for first, waited for last
        found = self.normalized_structures()
        return (*found, *computed.structures(found))

    def normalized_structures(self) -> tuple[Schedule, ...]:
        """As written; normalized (fission, strides, re-fusion); in each case with and without re-fusion."""
        replayer = self.replayer
        fissioned = maximal_fission(replayer)
        normalized = minimize_strides(replayer, fissioned)
        found = (refuse_neighbours(replayer, normalized), normalized, (), minimize_strides(replayer, ()))
        return tuple(dict.fromkeys(found))

    # ------------------------------------------------------------------------------- questions

    def leaf_chains(self, schedule: Schedule) -> tuple[Chain, ...]:
        """Perfect chains that end in statements, largest work first."""
        found = [
            c for c in chains(self.replayer.tree(schedule)) if all(isinstance(child, Leaf) for child in c[-1].children)
        ]
        return tuple(sorted(found, key=lambda c: -self.work(c)))

    def work(self, chain: Chain) -> float:
        """Statement instances of a chain, roughly."""
        return sum(map(self.instances, (statement for statement, _ in chain[-1].rows)))

    def instances(self, statement: str) -> float:
        """Instances of a statement, roughly."""
        count = 1.0
        for iterator in self.replayer.model.iterators(statement):
            count *= max(self.extents.get(iterator, 1), 1)
        return count

    def extent(self, loop: TreeLoop) -> int:
        return max(self.extents.get(loop.origin, 1), 1)

    def sequential(self, schedule: Schedule, reductions: bool = False) -> frozenset[str]:
        """The loops that carry dependences; with `reductions` those with a reduction clause are none of them."""
        tree = self.replayer.tree(schedule)
        key = id(tree), reductions
        if key not in self._sequential:
            self._sequential[key] = self.replayer.checker.sequential_loops(tree, reductions)
        return self._sequential[key]

    def legal(self, schedule: Schedule) -> bool:
        return isinstance(self.replayer.replay(schedule), ScheduledNest)

    def shape(self, array: Array) -> tuple[int | None, ...]:
        """The extents of an array, None where they are not known; parameters without a value count as 1000."""
        return tuple(None if e is None else e.evaluate(OrThousand(self.parameters)) for e in array.shape)

    def element_bytes(self, chain: Chain) -> int:
        """Size of the widest floating or integer element the statements of a chain touch."""
        return max((self.element_bytes_of(statement) for statement, _ in chain[-1].rows), default=8)

    def element_bytes_of(self, statement: str) -> int:
        """Size of the widest element that a statement touches."""
        arrays = {use.access.array for use in self.replayer.model.uses(statement)}
        return max((known_type(self.replayer.nest.array(a).ctype).bits // 8 for a in arrays), default=8)

    # -------------------------------------------------------------------------------- parallel

    def parallelized(self, schedule: Schedule) -> Schedule:
        """The outermost parallel loop on every path marked, where it has iterations enough; uneven ones in portions."""
        if self.target.threads < 2:
            return schedule
        sequential = self.sequential(schedule, reductions=True)
        return (*schedule, *self._marks(self.replayer.tree(schedule), sequential))

    def parallel_choices(self, schedule: Schedule) -> Iterator[Schedule]:
        """For every loop that may run in parallel: the schedule with it marked, and the rest of the tree as usual."""
        if self.target.threads < 2:
            return
        tree = self.replayer.tree(schedule)
        sequential = self.sequential(schedule, reductions=True)
        for loop in tree_loops(tree):
            if self._free(loop, sequential) and not loop.parallel and not loop.vector:
                yield (*schedule, self._mark(loop), *self._marks(tree, sequential, loop.name))

    def _marks(self, tree: tuple[TreeNode, ...], sequential: frozenset[str], chosen: str = "") -> Iterator[Parallelize]:
        """The outermost loops that are free, but none around or inside a parallel loop or `chosen`."""
        for node in tree:
            if isinstance(node, Leaf) or node.parallel or node.name == chosen:
                continue
            taken = any(inner.parallel or inner.name == chosen for inner in tree_loops(node.children))
            if self._free(node, sequential) and not taken:
                yield self._mark(node)
            else:
                yield from self._marks(node.children, sequential, chosen)

    def _free(self, loop: TreeLoop, sequential: frozenset[str]) -> bool:
        return loop.name not in sequential and self._trips(loop) >= self.target.threads and not loop.register

    def _trips(self, loop: TreeLoop) -> int:
        return -(-self.extent(loop) // max(loop.tile, 1))

    def _mark(self, loop: TreeLoop) -> Parallelize:
        uneven = self.uneven(loop)
        return Parallelize(loop.name, int(uneven), self.portion(loop) if uneven else 0)

    def portion(self, loop: TreeLoop) -> int:
        """Iterations of a parallel loop dealt out at a time."""
        return 1 if loop.tile else portion(self._trips(loop), self.target.threads)

    def uneven(self, loop: TreeLoop) -> bool:
        """Some loop below has bounds that depend on this loop's iterations, or on data."""
        for statement, row in loop.rows:
            for inner in self.replayer.model.placed[statement].loops:
                if inner.is_opaque or bound_names(inner) & row.names():
                    return True
        return False

    # ---------------------------------------------------------------------------------- orders

    def orders(self, schedule: Schedule, chain: Chain, count: int) -> tuple[Schedule, ...]:
        """The best legal orders of a chain by stride, the present one included."""
        return tuple(dict.fromkeys((*legal_orders(self.replayer, schedule, chain, count), schedule)))

    # ---------------------------------------------------------------------------------- inside

    def vectorized(self, schedule: Schedule) -> Schedule:
        """Every innermost loop that may be vectorized marked so; short reductions inside are unrolled for it."""
        sequential = self.sequential(schedule)
        reduced = sequential - self.sequential(schedule, reductions=True)
        tree = self.replayer.tree(schedule)
        blocked = {name for loop in tree_loops(tree) if loop.register for name in loop.register.loops}
        steps: list[Unroll | Vectorize] = []

        def visit(node: TreeNode) -> bool:
            """Marks what is below; True when the node is a statement or will be unrolled into one."""
            if isinstance(node, Leaf):
                return True
            flat = all([visit(child) for child in node.children])
            if not flat or node.name in blocked or node.opaque or node.vector:
                return False
            if node.unroll == 0:
                return True
            if node.name in sequential and self.extent(node) <= _SHORT_LOOP and not node.tile:
                steps.append(Unroll(node.name, 0))
                return True
            if node.name in sequential:
                fits = node.name in reduced and self._contiguous(tree, node)
            else:
                fits = self._contiguous(tree, node, _LONG_STRIDE)
            if fits and node.unroll == 1:
                steps.append(Vectorize(node.name))
            return False

        for node in tree:
            visit(node)
        useful = any(isinstance(step, Vectorize) for step in steps)
        return (*schedule, *(steps if useful else ()))

    def inner_moves(self, schedule: Schedule, chain: Chain) -> Iterator[Schedule]:
        """What may be done with the innermost loops of a chain: unroll-and-jam where it re-uses data, unroll."""
        innermost = chain[-1]
        carried = innermost.name in self.sequential(schedule)
        yield from self.inner_wavefront(schedule, chain)
        if len(chain) > 1 and not innermost.opaque:
            tree, outer = self.replayer.tree(schedule), chain[-2]
            for factor in (4, 8) if carried else (4,):
                if self.extent(outer) >= 4 * factor and not outer.opaque and self._reused(tree, outer):
                    yield (*schedule, UnrollJam(outer.name, factor))

    def inner_wavefront(self, schedule: Schedule, chain: Chain) -> Iterator[Schedule]:
        """Two innermost loops that both carry dependences, run in diagonals: the inner loop becomes parallel.

        The iterations of a recurrence then overlap in the processor's pipelines (Gauss-Seidel).
        """
        sequential = self.sequential(schedule)
        if len(chain) < 2 or not {chain[-2].name, chain[-1].name} <= sequential or chain[-1].opaque or chain[-2].tile:
            return
        outer, inner = chain[-2].name, chain[-1].name
        tree, checker = self.replayer.tree(schedule), self.replayer.checker
        try:
            row = Distances(checker, tree, outer, [dict(loop.rows) for loop in chain[-2:]]).row("carries", ends=True)
        except QuotaExceeded:
            return
        if row is not None and row[0] > 0 and row[1] == 1:
            diagonal = (*schedule, Skew(outer, inner, row[0]), Interchange(outer, inner))
            if self.legal(diagonal):
                yield diagonal

    def _reused(self, tree: tuple[TreeNode, ...], loop: TreeLoop) -> bool:
        """Some access does not change along the loop, or changes by one element: copies side by side share it."""
        model = self.replayer.model
        for statement, direction in directions(tree, loop).items():
            for use in model.uses(statement):
                if not self.replayer.nest.array(use.access.array).is_scalar and self.stride(use, direction) <= 1:
                    return True
        return False

    # ----------------------------------------------------------------------------------- tiles

    def tilings(self, schedule: Schedule, chain: Chain) -> Iterator[Schedule]:
        """Tilings of a chain: of all its loops, and of the inner ones alone, in a few sizes."""
        names = tuple(loop.name for loop in chain if not loop.opaque)
        if len(names) < 2 or any(loop.tile for loop in chain):
            return
        extents = {loop.name: self.extent(loop) for loop in chain}
        for sizes in ((32, 32, 256), (64, 64, 64), (16, 16, 512), (128, 128, 1024)):
            for group in dict.fromkeys((names[-3:], names[-2:])):
                chosen = tuple(zip(group, sizes[-len(group) :], strict=True))
                kept = tuple((n, s) for n, s in chosen if extents[n] >= 2 * s)
                if kept:
                    yield (*schedule, Tile(tuple(n for n, _ in kept), tuple(s for _, s in kept)))

    def wavefronts(self, schedule: Schedule, band: Chain) -> Iterator[Schedule]:
        """A permutable band tiled, its tiles run in parallel wavefronts."""
        if len(band) < 2 or any(loop.tile or loop.opaque for loop in band):
            return
        seen: set[tuple[int, ...]] = set()
        for sizes in ((16, 32, 128, 128), (32, 64, 256, 256), (8, 16, 64, 512), (32, 32, 512, 512)):
            chosen = tuple(
                min(size, power_of_two(self.extent(loop) // 2)) for loop, size in zip(band, sizes, strict=False)
            )
            if len(band) > len(sizes) or min(chosen) < 4 or chosen in seen:
                continue
            seen.add(chosen)
            yield self.wavefront(schedule, band, chosen)

    def wavefront(self, schedule: Schedule, band: Chain, sizes: tuple[int, ...]) -> Schedule:
        """A permutable band in tiles of these sizes, which run in parallel wavefronts."""
        names = tuple(loop.name for loop in band)
        tiled = (*schedule, Tile(names, sizes))
        tiles = chains_with(self.replayer.tree(tiled), names[0])
        outer, second = (loop.name for loop in [x for x in tiles if x.tile][:2])
        step = max(sizes[1] // sizes[0], 1)
        return (*tiled, Skew(outer, second, step), Interchange(outer, second), Parallelize(outer))

    def _contiguous(self, tree: tuple[TreeNode, ...], loop: TreeLoop, most: int = 1) -> bool:
        """Whether no access of what is below jumps by more than `most` elements along the loop."""
        for statement, direction in directions(tree, loop).items():
            if any(self.stride(use, direction) > most for use in self.replayer.model.uses(statement)):
                return False
        return True

    def stride(self, use: AccessUse, direction: dict[str, int]) -> int:
        """Elements an access moves when the iterators move by `direction`; far where that is unknown."""
        return access_stride(self.replayer.nest, use, direction)


def chains_with(tree: tuple[TreeNode, ...], name: str) -> Chain:
    """The maximal perfect chain that contains a loop; empty if there is none."""
    return next((c for c in chains(tree) if any(loop.name == name for loop in c)), ())
