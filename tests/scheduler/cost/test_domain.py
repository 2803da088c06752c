"""Sampled domains against counted ones."""

import pytest

from scheduler.cost.domain import sample_domain
from scheduler.polyhedral.model import Model
from tests.scheduler import nests

GUARDED = """nest guarded {
  param n: int in [1, ?];
  array A: double[n][n];
  for i: int in [0, n) step 1 {
    for j: int in [0, n) step 2 {
      if (i - j - 1 >= 0) { S0: A[i][j] = 1.0; }
      if (i - j == 0) { S1: A[i][j] = 2.0; }
      if ((i) % 4 == 0) { S2: A[i][j] += 1.0; }
    }
  }
}"""


def domain(text: str, statement: str, **parameters: int):  # type: ignore[no-untyped-def]
    return sample_domain(Model(nests.nest(text)).placed[statement], parameters)


def test_boxes_are_exact() -> None:
    found = domain(nests.GEMM, "S1", n=100, m=70, l=30)
    assert found.instances == pytest.approx(100 * 70 * 30)
    assert found.trips.tolist() == pytest.approx([100, 70, 30]) and found.ranges.tolist() == [100, 70, 30]
    assert not found.uneven and not found.opaque


def test_triangles_are_estimated_without_bias() -> None:
    n = 200
    found = domain(nests.CHOLESKY, "S0", n=n)  # j < i, k < j
    exact = sum(j for i in range(n) for j in range(i))
    assert found.instances == pytest.approx(exact, rel=0.05)
    assert found.trips.tolist() == pytest.approx([n, (n - 1) / 2, exact / (n * (n - 1) / 2)], rel=0.08)
    assert found.ranges.tolist() == pytest.approx([n, n - 1, n - 2], rel=0.03)
    assert found.uneven and found.depends.tolist() == [[False] * 3, [True, False, False], [False, True, False]]


def test_steps_and_conditions() -> None:
    n = 100
    assert domain(GUARDED, "S0", n=n).instances == pytest.approx(sum(len(range(0, i, 2)) for i in range(n)), rel=0.1)
    assert domain(GUARDED, "S1", n=n).instances == pytest.approx(n / 2, rel=0.6)
    assert domain(GUARDED, "S2", n=n).instances == pytest.approx(n * n / 8, rel=1e-6)
    assert domain(GUARDED, "S0", n=n).ranges.tolist() == pytest.approx([100, 50], abs=2)


def test_data_dependent_bounds_and_unknown_parameters_have_defaults() -> None:
    found = domain(nests.SPMM, "S0", n=50, m=8)
    assert found.opaque and found.instances == pytest.approx(50 * 16 * 8)
    assert domain(nests.GEMM, "S0").instances == pytest.approx(1e6)


def test_a_domain_that_is_empty_has_no_instances() -> None:
    found = domain(nests.JACOBI, "S0", T=5, n=2)
    assert found.instances == 0 and (found.ranges >= 1).all()
