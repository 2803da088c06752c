"""A genetic algorithm over schedules: matrices bred from matrices, and what follows them from what followed others'.

The population begins with what is known (the nest's structures, schedules given from elsewhere, register blocks and
time tilings, which no matrix says) and samples. In each generation the better half survives; the other half is bred:
mutations that become smaller, crossovers, statements put apart, mutations of tiles and marks, and immigrants. It ends
after 40 generations, or when 8 of them gained less than 2 %.

Source: Ganser et al. 2017 (TACO), section 5; a guard before what is measured: Ganser et al. 2018 (TACO), section 5.
That schedules without a matrix (of nests with data-dependent bounds) and tiles and marks breed, too, is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from scheduler.errors import NotApplicable, SchedulerError
from scheduler.matrices.crossover import Breeder, matrix_of
from scheduler.matrices.sample import Matrix, Unsampled
from scheduler.moves.register_blocking import likely_blocks
from scheduler.moves.space import Space
from scheduler.moves.time_tiling import time_tiled
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule
from scheduler.search.closely import AFFINE, variations
from scheduler.search.explorer import Evaluate, SearchStopped
from scheduler.search.free import free_sequence
from scheduler.search.random import RandomSearch
from scheduler.search.sampling import Samples, SampleSearch
from scheduler.transform.reschedule import time_maps

POPULATION = 30
GENERATIONS = 40
_PATIENCE, _GAIN = 8, 1.02  # generations, and what they must gain together
_STRENGTH, _COOLING = 0.6, 0.08  # share of rows that a mutation exchanges at first; how it falls in each generation
_TRIES = 6  # for each child that is new, legal and promising
_VARIATIONS = 40
_INHERITED = 0.5  # of the children of matrices get tiles and marks of a parent, the others new ones
_WALK = 4  # steps of a free sequence
_TIME_TILED = 2  # founders of that kind
_IMMIGRANTS = 0.1  # of the children
_SHAPED = 0.7  # of new tiles and marks

Accepts = Callable[[ScheduledNest], bool]
"""Whether a schedule is worth measuring."""


class Genetic(SampleSearch):
    """Breeds until it converges, or the limit or the time is used up; the same for the same seed and times."""

    def __init__(
        self,
        space: Space,
        evaluate: Evaluate,
        *,
        seed: int,
        batch: int = 4,
        limit: int | None = None,
        expired: Callable[[], bool] = lambda: False,
        population: int = POPULATION,
        generations: int = GENERATIONS,
        accepts: Accepts | None = None,
    ) -> None:
        """`accepts`: a guard; what it does not take is not evaluated, but counts for the limit and its generation."""
        super().__init__(space, evaluate, seed=seed, batch=batch, limit=limit, expired=expired)
        self.generation = 0
        self._size = population if limit is None else max(8, min(population, limit // 3))
        self._generations = generations
        self._accepts = accepts
        self._promising: list[Schedule] = []
        self._matrices: dict[Schedule, Matrix | None] = {}
        self._walks = RandomSearch(space, evaluate, seed=seed)
        self._breeder: Breeder | None = None
        self._samples: Samples | None = None

    def start(self, promising: Sequence[Schedule]) -> None:
        super().start(promising)
        self._promising += promising

    def _search(self) -> None:
        known = [*self._promising, *self._known()]
        self.best(known, 1)  # before anything that takes time to find
        try:
            self._samples = Samples(self.space, self._rng)
            self._breeder = self._samples.breeder
        except (Unsampled, QuotaExceeded):
            pass  # steps breed alone
        immigrants = islice(self._new(self._immigrants()), max(0, self._size - len(known)))
        alive = self._ranked([*known, *(one for one in immigrants if one is not None)])
        bests = [self._seconds_of(alive[0])] if alive else []
        while alive and self.generation < self._generations:
            self.generation += 1
            survivors = alive[: max(2, self._size // 2)]
            strength = _STRENGTH * math.exp(-_COOLING * self.generation)
            bred = list(islice(self._new(self._bred(survivors, strength)), self._size - len(survivors)))
            alive = self._ranked([*survivors, *(child for child in bred if child is not None)])
            bests.append(self._seconds_of(alive[0]))
            if not bred or (len(bests) > _PATIENCE and bests[-1 - _PATIENCE] < _GAIN * bests[-1]):
                return

    def _ranked(self, schedules: Sequence[Schedule]) -> list[Schedule]:
        return self.best(schedules, len(schedules))[: self._size]

    def _seconds_of(self, schedule: Schedule) -> float:
        found = self._seconds[self.space.replayer.tree(schedule)]
        return math.inf if found is None else found

    def _known(self) -> list[Schedule]:
        """As written, the nest's structures with marks and shaped, and what no matrix says."""
        structures = self.space.structures()
        whole = [self.completed(one) for one in structures[: self._size // 4]]
        return [(), *(schedule for both in whole for schedule in both), *self._beyond_matrices()]

    def _beyond_matrices(self) -> list[Schedule]:
        """Register blocks of the heaviest chain of the first structures, and time tilings."""
        space = self.space
        found = [self._marked(schedule) for schedule in likely_blocks(space)]
        found += map(self._marked, islice(time_tiled(space, 1), _TIME_TILED))
        return found

    # ------------------------------------------------------------------------------- breeding

    def _new(self, proposals: Iterator[Schedule | None]) -> Iterator[Schedule | None]:
        """What is legal and new, None for what the guard rejects; ends where too many in a row are neither."""
        seen: set[object] = set()
        in_vain = 0
        for schedule in proposals:
            if self._expired():
                raise SearchStopped
            in_vain += 1
            if in_vain > _TRIES * self._size:
                return
            if schedule is None:
                continue
            try:
                found = self.space.replayer.replay(schedule)
            except SchedulerError:
                continue
            if not isinstance(found, ScheduledNest):
                self.illegal += 1
                continue
            if found.tree in self._seconds or found.tree in seen:
                continue
            seen.add(found.tree)
            if self._accepts is not None and not self._accepts(found):
                self.rejected += 1
                if self.limit is not None:
                    self.limit -= 1
                in_vain = 0
                yield None
                continue
            in_vain = 0
            yield schedule

    def _bred(self, parents: Sequence[Schedule], strength: float) -> Iterator[Schedule | None]:
        ways = {
            "mutated": 30,
            "crossed": 15,
            "between": 15,
            "distributed": 5,
            "varied": 20,
            "regrafted": 10,
            "reshaped": 10,
        }
        immigrants = self._immigrants()
        while True:
            if self._rng.random() < _IMMIGRANTS:
                yield next(immigrants)
                continue
            (way,) = self._rng.choices(list(ways), list(ways.values()))
            first, second = self._rng.choice(parents), self._rng.choice(parents)
            try:
                if way == "varied":
                    yield self._varied(first)
                elif way == "regrafted":
                    yield self._inheriting(_order(first), second)
                elif way == "reshaped":
                    yield self._walks.completed(_order(first))
                else:
                    yield self._of_matrices(way, first, second, strength)
            except (NotApplicable, Unsampled, QuotaExceeded):
                yield None

    def _of_matrices(self, way: str, first: Schedule, second: Schedule, strength: float) -> Schedule | None:
        """A child by that method of `Breeder`; by free steps where there are no matrices."""
        breeder, one, other = self._breeder, self._matrix(first), self._matrix(second)
        if breeder is None or one is None or other is None:
            return self._walked(first, strength)
        match way:
            case "mutated":
                matrix = breeder.mutated(one, strength)
            case "distributed":
                matrix = breeder.distributed(one)
            case "crossed":
                matrix = breeder.crossed(one, other)
            case _:
                matrix = breeder.between(one, other)
        return self._grown(matrix, first)

    def _varied(self, parent: Schedule) -> Schedule | None:
        """One decision about tiles, parallel loops or order made in another way."""
        found = list(islice(variations(self.space, parent), _VARIATIONS))
        return self._rng.choice(found) if found else None

    def _walked(self, parent: Schedule, strength: float) -> Schedule:
        """Without a matrix the order changes by fusions, interchanges, reversals and skews."""
        steps = max(1, round(strength * _WALK))
        return self._inheriting(free_sequence(self.space, self._rng, _order(parent), steps), parent)

    def _immigrants(self) -> Iterator[Schedule | None]:
        """Samples as long as there are new ones, then free sequences."""
        bases = self.space.normalized_structures()
        samples = self._samples
        while True:
            try:
                found = samples.next(self._expired) if samples is not None else None
            except (Unsampled, QuotaExceeded):
                found = samples = None
            try:
                if found is None:
                    steps = self._rng.randint(0, _WALK)
                    yield self._walks.completed(free_sequence(self.space, self._rng, self._rng.choice(bases), steps))
                else:
                    yield self._drawn((found,)) if self.space.legal((found,)) else None
            except (NotApplicable, QuotaExceeded):
                yield None

    # ------------------------------------------------------------------------------- matrices

    def _matrix(self, schedule: Schedule) -> Matrix | None:
        """What orders the instances of a schedule before its tiles and marks; None where no matrix says it."""
        order = _order(schedule)
        if order not in self._matrices:
            try:
                self._matrices[order] = matrix_of(time_maps(self.space.replayer.tree(order)))
            except NotApplicable:
                self._matrices[order] = None
        return self._matrices[order]

    def _grown(self, matrix: Matrix, parent: Schedule) -> Schedule | None:
        assert self._samples is not None
        base: Schedule = (self._samples.step(matrix),)
        if not self.space.legal(base):
            return base  # refused and counted where everything is
        if self._rng.random() < _INHERITED:
            return self._inheriting(base, parent)
        return self._drawn(base)

    def _drawn(self, base: Schedule) -> Schedule:
        """A legal order in its own loop order, or, for the most part, in others and in tiles."""
        plain, shaped = self.completed(base)
        return shaped if self._rng.random() < _SHAPED else plain

    def _inheriting(self, base: Schedule, parent: Schedule) -> Schedule:
        """A legal order with those tiles and marks of a parent that fit it, and marks where none are left."""
        found = base
        for step in parent[len(_order(parent)) :]:
            longer = (*found, step)
            try:
                if self.space.legal(longer):
                    found = longer
            except SchedulerError:
                continue
        return found if len(found) > len(base) else self._marked(found)


def _order(schedule: Schedule) -> Schedule:
    """The steps that a schedule begins with and that a matrix can say."""
    count = next((k for k, step in enumerate(schedule) if not isinstance(step, AFFINE)), len(schedule))
    return schedule[:count]
