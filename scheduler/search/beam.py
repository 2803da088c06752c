"""Beam search over schedules, stage by stage in LOOPer's order, with the evaluation injected.

Source: Baghdadi et al. 2021 (MLSys), section 5 (beam search over a tree of code transformations);
Merouani et al. 2024 (LOOPer), section 4 (the order of transformations).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scheduler.ir.tree import TreeNode
from scheduler.replay import ScheduledNest
from scheduler.schedule import Parallelize, Schedule
from scheduler.space import Chain, Space, chains_with

Evaluate = Callable[[Sequence[ScheduledNest]], Sequence[float | None]]
"""Seconds of each schedule, None where it failed. Raises SearchStopped when the budget is spent."""


class SearchStopped(Exception):
    """The evaluation budget is spent; the search returns the best so far."""


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

    def __init__(self, space: Space, evaluate: Evaluate, width: int = 3, batch: int = 4) -> None:
        self.space = space
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
        for schedule in dict.fromkeys(schedules):
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
        space = self.space
        structures = space.structures()
        beam = self.best((s for base in structures for s in (space.parallelized(base), base)), self.width)
        beam = list(dict.fromkeys([self._unmarked(s) for s in beam])) or [()]
        heads = self._heads(beam[0])
        for head in heads:
            beam = self._tune_chain(beam, head)
        for schedule in beam[:1]:
            self.best([schedule], 1)

    @staticmethod
    def _unmarked(schedule: Schedule) -> Schedule:
        return tuple(step for step in schedule if not isinstance(step, Parallelize))

    def _heads(self, schedule: Schedule) -> list[str]:
        return [chain[-1].name for chain in self.space.leaf_chains(schedule)]

    def _tune_chain(self, beam: list[Schedule], innermost: str) -> list[Schedule]:
        """One pass over a chain: order, then blocking or tiling, then the inside; others keep what they have."""
        finished: list[Schedule] = []
        for base in beam:
            chain = self._chain(base, innermost)
            if not chain:
                finished.append(base)
                continue
            finished.extend(self._variants(base, chain))
        return self._ranked(finished) or beam

    def _ranked(self, schedules: list[Schedule]) -> list[Schedule]:
        marked = {self.space.parallelized(s): s for s in dict.fromkeys(schedules)}
        return [marked[m] for m in self.best(marked, self.width)]

    def _chain(self, schedule: Schedule, innermost: str) -> Chain:
        return chains_with(self.space.replayer.tree(schedule), innermost)

    def _variants(self, base: Schedule, chain: Chain) -> list[Schedule]:
        space = self.space
        ordered = self._ranked(list(space.orders(base, chain, 3)))[:2] or [base]
        found = [*ordered]
        blocked = self._ranked(
            [s for o in ordered[:1] for s in space.register_moves(o, self._chain(o, chain[-1].name))]
        )
        found += blocked[:2]
        for order in ordered:
            here = self._chain(order, chain[-1].name)
            tiled = self._ranked([*space.tilings(order, here), *space.wavefronts(order, here)])[:2]
            found += tiled
            for shape in (order, *tiled):
                found += space.inner_moves(shape, self._chain(shape, chain[-1].name))
        return found
