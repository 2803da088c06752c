"""Sampled matrices: legal, separating, various, the same for the same seed; parallel outside where that is asked."""

import random

import pytest

from scheduler.matrices.sample import MatrixSampler, Unsampled
from scheduler.matrices.tree import Simplifier
from scheduler.polyhedral import generators
from scheduler.replay import Replayer, ScheduledNest
from scheduler.transform.reschedule import rank
from tests.scheduler import nests

SOME = {
    "gemm": nests.GEMM, "jacobi": nests.JACOBI, "cholesky": nests.CHOLESKY, "lu": nests.LU, "blur": nests.BLUR,
    "covariance": nests.COVARIANCE, "seidel": nests.SEIDEL, "private": nests.PRIVATE,
}  # fmt: skip


def sampler(text: str, seed: int = 0) -> tuple[Replayer, MatrixSampler]:
    replayer = Replayer(nests.nest(text))
    binding = [d for d in replayer.dependences if not replayer.checker.relaxed(d)]
    return replayer, MatrixSampler(replayer.model, binding, random.Random(seed))


@pytest.mark.parametrize("name", SOME)
def test_every_sample_is_legal_and_separates_iterations(name: str) -> None:
    replayer, drawn = sampler(SOME[name])
    simplifier = Simplifier(replayer.model, drawn.pairs, drawn.space)
    seen = set()
    for number in range(25):
        matrix = drawn.sample(number % 2 == 0)
        for statement, iterators in drawn.space.iterators.items():
            assert rank([[row[statement].coefficient(i) for i in iterators] for row in matrix]) == len(iterators)
        tree = simplifier.tree(matrix)
        assert isinstance(replayer.replay((tree,)), ScheduledNest), str(tree)
        seen.add(tree)
    assert len(seen) > 8


def test_repeatable() -> None:
    matrices = [[sampler(nests.CHOLESKY, seed)[1].sample() for _ in range(2)] for seed in (1, 1, 2)]
    assert matrices[0] == matrices[1] != matrices[2]


def test_an_outer_parallel_row() -> None:
    replayer, drawn = sampler(nests.LU.replace("for k: int in [0, n)", "for k: int in [0, 1)"))
    for _ in range(10):
        matrix = drawn.sample(outer_parallel=True)
        first = next(row for row in matrix if not all(expression.is_constant for _, expression in row.of))
        assert all(drawn.space.left(one, first) for one in drawn.pairs)
    assert replayer.dependences


def test_without_any_dependence_left_iterations_are_separated() -> None:
    _, drawn = sampler("""nest free { param n: int in [1, ?]; array A: double[n][n];
      for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { S0: A[i][j] = 1.0; } } }""")
    assert not drawn.pairs
    assert len({drawn.sample() for _ in range(40)}) > 4


@pytest.mark.parametrize("name", ["jacobi", "cholesky", "covariance"])
def test_with_too_many_generators_loops_stay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "MOST_WORK", 0)
    replayer, drawn = sampler(SOME[name])
    for number in range(10):
        matrix = drawn.sample(number % 2 == 0)
        tree = Simplifier(replayer.model, drawn.pairs).tree(matrix)
        assert isinstance(replayer.replay((tree,)), ScheduledNest), str(tree)


def test_data_dependent_bounds() -> None:
    with pytest.raises(Unsampled, match="loop p around statement S0 has data-dependent bounds"):
        sampler(nests.SPMM)
