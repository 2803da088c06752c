"""Tiled bands of nests that are not perfectly nested: statements beside loops are sunk into them."""

import random
from dataclasses import replace

import numpy as np
import pytest

from scheduler.ir.interpret import interpret, interpret_scheduled
from scheduler.ir.tree import TreeLoop
from scheduler.permutable import sink_into_band
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, Sink, Tile
from scheduler.space import Space, Target
from scheduler.time_tiling import time_tiled
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
