"""Tiled bands of nests that are not perfectly nested: statements beside loops are sunk into them."""

import random
from dataclasses import replace

import numpy as np
import pytest

from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop
from scheduler.machine.target import Target
from scheduler.moves.permutable import sink_into_band
from scheduler.moves.space import Space
from scheduler.moves.time_tiling import time_tiled
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Sink, Tile
from tests.doubles.interpret import interpret, interpret_scheduled
from tests.scheduler import nests

# A statement before the loop and one behind it, which the next time step needs.
BESIDE = """nest beside {
  param n: int in [2, ?];
  array A: double[n][n]; array s: double[n];
  for t: int in [1, n) step 1 {
    S0: s[t] = A[t - 1][0];
    for i: int in [0, n) step 1 { S1: A[t][i] = A[t - 1][i] + s[t]; }
    S2: A[t][0] += A[t][n - 1];
  }
}"""

# A boundary in a loop of its own, two fields that need each other: the shape of fdtd-2d.
FIELDS = """nest fields {
  param T: int in [1, ?]; param n: int in [2, ?];
  array E: double[n][n]; array H: double[n][n]; array s: double[T];
  for t: int in [0, T) step 1 {
    for b: int in [0, n) step 1 { S0: E[0][b] = s[t]; }
    for i: int in [1, n) step 1 {
      for j: int in [0, n) step 1 { S1: E[i][j] -= H[i][j] - H[i - 1][j]; }
    }
    for k: int in [0, n - 1) step 1 {
      for l: int in [0, n - 1) step 1 { S2: H[k][l] -= E[k + 1][l] - E[k][l] + E[k][l + 1]; }
    }
  }
}"""


def small(schedule: Schedule) -> Schedule:
    """The same with tiles that fit a nest of a few iterations; their ratio stays what the skew expects."""
    sizes = (2, 4, 3)
    return tuple(replace(s, sizes=sizes[: len(s.sizes)]) if isinstance(s, Tile) else s for s in schedule)


def test_cholesky_is_tiled_in_two_and_in_three_dimensions() -> None:
    replayer = Replayer(nests.nest(nests.CHOLESKY))
    found = list(time_tiled(Space(replayer, Target(2), {"n": 2000})))
    tiles = {step for schedule in found for step in schedule if isinstance(step, Tile)}
    assert {("i", "j"), ("i", "j", "k")} <= {tile.loops for tile in tiles}
    sunk = {step.statement for schedule in found for step in schedule if isinstance(step, Sink)}
    assert sunk == {"S1", "S2", "S3"}
    rng = np.random.default_rng(0)
    matrix = rng.uniform(size=(11, 11)) + 11 * np.eye(11)
    expected = interpret(replayer.nest, {"n": 11}, {"A": matrix})["A"]
    for schedule in found:
        if any(s.sizes[1] == 2 * s.sizes[0] for s in schedule if isinstance(s, Tile)):
            scheduled = replayer.replay(small(schedule))
            assert isinstance(scheduled, ScheduledNest)
            result = interpret_scheduled(scheduled, {"n": 11}, {"A": matrix}, parallel_order=random.Random(1))
            assert (result["A"] == expected).all()


def test_statements_before_and_behind_a_loop_are_sunk() -> None:
    replayer = Replayer(nests.nest(BESIDE))
    (time,) = replayer.tree(())
    assert isinstance(time, TreeLoop)
    schedule = sink_into_band(replayer, (), time, 1)
    assert schedule is not None and {step.statement for step in schedule if isinstance(step, Sink)} == {"S0", "S2"}
    scheduled = replayer.replay(schedule)
    assert isinstance(scheduled, ScheduledNest)
    arrays = {"A": np.random.default_rng(0).uniform(size=(6, 6)), "s": np.zeros(6)}
    expected = interpret(replayer.nest, {"n": 6}, arrays)
    result = interpret_scheduled(scheduled, {"n": 6}, arrays)
    assert all((result[name] == expected[name]).all() for name in expected)


@pytest.mark.parametrize("nest", [nests.GEMM, nests.JACOBI])
def test_without_statements_beside_loops_nothing_is_sunk(nest: str) -> None:
    space = Space(Replayer(nests.nest(nest)), Target(2), {"n": 2000})
    assert not any(isinstance(step, Sink) for schedule in time_tiled(space) for step in schedule)


def test_a_boundary_in_a_loop_of_its_own_becomes_part_of_the_band() -> None:
    replayer = Replayer(nests.nest(FIELDS))
    parameters = {"T": 9, "n": 13}
    found = [s for s in time_tiled(Space(replayer, Target(2), {"T": 100, "n": 2000})) if len(tiles(s)) == 3]
    assert found and all(Sink("S0", "i", Affine.constant(0)) in schedule for schedule in found)
    rng = np.random.default_rng(0)
    arrays = {"E": rng.uniform(size=(13, 13)), "H": rng.uniform(size=(13, 13)), "s": rng.uniform(size=9)}
    expected = interpret(replayer.nest, parameters, arrays)
    for schedule in found[:2]:
        scheduled = replayer.replay(small(schedule))
        assert isinstance(scheduled, ScheduledNest)
        result = interpret_scheduled(scheduled, parameters, arrays, parallel_order=random.Random(2))
        assert all((result[name] == expected[name]).all() for name in expected)


def tiles(schedule: Schedule) -> tuple[str, ...]:
    return next((step.loops for step in schedule if isinstance(step, Tile)), ())
