"""The genetic algorithm on pretended times: repeatable, legal, converging, better with time, guarded."""

from collections.abc import Callable

import pytest

from scheduler.ir.tree import tree_loops
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.search import make_search
from scheduler.search.explorer import SearchResult
from scheduler.search.genetic import Genetic
from tests.scheduler import nests
from tests.scheduler.search.test_beam import PARAMETERS, pretended_seconds


class Watched:
    def __init__(self, text: str, seconds: Callable[[ScheduledNest], float | None] = pretended_seconds) -> None:
        self.space = Space(Replayer(nests.nest(text)), Target(threads=2), PARAMETERS)
        self.seen: list[ScheduledNest] = []
        self.seconds = seconds

    def evaluate(self, schedules: list[ScheduledNest]) -> list[float | None]:
        self.seen.extend(schedules)
        return [self.seconds(s) for s in schedules]

    def search(self, name: str = "genetic", limit: int | None = 48, seed: int = 1, **more: object) -> SearchResult:
        found = make_search(
            name,
            self.space,
            self.evaluate,
            seed=seed,
            limit=limit,
            expired=lambda: False,
            **more,  # type: ignore[arg-type]
        )
        return found.run()


@pytest.mark.gcc
@pytest.mark.parametrize("nest", [nests.GEMM, nests.JACOBI, nests.CHOLESKY])
def test_repeatable_legal_and_various(nest: str) -> None:
    first, second = Watched(nest), Watched(nest)
    result = first.search()
    second.search()
    texts = [format_schedule(s.schedule) for s in first.seen]
    assert texts == [format_schedule(s.schedule) for s in second.seen]
    assert len({s.tree for s in first.seen}) == len(first.seen) == result.evaluated <= 48
    replayer = first.space.replayer
    assert all(isinstance(replayer.replay(parse_schedule(text)), ScheduledNest) for text in texts)
    assert any("reschedule" in text for text in texts)


@pytest.mark.gcc
def test_it_ends_when_nothing_is_gained() -> None:
    watched = Watched(nests.GEMM, lambda scheduled: 1.0)
    search = Genetic(watched.space, watched.evaluate, seed=1, population=12)
    assert search.run().complete and search.generation == 8


@pytest.mark.gcc
def test_it_ends_after_so_many_generations() -> None:
    best = [1.0]

    def always_better(scheduled: ScheduledNest) -> float:
        best[0] *= 0.99
        return best[0]

    watched = Watched(nests.GEMM, always_better)
    search = Genetic(watched.space, watched.evaluate, seed=1, population=8, generations=12)
    assert search.run().complete and search.generation == 12


@pytest.mark.gcc
def test_the_better_half_has_children() -> None:
    """Times that only reward a reversed loop: later generations have more of them than samples do."""

    def reward(scheduled: ScheduledNest) -> float:
        rows = [row for loop in tree_loops(scheduled.tree) for _, row in loop.rows]
        return 1.0 / (1 + sum(c < 0 for row in rows for _, c in row.terms))

    watched = Watched(nests.GEMM, reward)
    watched.search(limit=120)
    half = len(watched.seen) // 2
    early, late = (sum(map(reward, part)) / len(part) for part in (watched.seen[:half], watched.seen[half:]))
    assert late < early


@pytest.mark.gcc
def test_a_guard_saves_evaluations() -> None:
    def untiled(scheduled: ScheduledNest) -> bool:
        return not any(loop.tile for loop in tree_loops(scheduled.tree))

    plain, guarded = Watched(nests.COVARIANCE), Watched(nests.COVARIANCE)
    everything = plain.search(limit=60)
    found = guarded.search(limit=60, accepts=untiled)
    assert everything.rejected == 0 < found.rejected
    assert found.evaluated + found.rejected <= 60 + 10  # what its last generation had rejected
    known = Watched(nests.COVARIANCE).space.structures()
    others = [s for s in guarded.seen if not untiled(s)]
    assert len(others) <= 1 + 2 * len(known) + 6  # only what it begins with


@pytest.mark.gcc
def test_given_schedules_are_bred() -> None:
    watched = Watched(nests.GEMM)
    given = parse_schedule("interchange(j, k); tile([i, k], [32, 64]); parallelize(i_t)")
    search = Genetic(watched.space, watched.evaluate, seed=1, limit=60)
    if watched.space.legal(given):
        search.start([given])
    found = search.run()
    assert found.evaluated <= 60 and len(watched.seen) == found.evaluated


def test_nests_without_matrices_breed_steps() -> None:
    watched = Watched(nests.SPMM)
    result = watched.search(limit=40)
    assert result.evaluated > 5
    assert not any("reschedule" in format_schedule(s.schedule) for s in watched.seen)


@pytest.mark.gcc
def test_time_that_is_up_ends_it() -> None:
    watched = Watched(nests.GEMM)
    asked: list[int] = []

    def expired() -> bool:
        asked.append(1)
        return len(asked) > 30

    found = make_search("genetic", watched.space, watched.evaluate, seed=1, limit=None, expired=expired).run()
    assert not found.complete and found.evaluated <= 30


@pytest.mark.gcc
def test_failed_candidates_have_no_children() -> None:
    def sometimes(scheduled: ScheduledNest) -> float | None:
        return None if any(loop.vector for loop in tree_loops(scheduled.tree)) else 1.0

    result = Watched(nests.JACOBI, sometimes).search(limit=60)
    assert all(not any(loop.vector for loop in tree_loops(c.scheduled.tree)) for c in result.ranked)


@pytest.mark.gcc
def test_structures_of_isl_are_completed() -> None:
    watched = Watched(nests.COVARIANCE)
    result = watched.search("isl", limit=40)
    assert 1 < result.evaluated <= 40
    assert any("reschedule" in format_schedule(s.schedule) for s in watched.seen)
    assert any("tile" in format_schedule(s.schedule) for s in watched.seen)
