"""Beam search with the evaluation injected: no compiler, no clock."""

import random
from collections.abc import Sequence

import pytest

from scheduler.ir.tree import tree_loops
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.search.beam import Beam
from scheduler.search.explorer import Evaluate, SearchResult, SearchStopped
from scheduler.search.neighbours import neighbours
from tests.scheduler import nests

PARAMETERS = {"n": 1000, "m": 1000, "l": 1000, "T": 100, "h": 1000, "w": 1000}


def pretended_seconds(scheduled: ScheduledNest) -> float:
    """Every good mark makes the nest faster, every loop a little slower."""
    loops = list(tree_loops(scheduled.tree))
    good = sum(bool(x.parallel) + x.vector + 4 * bool(x.register) + len(x.packs) for x in loops)
    return 100.0 / (1 + good) + 0.01 * len(loops)


def search(nest: str, limit: int = 10_000) -> tuple[SearchResult, list[str]]:
    seen: list[str] = []

    def evaluate(schedules: Sequence[ScheduledNest]) -> list[float | None]:
        if len(seen) >= limit:
            raise SearchStopped
        seen.extend(format_schedule(s.schedule) for s in schedules)
        return [pretended_seconds(s) for s in schedules]

    space = Space(Replayer(nests.nest(nest)), Target(threads=2), PARAMETERS)
    return Beam(space, evaluate).run(), seen


def at_random(rng: random.Random) -> Evaluate:
    return lambda schedules: [rng.random() for _ in schedules]


@pytest.mark.gcc
def test_finds_the_blocked_packed_matmul() -> None:
    result, _ = search(nests.GEMM)
    best = result.ranked[0].scheduled
    loops = list(tree_loops(best.tree))
    assert any(x.register for x in loops)
    assert {mark.array for x in loops for mark in x.packs} == {"A", "B"}
    assert any(x.parallel for x in loops)


@pytest.mark.gcc
def test_blocks_for_registers_come_first_and_only_where_something_is_used_again() -> None:
    assert all("register_block" in schedule for schedule in search(nests.GEMM, 4)[1])
    assert not any("register_block" in schedule for schedule in search(nests.JACOBI, 12)[1])


@pytest.mark.gcc
def test_finds_the_wavefront_of_a_time_tiled_stencil() -> None:
    _, seen = search(nests.JACOBI)
    assert any("skew(t_t" in schedule and "parallelize(t_t)" in schedule for schedule in seen)


def test_finds_the_spmm_interchange() -> None:
    _, seen = search(nests.SPMM)
    assert any(schedule.startswith("interchange(p, j)") for schedule in seen)


@pytest.mark.gcc
@pytest.mark.parametrize("nest", [nests.GEMM, nests.JACOBI, nests.COVARIANCE, nests.CHOLESKY, nests.PRIVATE])
def test_deterministic_and_without_repetition(nest: str) -> None:
    first, again = search(nest), search(nest)
    assert first[1] == again[1]
    assert len(set(first[1])) == len(first[1])
    replayer = Replayer(nests.nest(nest))
    for candidate in first[0].ranked[:10]:
        replayed = replayer.replay(parse_schedule(format_schedule(candidate.scheduled.schedule)))
        assert isinstance(replayed, ScheduledNest)
        assert replayed.tree == candidate.scheduled.tree


@pytest.mark.gcc
def test_a_spent_budget_keeps_the_best_so_far() -> None:
    result, seen = search(nests.GEMM, limit=8)
    assert not result.complete
    assert len(seen) == len(result.ranked) == result.evaluated
    assert result.ranked[0].seconds == min(c.seconds for c in result.ranked)


@pytest.mark.gcc
def test_failures_are_not_ranked() -> None:
    space = Space(Replayer(nests.nest(nests.GEMM)), Target(threads=2), PARAMETERS)
    result = Beam(space, lambda schedules: [None] * len(schedules)).run()
    assert result.ranked == ()
    assert result.evaluated > 0


@pytest.mark.gcc
@pytest.mark.parametrize("width", [3, 8])
@pytest.mark.parametrize("nest", [nests.BLUR, nests.COVARIANCE, nests.JACOBI, nests.PRIVATE])
def test_whatever_turns_out_fast_the_search_goes_on(nest: str, width: int) -> None:
    replayer = Replayer(nests.nest(nest))
    for seed in range(2):
        space = Space(replayer, Target(threads=2), PARAMETERS)
        result = Beam(space, at_random(random.Random(seed)), width=width).run()
        assert result.complete and result.ranked
        for candidate in result.ranked[:4]:
            near = neighbours(space, candidate.scheduled, limit=4)
            assert all(isinstance(replayer.replay(n.schedule), ScheduledNest) for n in near)


def test_shortest_keeps_the_tree() -> None:
    replayer = Replayer(nests.nest(nests.GEMM))
    long = parse_schedule(
        "distribute(i, 1); interchange(j, k); interchange(k, j); interchange(j, k); reverse(j0); reverse(j0)"
    )
    short = replayer.shortest(long)
    assert replayer.tree(short) == replayer.tree(long)
    assert format_schedule(short) == "distribute(i, 1); interchange(j, k)"
