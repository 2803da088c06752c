"""Sampling: random legal schedule matrices, each completed by loop orders, tiles and marks as the other searches do.

Nothing of the source's loop structure is kept: what transformations one after the other do not reach is drawn, too.
Source: Ganser et al. 2017 (TACO), section 4.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from scheduler.affine.structures import computed_structures
from scheduler.errors import NotApplicable
from scheduler.ir.tree import tree_loops
from scheduler.matrices.crossover import Breeder
from scheduler.matrices.sample import Matrix, Unsampled
from scheduler.matrices.tree import Simplifier
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.schedule import Schedule
from scheduler.search.explorer import DrawingExplorer, SearchStopped
from scheduler.transform import Reschedule, Tile

_PARALLEL = 0.4  # of the samples get an outer parallel row where there is one
_CHAINS = 4
_IN_VAIN = 60  # samples in a row that came before: the space is exhausted
_FAILURES = 10  # in a row: the nest is too large


class Samples:
    """Different legal trees of a nest, each as the step that makes it. Raises Unsampled for nests that have none."""

    def __init__(self, space: Space, rng: random.Random) -> None:
        replayer = space.replayer
        self._rng = rng
        binding = [d for d in replayer.dependences if not replayer.checker.relaxed(d)]
        self.breeder = Breeder(replayer.model, binding, rng)
        self._simplifier = Simplifier(replayer.model, self.breeder.pairs, self.breeder.space)
        self._seen: set[Reschedule] = set()

    def next(self, expired: Callable[[], bool] = lambda: False) -> Reschedule | None:
        """A tree that did not come before; None where there seem to be no more.

        Raises Unsampled, QuotaExceeded, and SearchStopped where `expired` says so.
        """
        failures = 0
        for _ in range(_IN_VAIN):
            if expired():
                raise SearchStopped
            try:
                found = self.step(self.breeder.sample(self._rng.random() < _PARALLEL))
            except (Unsampled, QuotaExceeded):
                failures += 1
                if failures == _FAILURES:
                    raise
                continue
            failures = 0
            if found not in self._seen:
                self._seen.add(found)
                return found
        return None

    def step(self, matrix: Matrix) -> Reschedule:
        """What makes the simplified tree of a matrix that keeps the dependences. Raises QuotaExceeded."""
        return self._simplifier.tree(matrix)


class SampleSearch(DrawingExplorer):
    """Draws until the limit, the time or the space is used up; the same for the same seed."""

    def _search(self) -> None:
        """Raises Unsampled where the nest has loops with data-dependent bounds, or is too large."""
        self.best([(), self._marked(())], 1)
        samples = Samples(self.space, self._rng)
        waiting: list[Schedule] = []
        while (found := samples.next(self._expired)) is not None:
            base: Schedule = (found,)
            if self.space.legal(base):
                waiting += self.completed(base)
            else:
                self.illegal += 1
            if len(waiting) >= self.batch:
                self.best(waiting, 1)
                waiting = []
        self.best(waiting, 1)

    def _completed(self, schedules: Sequence[Schedule]) -> None:
        """Evaluates legal orders, each in its own loop order, then in tiles of one size after the other."""
        self.best(map(self._marked, schedules), 1)
        in_vain = 0
        while schedules and in_vain < _IN_VAIN:
            before = len(self._seconds)
            self.best([self._marked(self._shaped(schedule)) for schedule in schedules], 1)
            in_vain = in_vain + len(schedules) if len(self._seconds) == before else 0

    def completed(self, schedule: Schedule) -> list[Schedule]:
        """A legal schedule with parallel and vector loops: in its own loop order, and in tiles."""
        return [self._marked(schedule), self._marked(self._shaped(schedule))]

    def _marked(self, schedule: Schedule) -> Schedule:
        """With the outer loops in parallel, where no wavefront is, and the inner ones vectorized."""
        space = self.space
        try:
            if not any(loop.parallel for loop in tree_loops(space.replayer.tree(schedule))):
                schedule = space.parallelized(schedule)
            return space.vectorized(schedule)
        except NotApplicable:
            return schedule

    def _shaped(self, schedule: Schedule) -> Schedule:
        """The heaviest chains in the order with the shortest strides, most of them in tiles or wavefronts of tiles."""
        space, rng = self.space, self._rng
        for head in [chain[-1].name for chain in space.leaf_chains(schedule)[:_CHAINS]]:
            chain = chains_with(space.replayer.tree(schedule), head)
            if chain and rng.random() < 0.7:
                schedule = space.orders(schedule, chain, 1)[0]
                chain = chains_with(space.replayer.tree(schedule), head)
            bands = self._bands(schedule, chain) if chain and rng.random() < 0.8 else []
            if not bands:
                continue
            band = rng.choice(bands)
            parallel = any(loop.name not in space.sequential(schedule) for loop in band)
            tiled = list((space.tilings if parallel else space.wavefronts)(schedule, band))
            rng.shuffle(tiled)
            schedule = next(filter(space.legal, tiled), schedule)
        return schedule

    def _bands(self, schedule: Schedule, chain: Chain) -> list[Chain]:
        """The runs of at least two loops of a chain that are permutable."""
        found: list[Chain] = []
        start = 0
        while start < len(chain):
            end = start + 1
            while end < len(chain) and self._permutable(schedule, chain[start : end + 1]):
                end += 1
            if end - start > 1:
                found.append(chain[start:end])
            start = end
        return found

    def _permutable(self, schedule: Schedule, loops: Chain) -> bool:
        return self.space.legal((*schedule, Tile(tuple(loop.name for loop in loops), (2,) * len(loops))))


class StructureSearch(SampleSearch):
    """What isl's scheduler computes for the nest in its settings, each completed in many ways."""

    def _search(self) -> None:
        self.best([()], 1)
        self._completed([(), *computed_structures(self.space.replayer).structures()])
