"""Sampling: the same for the same seed, only legal schedules, no tree twice, tiles, marks, an end in small spaces."""

import random

import pytest

from scheduler.ir.tree import tree_loops
from scheduler.machine.target import Target
from scheduler.matrices.sample import MatrixSampler, Unsampled
from scheduler.moves.space import Space
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.search import make_search
from scheduler.search.explorer import SearchResult
from scheduler.search.sampling import Samples
from tests.scheduler import nests

PARAMETERS = {"n": 1000, "m": 1000, "l": 1000, "T": 100}


def search(nest: str, seed: int, limit: int = 30) -> tuple[SearchResult, list[ScheduledNest]]:
    seen: list[ScheduledNest] = []

    def evaluate(schedules: list[ScheduledNest]) -> list[float | None]:
        seen.extend(schedules)
        return [1.0] * len(schedules)

    space = Space(Replayer(nests.nest(nest)), Target(threads=2), PARAMETERS)
    found = make_search("sample", space, evaluate, seed=seed, limit=limit, expired=lambda: False)
    return found.run(), seen


@pytest.mark.campaign
@pytest.mark.parametrize("nest", [nests.GEMM, nests.JACOBI, nests.COVARIANCE, nests.CHOLESKY])
def test_repeatable_legal_and_various(nest: str) -> None:
    result, seen = search(nest, 1)
    texts = [format_schedule(s.schedule) for s in seen]
    assert texts == [format_schedule(s.schedule) for s in search(nest, 1)[1]]
    assert texts != [format_schedule(s.schedule) for s in search(nest, 2)[1]]
    assert len({s.tree for s in seen}) == len(seen) == result.evaluated <= 30
    assert all(parse_schedule(text) == s.schedule for text, s in zip(texts, seen, strict=True))
    assert seen[0].schedule == () and sum("reschedule" in text for text in texts) >= 20
    assert any(loop.parallel for s in seen for loop in tree_loops(s.tree))


def test_permutable_bands_are_tiled() -> None:
    assert any(loop.tile for s in search(nests.GEMM, 1)[1] for loop in tree_loops(s.tree))
    wavefronts = [s for s in search(nests.SEIDEL, 1)[1] if "skew" in format_schedule(s.schedule)]
    assert any(loop.tile and loop.parallel for s in wavefronts for loop in tree_loops(s.tree))


def test_a_small_space_ends() -> None:
    text = """nest tiny { array a: double[3]; for i: int in [0, 3) step 1 { S0: a[i] = 1.0; } }"""
    result, seen = search(text, 1, limit=10_000)
    assert result.complete and 1 <= len(seen) < 12


def test_time_that_is_up_ends_it_between_samples() -> None:
    space = Space(Replayer(nests.nest(nests.GEMM)), Target(threads=2), PARAMETERS)
    asked: list[int] = []

    def expired() -> bool:
        asked.append(1)
        return len(asked) > 10

    found = make_search("sample", space, lambda some: [1.0] * len(some), seed=1, limit=None, expired=expired).run()
    assert not found.complete and 1 <= found.evaluated <= 8 and len(asked) == 11


def test_where_nothing_can_be_drawn() -> None:
    space = Space(Replayer(nests.nest(nests.SPMM)), Target(threads=2), PARAMETERS)
    seen: list[object] = []

    def evaluate(schedules: list[ScheduledNest]) -> list[float | None]:
        seen.extend(schedules)
        return [1.0] * len(schedules)

    found = make_search("sample", space, evaluate, seed=1, limit=9, expired=lambda: False)
    with pytest.raises(Unsampled, match="data-dependent bounds"):
        found.run()
    assert seen and found.result(False).ranked


def test_samples_that_fail_are_left_out_until_nothing_else_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = Samples(Space(Replayer(nests.nest(nests.GEMM)), Target(threads=2), PARAMETERS), random.Random(1))
    drawn, calls = MatrixSampler.sample, []

    def fails(self: MatrixSampler, outer_parallel: bool = False) -> object:
        calls.append(1)
        if len(calls) % 3:
            raise QuotaExceeded("too long")
        return drawn(self, outer_parallel)

    monkeypatch.setattr(MatrixSampler, "sample", fails)
    assert samples.next() is not None and samples.next() is not None
    monkeypatch.setattr(MatrixSampler, "sample", _none)
    with pytest.raises(Unsampled):
        samples.next()


def _none(self: MatrixSampler, outer_parallel: bool = False) -> object:
    raise Unsampled("none")
