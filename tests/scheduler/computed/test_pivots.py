"""Loops split around pivots: parallel then, and the same results, bit for bit."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from scheduler.computed.pivots import pivots
from scheduler.ir.nest import LoopNest, Storage
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import Parallelize, Split
from tests.scheduler import nests
from tests.scheduler.codegen.support import check_same, with_storage

PATHS = """nest paths {
  param n: int in [1, ?];
  array D: double[n][n];
  for k: int in [0, n) step 1 {
    for i: int in [0, n) step 1 {
      for j: int in [0, n) step 1 { S0: D[i][j] = D[i][j] < D[i][k] + D[k][j] ? D[i][j] : D[i][k] + D[k][j]; }
    }
  }
}"""
# What is subtracted is a multiple of a row two places behind the pivot.
SHIFTED = """nest shifted {
  param n: int in [1, ?];
  array A: double[n + 2][n];
  for k: int in [0, n) step 1 {
    for i: int in [0, n + 2) step 1 {
      for j: int in [0, n) step 1 { S0: A[i][j] -= 0.001 * A[k + 2][j]; }
    }
  }
}"""


def proposed(text: str, threads: int = 2) -> tuple[Schedule, ...]:
    return pivots(Space(Replayer(nests.nest(text)), Target(threads), {"n": 1000}))


@pytest.mark.gcc
@pytest.mark.parametrize("text", [PATHS, SHIFTED])
def test_loops_are_parallel_around_the_pivot(tmp_path: Path, text: str) -> None:
    nest = nests.nest(text)
    nest = with_storage(nest, **{array.name: Storage.RESTRICT for array in nest.arrays})
    found = proposed(text)
    assert found and all(isinstance(schedule[0], Split) for schedule in found)
    for schedule in found:
        assert sum(isinstance(step, Parallelize) for step in schedule) >= 2
        sizes = ({"n": n} for n in (1, 2, 17, 40))
        check_same(tmp_path, nest, format_schedule(schedule), *sizes, data=partial(positive, nest))


def positive(nest: LoopNest, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    (array,) = nest.arrays
    shape = [extent.evaluate(sizes) for extent in array.shape if extent is not None]
    return {array.name: np.random.default_rng(sizes["n"]).uniform(1.0, 9.0, shape)}


@pytest.mark.parametrize("text", [nests.GEMM, nests.JACOBI, nests.SEIDEL, nests.LU, nests.CHOLESKY])
def test_nests_without_a_pivot_are_left_to_others(text: str) -> None:
    assert proposed(text) == ()


def test_one_thread_needs_none() -> None:
    assert proposed(PATHS, threads=1) == ()
