"""Beam search over schedules, stage by stage in LOOPer's order, with the evaluation injected.

Source: Baghdadi et al. 2021 (MLSys), section 5 (beam search over a tree of code transformations);
Merouani et al. 2024 (LOOPer), section 4 (the order of transformations).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, islice

from scheduler.errors import NotApplicable
from scheduler.moves.fusion import fusions
from scheduler.moves.register_blocking import likely_blocks, register_moves
from scheduler.moves.space import Chain, Space, chains_with
from scheduler.moves.time_tiling import computed_time_tiled, time_tiled
from scheduler.moves.unimodular import parallel_rows
from scheduler.schedule import Schedule
from scheduler.search.closely import variations
from scheduler.search.explorer import Evaluate, Explorer
from scheduler.transform import Parallelize, Transformation, Vectorize

_TIME_TILINGS = 8
_COMPUTED_TILINGS = 4
_MINIMUM_WORK = 0.01
_BETTER = 0.98  # of the best so far: what gains less does not lead on
_ORDERED_CHAINS = 6
_SHORT_S = 2e-3  # nests below may not be worth starting threads for


class Beam(Explorer):
    """The `width` best of each stage go on to the next; within a chain half as many, but two at least."""

    def __init__(
        self,
        space: Space,
        evaluate: Evaluate,
        *,
        width: int = 3,
        batch: int = 4,
        limit: int | None = None,
        expired: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(space, evaluate, batch=batch, limit=limit, expired=expired)
        self.width, self.inner = width, max(2, width // 2)

    def _search(self) -> None:
        """Register blocks, structures and time tiling first, then chain by chain, the one with most work first."""
        space = self.space
        self._ranked(list(likely_blocks(space)))
        beam = self._ranked(list(space.structures())) or [()]
        self.best((space.vectorized(s) for s in islice(time_tiled(space), _TIME_TILINGS)), 1)
        self.best((space.vectorized(s) for s in islice(computed_time_tiled(space, 1), _COMPUTED_TILINGS)), 1)
        beam = self._ranked([*beam, *islice(fusions(space, beam[0]), 2 * self.inner)]) or beam
        beam = self._ordered(beam)
        seen: set[str] = set()
        while head := self._next_chain(beam[0], seen):
            beam = self._tune_chain(beam, head)
        fastest = self.result(True).ranked[:2]
        self.best([_without(c.scheduled.schedule, Vectorize) for c in fastest], 1)
        self.best([_without(c.scheduled.schedule, Parallelize) for c in fastest if c.seconds < _SHORT_S], 1)
        self._closely()

    def _closely(self) -> None:
        """What differs from the best in one decision, again and again while that gains anything."""
        found = self.result(True).ranked
        while found:
            near = found[: self.inner]
            self.best(chain(*(variations(self.space, c.scheduled.schedule) for c in near)), 1)
            found = self.result(True).ranked
            if found[0].seconds > _BETTER * near[0].seconds:
                return

    def _ordered(self, beam: list[Schedule]) -> list[Schedule]:
        """A good loop order for every chain, cheaply, before any of them is looked at closely."""
        seen: set[str] = set()
        for _ in range(_ORDERED_CHAINS):
            head = self._next_chain(beam[0], seen)
            if head is None:
                break
            here = chains_with(self.space.replayer.tree(beam[0]), head)
            skewed = islice(parallel_rows(self.space, beam[0], here), 2 * self.inner)
            beam = self._ranked([*beam, *self.space.orders(beam[0], here, 2), *skewed]) or beam
        return beam

    def _next_chain(self, schedule: Schedule, seen: set[str]) -> str | None:
        """The innermost loop of the heaviest chain not tuned yet that matters at all."""
        found = self.space.leaf_chains(schedule)
        total = sum(map(self.space.work, found))
        for one in found:
            names = {loop.origin for loop in one}
            if not (names & seen) and self.space.work(one) >= _MINIMUM_WORK * total:
                seen |= names
                return one[-1].name
        return None

    def _tune_chain(self, beam: list[Schedule], innermost: str) -> list[Schedule]:
        """One pass over a chain: order, then blocking or tiling, then the inside; others keep what they have."""
        finished: list[Schedule] = []
        for base in beam:
            here = chains_with(self.space.replayer.tree(base), innermost)
            finished.extend(self._variants(base, here) if here else [base])
        return self._ranked(finished) or beam

    def _ranked(self, schedules: list[Schedule]) -> list[Schedule]:
        """The fastest, each measured with its outer loops in parallel and its inner ones vectorized.

        What comes back is without those marks.
        """
        marked: dict[Schedule, Schedule] = {}
        for schedule in dict.fromkeys(schedules):
            try:
                marked[self.space.vectorized(self.space.parallelized(schedule))] = schedule
            except NotApplicable:
                self.illegal += 1
        return [marked[m] for m in self.best(marked, self.width)]

    def _variants(self, base: Schedule, loops: Chain) -> list[Schedule]:
        space, innermost = self.space, loops[-1].name
        ordered = self._ranked(list(space.orders(base, loops, self.inner + 1)))[: self.inner] or [base]
        found = [*ordered]
        tree = space.replayer.tree
        found += self._ranked(
            [s for o in ordered[: self.inner // 2] for s in register_moves(space, o, chains_with(tree(o), innermost))]
        )
        for order in ordered:
            here = chains_with(tree(order), innermost)
            tiled = self._ranked(list(space.tilings(order, here)))[: self.inner]
            found += tiled
            for shape in (order, *tiled):
                found += space.inner_moves(shape, chains_with(tree(shape), innermost))
        return found


def _without(schedule: Schedule, kind: type[Transformation]) -> Schedule:
    return tuple(step for step in schedule if not isinstance(step, kind))
