"""Random search: the same for the same seed, only legal schedules, no repetition, a limit that holds."""

import pytest

from scheduler.ir.tree import tree_loops
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule
from scheduler.search import make_search
from scheduler.search.explorer import SearchResult
from tests.scheduler import nests

pytestmark = pytest.mark.gcc

PARAMETERS = {"n": 1000, "m": 1000, "l": 1000, "T": 100}


def search(nest: str, seed: int, limit: int = 40) -> tuple[SearchResult, list[ScheduledNest]]:
    seen: list[ScheduledNest] = []

    def evaluate(schedules: list[ScheduledNest]) -> list[float | None]:
        seen.extend(schedules)
        return [1.0] * len(schedules)

    space = Space(Replayer(nests.nest(nest)), Target(threads=2), PARAMETERS)
    found = make_search("random", space, evaluate, seed=seed, limit=limit, expired=lambda: False)
    return found.run(), seen


@pytest.mark.parametrize("nest", [nests.GEMM, nests.JACOBI, nests.COVARIANCE, nests.CHOLESKY])
def test_repeatable_legal_and_various(nest: str) -> None:
    result, seen = search(nest, 1)
    assert [format_schedule(s.schedule) for s in seen] == [format_schedule(s.schedule) for s in search(nest, 1)[1]]
    assert [s.tree for s in seen] != [s.tree for s in search(nest, 2)[1]]
    assert len({s.tree for s in seen}) == len(seen) == result.evaluated <= 40
    assert any(loop.tile for s in seen for loop in tree_loops(s.tree))
    assert any(loop.parallel for s in seen for loop in tree_loops(s.tree))


def test_a_small_space_ends() -> None:
    text = """nest tiny {
      array a: double[3];
      for i: int in [0, 3) step 1 { S0: a[i] = 1.0; }
    }"""
    result, seen = search(text, 1, limit=10_000)
    assert result.complete and 1 <= len(seen) < 60
