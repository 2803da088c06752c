"""Blocked forms of factorizations: what is proposed is legal and computes the same, bit for bit."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from scheduler.computed.factorization import factorizations
from scheduler.ir.nest import LoopNest, Storage
from scheduler.machine.target import Core, Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import Pack, RegisterBlock, Split
from tests.scheduler import nests
from tests.scheduler.codegen.support import check_same, with_storage

CROUT = """nest crout {
  param n: int in [1, ?];
  array A: double[n][n];
  for i: int in [0, n) step 1 {
    for j: int in [0, i) step 1 {
      for k: int in [0, j) step 1 { S0: A[i][j] -= A[i][k] * A[k][j]; }
      S1: A[i][j] /= A[j][j];
    }
    for j2: int in [i, n) step 1 {
      for k2: int in [0, i) step 1 { S2: A[i][j2] -= A[i][k2] * A[k2][j2]; }
    }
  }
}"""
SOLVE = """nest solve {
  param n: int in [1, ?]; param m: int in [1, ?];
  array L: double[n][n]; array B: double[n][m];
  for i: int in [0, n) step 1 {
    for j: int in [0, m) step 1 {
      for k: int in [0, i) step 1 { S0: B[i][j] -= L[i][k] * B[k][j]; }
      S1: B[i][j] /= L[i][i];
    }
  }
}"""
FACTORIZATIONS = {"lu": nests.LU, "cholesky": nests.CHOLESKY, "crout": CROUT, "solve": SOLVE}
SIZES = (1, 47, 48, 49, 131)


def proposed(text: str, target: Target) -> tuple[Schedule, ...]:
    return factorizations(Space(Replayer(nests.nest(text)), target, {"n": 2000, "m": 1000, "l": 800}))


def well_conditioned(nest: LoopNest, parameters: Mapping[str, int]) -> dict[str, np.ndarray]:
    n = parameters["n"]
    rng = np.random.default_rng(n)
    data = {}
    for array in nest.arrays:
        shape = [extent.evaluate(parameters) for extent in array.shape if extent is not None]
        values = rng.standard_normal(shape)
        data[array.name] = values + values.T + 4 * n * np.eye(n)
    return data


@pytest.mark.gcc
@pytest.mark.parametrize("name", FACTORIZATIONS)
@pytest.mark.parametrize("width", [0, 64])
def test_blocked_forms_compute_the_same(tmp_path: Path, name: str, width: int) -> None:
    nest = nests.nest(FACTORIZATIONS[name])
    nest = with_storage(nest, **{array.name: Storage.RESTRICT for array in nest.arrays})
    target = Target(2, core=Core(registers=((64, 32), (32, 16))))
    found = [s for s in proposed(FACTORIZATIONS[name], target) if any(_width(step) == width for step in s)]
    assert len(found) >= 2 and all(isinstance(schedule[0], Split) for schedule in found)
    assert any(isinstance(step, Pack) for schedule in found for step in schedule)
    for schedule in (found[0], found[-1]):
        sizes = ({"n": n, "m": n} for n in SIZES)
        text = check_same(tmp_path, nest, format_schedule(schedule), *sizes, data=partial(well_conditioned, nest))
        assert "pe_v" in text


def _width(step: object) -> int:
    return step.vector_bytes if isinstance(step, RegisterBlock) else -1


@pytest.mark.parametrize("text", [nests.GEMM, nests.JACOBI])
def test_what_no_diagonal_holds_up_is_left_to_others(text: str) -> None:
    assert proposed(text, Target(2)) == ()


def test_short_loops_are_left_alone() -> None:
    assert factorizations(Space(Replayer(nests.nest(nests.LU)), Target(2), {"n": 100})) == ()
