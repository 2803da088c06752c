"""Schedules drawn at random from everything that is legal: what cost models learn from beside what searches find.

By turns a schedule matrix (Ganser et al. 2017) and a free sequence of fusions, interchanges, reversals and skews, each
completed by loop orders, tiles and marks, which are drawn, too. Models that only see what searches propose rank nothing
else (Merouani et al. 2024 train theirs on random sequences).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scheduler.errors import NotApplicable
from scheduler.matrices.sample import Unsampled
from scheduler.moves.space import Space
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.schedule import Schedule
from scheduler.search.explorer import DrawingExplorer, Evaluate
from scheduler.search.free import free_sequence
from scheduler.search.random import RandomSearch
from scheduler.search.sampling import Samples, SampleSearch

_LENGTH = 4  # steps of a free sequence
_IN_VAIN = 40  # schedules in a row that came before


class Drawn(DrawingExplorer):
    """Draws until the limit, the time or the space is used up; the same for the same seed."""

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
        super().__init__(space, evaluate, seed=seed, batch=batch, limit=limit, expired=expired)
        self._walks = RandomSearch(space, evaluate, seed=seed)
        self._sampled = SampleSearch(space, evaluate, seed=seed)

    def _search(self) -> None:
        self.best(self._draws(), 1)

    def _draws(self) -> Iterator[Schedule]:
        """Ends when nothing new comes up any more."""
        ways = [self._matrices(), self._sequences()]
        seen: set[Schedule] = set()
        in_vain = 0
        while ways and in_vain < _IN_VAIN:
            way = ways.pop(0)
            found = next(way, None)
            if found is None:
                continue
            ways.append(way)
            in_vain = in_vain + 1 if found in seen else 0
            seen.add(found)
            yield found

    def _matrices(self) -> Iterator[Schedule]:
        """Each as it is or in tiles; none for nests that have none."""
        try:
            samples = Samples(self.space, self._rng)
            while (found := samples.next(self._expired)) is not None:
                if self.space.legal((found,)):
                    yield self._rng.choice(self._sampled.completed((found,)))
        except (Unsampled, QuotaExceeded):
            return

    def _sequences(self) -> Iterator[Schedule]:
        bases = self.space.normalized_structures()
        while True:
            try:
                free = free_sequence(self.space, self._rng, self._rng.choice(bases), self._rng.randint(1, _LENGTH))
                yield self._walks.completed(free)
            except (NotApplicable, QuotaExceeded):
                yield ()
