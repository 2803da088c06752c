"""What all searches share: each different schedule evaluated once, a budget, the best so far."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from scheduler.ir.text import nest_id
from scheduler.ir.tree import TreeNode
from scheduler.moves.space import Space
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule

Evaluate = Callable[[Sequence[ScheduledNest]], Sequence[float | None]]
"""Seconds of each schedule, None where it failed. Raises SearchStopped when the budget is spent."""

_ALIKE = 1.2


class SearchStopped(Exception):
    """The evaluation budget is spent; the search returns the best so far."""


@dataclass(frozen=True, slots=True)
class Candidate:
    scheduled: ScheduledNest
    seconds: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`ranked`: every schedule that ran, fastest first (ties: as found). `illegal`: how many were refused;
    `rejected`: how many a guard thought not worth evaluating."""

    ranked: tuple[Candidate, ...]
    evaluated: int
    illegal: int
    complete: bool
    rejected: int = 0


class Explorer:
    """One search: remembers what was evaluated, so that equal trees are evaluated once.

    Subclasses say in `_search` what to try; it may raise SearchStopped.
    """

    def __init__(
        self,
        space: Space,
        evaluate: Evaluate,
        *,
        batch: int = 4,
        limit: int | None = None,
        expired: Callable[[], bool] = lambda: False,
    ) -> None:
        """`limit` different schedules are evaluated at most; `expired` is asked between them whether time is up."""
        self.space = space
        self.batch = batch
        self.limit = limit
        self.illegal = 0
        self.rejected = 0
        self._expired = expired
        self._evaluate = evaluate
        self._seconds: dict[tuple[TreeNode, ...], float | None] = {}
        self._found: list[Candidate] = []

    def after(self, earlier: Explorer) -> None:
        """Goes on where another search of the same nest ended: what it evaluated is known, and no part of the limit."""
        self._seconds.update(earlier._seconds)
        self._found.extend(earlier._found)
        if self.limit is not None:
            self.limit += len(earlier._seconds)

    def start(self, promising: Sequence[Schedule]) -> None:
        """Evaluates schedules known from elsewhere before the search begins; what does not fit the nest is refused."""
        with contextlib.suppress(SearchStopped):
            self.best(promising, 1)

    def run(self) -> SearchResult:
        """Searches until there is nothing more to try or the budget is spent."""
        complete = True
        try:
            self._search()
        except SearchStopped:
            complete = False
        return self.result(complete)

    def result(self, complete: bool) -> SearchResult:
        """What was found so far, also after an interrupt."""
        ranked = tuple(sorted(self._found, key=lambda c: c.seconds))
        return SearchResult(ranked, len(self._seconds), self.illegal, complete, self.rejected)

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
                if self.limit is not None and len(self._seconds) + len(pending) >= self.limit:
                    flush()
                    raise SearchStopped
                waiting.add(replayed.tree)
                pending.append(replayed)
                if len(pending) == self.batch:
                    flush()
        if pending:
            flush()
        return sorted(known, key=lambda s: known[s])[:count]

    def _search(self) -> None:
        raise NotImplementedError


class DrawingExplorer(Explorer):
    """One that draws at random: the same for the same nest and seed."""

    def __init__(
        self,
        space: Space,
        evaluate: Evaluate,
        *,
        seed: int,
        batch: int = 4,
        limit: int | None = None,
        expired: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(space, evaluate, batch=batch, limit=limit, expired=expired)
        self._rng = random.Random(f"{seed} {nest_id(space.replayer.nest)}")


def in_variety(schedules: Sequence[Schedule], seconds: Sequence[float]) -> list[int]:
    """Positions of the schedules, those with the least predicted `seconds` first, but each behind where it ranks for
    every one before it that is made of the same kinds of steps.

    A model errs alike on schedules that are alike: where it is wrong about one they should not fill the list.
    """
    before: Counter[frozenset[str]] = Counter()
    handicapped: list[tuple[float, int]] = []
    for place in sorted(range(len(schedules)), key=lambda k: (seconds[k], k)):
        kinds = frozenset(type(step).__name__ for step in schedules[place])
        handicapped.append((seconds[place] * _ALIKE ** before[kinds], place))
        before[kinds] += 1
    return [place for _, place in sorted(handicapped)]


def _distinct(schedules: Iterable[Schedule]) -> Iterator[Schedule]:
    """Each schedule once, made only when it is asked for."""
    seen: set[Schedule] = set()
    for schedule in schedules:
        if schedule not in seen:
            seen.add(schedule)
            yield schedule
