"""Products blocked from the machine alone: what is proposed is legal and computes the same."""

import random
from dataclasses import replace

import numpy as np
import pytest

from scheduler.computed.contraction import contractions
from scheduler.machine.target import Core, Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Pack, Parallelize, RegisterBlock, Tile
from tests.doubles.interpret import interpret, interpret_scheduled
from tests.scheduler import nests

WIDE = Target(2, core=Core(registers=((64, 32), (32, 16))))
SYRK = """nest syrk {
  param n: int in [1, ?]; param l: int in [1, ?];
  array A: double[n][l]; array C: double[n][n];
  for i: int in [0, n) step 1 { for j: int in [0, i + 1) step 1 { for k: int in [0, l) step 1 {
    S0: C[i][j] += A[i][k] * A[j][k];
  } } }
}"""
TRANSPOSED = """nest transposed {
  param n: int in [1, ?]; param m: int in [1, ?]; param l: int in [1, ?];
  array A: float[l][n]; array B: float[l][m]; array C: float[n][m];
  for i: int in [0, n) step 1 { for j: int in [0, m) step 1 { for k: int in [0, l) step 1 {
    S0: C[i][j] += A[k][i] * B[k][j];
  } } }
}"""
VECTOR = """nest vector {
  param n: int in [1, ?]; param m: int in [1, ?];
  array A: double[n][m]; array x: double[m]; array y: double[n];
  for i: int in [0, n) step 1 { for j: int in [0, m) step 1 { S0: y[i] += A[i][j] * x[j]; } }
}"""


def shrunk(schedule: Schedule) -> Schedule:
    """The same with blocks that a few iterations fill and leave a remainder of."""

    def small(step: object) -> object:
        match step:
            case Tile():
                return replace(step, sizes=tuple(8 if size > 16 else size for size in (8, 4, 6)[: len(step.sizes)]))
            case RegisterBlock():
                return replace(step, sizes=(3, 4))
            case Pack():
                return replace(step, panel=3 if step.panel in (6, 14) else 4)
        return step

    return tuple(map(small, schedule))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [nests.GEMM, SYRK, TRANSPOSED])
def test_each_width_gets_its_blocks_and_they_compute_the_same(text: str) -> None:
    replayer = Replayer(nests.nest(text))
    found = contractions(Space(replayer, WIDE, {"n": 900, "m": 1000, "l": 800}))
    widths = {s.vector_bytes for schedule in found for s in schedule if isinstance(s, RegisterBlock)}
    assert widths == {0, 64}
    for schedule in found:
        assert any(isinstance(s, Parallelize) for s in schedule) and any(isinstance(s, Pack) for s in schedule)
    sizes = {"n": 11, "m": 13, "l": 9}
    sizes = {p.name: sizes[p.name] for p in replayer.nest.parameters}
    rng = np.random.default_rng(0)
    inputs = {
        array.name: rng.uniform(size=tuple(e.evaluate(sizes) for e in array.shape if e is not None)).astype(
            np.float32 if array.ctype == "float" else np.float64
        )
        for array in replayer.nest.arrays
        if array.shape
    }
    expected = interpret(replayer.nest, sizes, inputs)
    for schedule in found:
        scheduled = replayer.replay(shrunk(schedule))
        assert isinstance(scheduled, ScheduledNest)
        result = interpret_scheduled(scheduled, sizes, inputs, parallel_order=random.Random(1))
        assert np.array_equal(result["C"], expected["C"])


@pytest.mark.parametrize("text", [VECTOR, nests.JACOBI, nests.SEIDEL])
def test_what_is_no_product_of_matrices_gets_none(text: str) -> None:
    assert contractions(Space(Replayer(nests.nest(text)), WIDE, {"n": 900, "m": 1000, "T": 10})) == ()


def test_small_products_get_none() -> None:
    assert contractions(Space(Replayer(nests.nest(nests.GEMM)), WIDE, {"n": 8, "m": 9, "l": 10})) == ()
