"""Tree search and exhaustive search on pretended times."""

from collections.abc import Mapping, Sequence

import pytest

from scheduler.ir.tree import tree_loops
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.search import make_search
from scheduler.search.explorer import SearchResult
from scheduler.search.mcts import Mcts
from tests.scheduler import nests
from tests.scheduler.search.test_beam import PARAMETERS, pretended_seconds

PAIR = """nest pair {
  param n: int in [1, ?];
  array A: double[n][n];
  array B: double[n][n];
  for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { S0: A[i][j] = B[j][i] * 2.0; } }
}"""


TINY = {"n": 12}  # too small for tiles


def search(
    name: str, nest: str, limit: int | None, seed: int = 0, parameters: Mapping[str, int] = PARAMETERS
) -> tuple[SearchResult, list[str]]:
    seen: list[str] = []

    def evaluate(schedules: list[ScheduledNest]) -> list[float | None]:
        seen.extend(format_schedule(s.schedule) for s in schedules)
        return [pretended_seconds(s) for s in schedules]

    space = Space(Replayer(nests.nest(nest)), Target(threads=2), parameters)
    return make_search(name, space, evaluate, seed=seed, limit=limit, expired=lambda: False).run(), seen


@pytest.mark.gcc
def test_tree_search_meets_all_that_there_is() -> None:
    """On a small tree both end by themselves, with the same schedules and so the same best."""
    everything, _ = search("exhaustive", PAIR, None, parameters=TINY)
    found, _ = search("mcts", PAIR, None, parameters=TINY)
    assert everything.complete and found.complete
    assert {c.scheduled.tree for c in found.ranked} == {c.scheduled.tree for c in everything.ranked}
    assert len(everything.ranked) > 20


@pytest.mark.gcc
def test_a_short_clock_ends_with_something_known_however_large_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, legal = [0], Space.legal

    def counted(space: Space, schedule: Schedule) -> bool:
        asked[0] += 1
        return legal(space, schedule)

    monkeypatch.setattr(Space, "legal", counted)
    space = Space(Replayer(nests.nest(nests.GEMM)), Target(threads=2), PARAMETERS)

    def evaluate(schedules: Sequence[ScheduledNest]) -> list[float | None]:
        return [pretended_seconds(s) for s in schedules]

    found = Mcts(space, evaluate, seed=0, batch=64, expired=lambda: asked[0] > 200).run()
    assert not found.complete and len(found.ranked) >= 8
    assert asked[0] < 250  # walks ask the clock, too


@pytest.mark.gcc
def test_free_sequences_and_all_parallel_loops_are_met() -> None:
    _, seen = search("exhaustive", PAIR, None, parameters=TINY)
    assert any("reverse(i)" in one and "reverse(j)" in one and "interchange(i, j)" in one for one in seen)
    assert {"parallelize(i)", "parallelize(j)"} <= {one.split("; ")[0] for one in seen}
    assert {f"unroll(j, {factor})" for factor in (4, 8, 16)} <= {step for one in seen for step in one.split("; ")}


@pytest.mark.gcc
def test_tile_sizes_are_chosen_for_each_loop_and_in_two_levels() -> None:
    _, seen = search("mcts", nests.GEMM, 400)
    tiles = {step for one in seen for step in one.split("; ") if step.startswith("tile(")}
    sizes = {tuple(map(int, tile.partition("], [")[2].rstrip("])").split(", "))) for tile in tiles}
    assert len(sizes) > 20
    assert any(one.count("tile([j, k") > 1 or one.count("tile([i, j") > 1 for one in seen)


@pytest.mark.gcc
def test_goes_where_it_was_good() -> None:
    """Schedules with register blocks are ten times as fast: more of them are drawn than where all are equally fast."""

    def share(seconds_of_good: float) -> float:
        good: list[bool] = []

        def evaluate(schedules: list[ScheduledNest]) -> list[float | None]:
            found = ["register_block" in format_schedule(s.schedule) for s in schedules]
            good.extend(found)
            return [seconds_of_good if one else 1.0 for one in found]

        for seed in range(3):
            space = Space(replayer, Target(threads=2), PARAMETERS)
            make_search("mcts", space, evaluate, seed=seed, limit=100, expired=lambda: False).run()
        return sum(good) / len(good)

    replayer = Replayer(nests.nest(nests.COVARIANCE))
    assert share(0.1) > share(1.0) > share(10.0)


@pytest.mark.gcc
def test_the_same_for_the_same_seed_and_within_the_limit() -> None:
    result, seen = search("mcts", nests.GEMM, 30, 5)
    assert seen == search("mcts", nests.GEMM, 30, 5)[1]
    assert len(seen) == len(set(seen)) == result.evaluated == 30
    assert any(loop.parallel for c in result.ranked for loop in tree_loops(c.scheduled.tree))


def test_unknown_search() -> None:
    with pytest.raises(ValueError, match="no search is called 'best': expected beam, mcts, random, exhaustive, sample"):
        search("best", PAIR, 1)
