"""Beam search over schedules, stage by stage in LOOPer's order, with the evaluation injected.

Source: Baghdadi et al. 2021 (MLSys), section 5 (beam search over a tree of code transformations);
Merouani et al. 2024 (LOOPer), section 4 (the order of transformations).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from scheduler.ir.tree import TreeNode
from scheduler.replay import ScheduledNest
from scheduler.schedule import Parallelize, Schedule, Transformation, Vectorize
from scheduler.space import Chain, Space, chains_with
from scheduler.time_tiling import time_tiled

Evaluate = Callable[[Sequence[ScheduledNest]], Sequence[float | None]]
"""Seconds of each schedule, None where it failed. Raises SearchStopped when the budget is spent."""


class SearchStopped(Exception):
    """The evaluation budget is spent; the search returns the best so far."""


_TIME_TILINGS = 8
_MINIMUM_WORK = 0.01
_ORDERED_CHAINS = 6
_SHORT_S = 2e-3  # nests below may not be worth starting threads for


@dataclass(frozen=True, slots=True)
class Candidate:
    scheduled: ScheduledNest
    seconds: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`ranked`: every schedule that ran, fastest first (ties: as found). `illegal`: how many were refused."""

    ranked: tuple[Candidate, ...]
    evaluated: int
    illegal: int
    complete: bool


class Beam:
    """One search: remembers what was evaluated, so that equal trees are evaluated once."""

    def __init__(
        self,
        space: Space,
        evaluate: Evaluate,
        width: int = 3,
        batch: int = 4,
        expired: Callable[[], bool] = lambda: False,
    ) -> None:
        """`expired` is asked between schedules whether the budget is spent."""
        self.space = space
        self._expired = expired
        self.width = width
        self.batch = batch
        self._evaluate = evaluate
        self._seconds: dict[tuple[TreeNode, ...], float | None] = {}
        self._found: list[Candidate] = []
        self.illegal = 0

    def run(self) -> SearchResult:
        complete = True
        try:
            self._search()
        except SearchStopped:
            complete = False
        return self.result(complete)

    def result(self, complete: bool) -> SearchResult:
        """What was found so far, also after an interrupt."""
        ranked = tuple(sorted(self._found, key=lambda c: c.seconds))
        return SearchResult(ranked, len(self._seconds), self.illegal, complete)

    def best(self, schedules: Iterable[Schedule], count: int) -> list[Schedule]:
        """Evaluates what is legal and new; the `count` fastest of `schedules`, fastest first."""
        known: dict[Schedule, float] = {}
        pending: list[ScheduledNest] = []

        def flush() -> None:
            outcomes = self._evaluate(pending)
            for scheduled, seconds in zip(pending, outcomes, strict=True):
                self._seconds[scheduled.tree] = seconds
                if seconds is not None:
                    self._found.append(Candidate(scheduled, seconds))
                    known[scheduled.schedule] = seconds
            pending.clear()

        waiting: set[tuple[TreeNode, ...]] = set()
        for schedule in _distinct(schedules):
            if self._expired():
                raise SearchStopped
            replayed = self.space.replayer.replay(schedule)
            if not isinstance(replayed, ScheduledNest):
                self.illegal += 1
                continue
            if replayed.tree in self._seconds:
                seconds = self._seconds[replayed.tree]
                if seconds is not None:
                    known[schedule] = seconds
            elif replayed.tree not in waiting:
                waiting.add(replayed.tree)
                pending.append(replayed)
                if len(pending) == self.batch:
                    flush()
        if pending:
            flush()
        return sorted(known, key=lambda s: known[s])[:count]

    def _search(self) -> None:
        """Structures first, time tiling beside them, then chain by chain, the one with most work first."""
        space = self.space
        bases = space.structures()
        beam = self._ranked(list(bases)) or [()]
        self.best((space.vectorized(s) for s in islice(time_tiled(space), _TIME_TILINGS)), 1)
        beam = self._ordered(beam)
        seen: set[str] = set()
        while head := self._next_chain(beam[0], seen):
            beam = self._tune_chain(beam, head)
        fastest = self.result(True).ranked[:2]
        self.best([_without(c.scheduled.schedule, Vectorize) for c in fastest], 1)
        self.best([_without(c.scheduled.schedule, Parallelize) for c in fastest if c.seconds < _SHORT_S], 1)

    def _ordered(self, beam: list[Schedule]) -> list[Schedule]:
        """A good loop order for every chain, cheaply, before any of them is looked at closely."""
        seen: set[str] = set()
        for _ in range(_ORDERED_CHAINS):
            head = self._next_chain(beam[0], seen)
            if head is None:
                break
            chain = chains_with(self.space.replayer.tree(beam[0]), head)
            beam = self._ranked([*beam, *self.space.orders(beam[0], chain, 2)]) or beam
        return beam

    def _next_chain(self, schedule: Schedule, seen: set[str]) -> str | None:
        """The innermost loop of the heaviest chain not tuned yet that matters at all."""
        found = self.space.leaf_chains(schedule)
        total = sum(self.space.work(chain) for chain in found)
        for chain in found:
            names = {loop.origin for loop in chain}
            if not (names & seen) and self.space.work(chain) >= _MINIMUM_WORK * total:
                seen |= names
                return chain[-1].name
        return None

    def _tune_chain(self, beam: list[Schedule], innermost: str) -> list[Schedule]:
        """One pass over a chain: order, then blocking or tiling, then the inside; others keep what they have."""
        finished: list[Schedule] = []
        for base in beam:
            chain = chains_with(self.space.replayer.tree(base), innermost)
            finished.extend(self._variants(base, chain) if chain else [base])
        return self._ranked(finished) or beam

    def _ranked(self, schedules: list[Schedule]) -> list[Schedule]:
        """The fastest, each measured with its outer loops in parallel and its inner ones vectorized.

        What comes back is without those marks.
        """
        space = self.space
        marked = {space.vectorized(space.parallelized(s)): s for s in dict.fromkeys(schedules)}
        return [marked[m] for m in self.best(marked, self.width)]

    def _variants(self, base: Schedule, chain: Chain) -> list[Schedule]:
        space, innermost = self.space, chain[-1].name
        ordered = self._ranked(list(space.orders(base, chain, 3)))[:2] or [base]
        found = [*ordered]
        tree = space.replayer.tree
        found += self._ranked(
            [s for o in ordered[:1] for s in space.register_moves(o, chains_with(tree(o), innermost))]
        )
        for order in ordered:
            here = chains_with(tree(order), innermost)
            tiled = self._ranked(list(space.tilings(order, here)))[:2]
            found += tiled
            for shape in (order, *tiled):
                found += space.inner_moves(shape, chains_with(tree(shape), innermost))
        return found


def _distinct(schedules: Iterable[Schedule]) -> Iterator[Schedule]:
    """Each schedule once, made only when it is asked for."""
    seen: set[Schedule] = set()
    for schedule in schedules:
        if schedule not in seen:
            seen.add(schedule)
            yield schedule


def _without(schedule: Schedule, kind: type[Transformation]) -> Schedule:
    return tuple(step for step in schedule if not isinstance(step, kind))
