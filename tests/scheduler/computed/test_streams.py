"""Streams from what was measured of the machine: threads or not, past the caches or through them."""

import random
from dataclasses import replace

import numpy as np
import pytest

from scheduler.codegen import emit
from scheduler.computed.streams import streamable, streams
from scheduler.ir.tree import find_loop
from scheduler.machine.target import CacheLevel, Core, Rates, Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Parallelize, Stream, Tile
from tests.doubles.interpret import interpret, interpret_scheduled
from tests.scheduler import nests

CACHES = (CacheLevel(32 << 10), CacheLevel(512 << 10), CacheLevel(8 << 20))
SCALES, SATURATED = Rates((20.0, 38.0), (90.0, 180.0), 1e-6), Rates((20.0, 21.0), (90.0, 180.0), 1e-6)
LARGE = {"n": 4_000_000, "m": 4000}

TRIAD = """nest triad { param n: int in [1, ?];
  array a: double[n]; array b: double[n]; array c: double[n];
  for i: int in [0, n) step 1 { S0: a[i] = b[i] + 3.0 * c[i]; }
}"""
ROWS = """nest rows { param m: int in [1, ?];
  array a: float[m][m]; array b: float[m][m]; array w: float[m];
  for i: int in [0, m) step 1 { for j: int in [0, m) step 1 { S0: a[i][j] = w[j] * b[i][j]; } }
}"""
UPDATE = """nest update { param n: int in [1, ?];
  array a: double[n]; array b: double[n];
  for i: int in [0, n) step 1 { S0: a[i] += 2.0 * b[i]; }
}"""
COLUMNS = """nest columns { param m: int in [1, ?];
  array a: double[m][m]; array b: double[m][m];
  for i: int in [0, m) step 1 { for j: int in [0, m) step 1 { S0: a[i][j] = b[j][i]; } }
}"""


def found(text: str, rates: Rates | None, threads: int = 2, **values: int) -> tuple[Replayer, tuple[Schedule, ...]]:
    replayer = Replayer(nests.nest(text))
    target = Target(threads, core=Core(caches=CACHES, rates=rates))
    return replayer, streams(Space(replayer, target, {**LARGE, **values}))


def kinds(schedules: tuple[Schedule, ...]) -> list[tuple[bool, bool]]:
    """(with threads, past the caches) of each."""
    return [
        (any(isinstance(s, Parallelize) for s in schedule), any(isinstance(s, Stream) for s in schedule))
        for schedule in schedules
    ]


@pytest.mark.parametrize("text", [TRIAD, ROWS])
def test_where_bandwidth_scales_all_threads_write_past_the_caches(text: str) -> None:
    assert kinds(found(text, SCALES)[1]) == [(True, True), (True, False)]
    assert kinds(found(text, None)[1]) == [(True, True), (True, False), (False, True)]
    assert kinds(found(text, SATURATED)[1]) == [(False, True), (False, False), (True, True), (True, False)]
    assert kinds(found(text, SCALES, threads=1)[1]) == [(False, True), (False, False)]


def test_single_loops_are_cut_in_parts_for_the_threads() -> None:
    _, (past, plain) = found(TRIAD, SCALES)
    (tile,) = [step for step in past if isinstance(step, Tile)]
    assert tile.sizes[0] % 64 == 0 and 4 <= LARGE["n"] / tile.sizes[0] <= 8.01
    assert not any(isinstance(step, Tile) for step in plain)


@pytest.mark.parametrize("text", [TRIAD, ROWS, UPDATE])
def test_they_compute_the_same_and_code_is_made_of_them(text: str) -> None:
    replayer, schedules = found(text, SATURATED)
    sizes = {p.name: 70 for p in replayer.nest.parameters}
    rng = np.random.default_rng(0)
    inputs = {
        a.name: rng.uniform(size=tuple(e.evaluate(sizes) for e in a.shape if e is not None)).astype(
            np.float32 if a.ctype == "float" else np.float64
        )
        for a in replayer.nest.arrays
    }
    expected = interpret(replayer.nest, sizes, inputs)
    assert schedules
    for schedule in schedules:
        small = tuple(replace(s, sizes=(16,)) if isinstance(s, Tile) else s for s in schedule)
        scheduled = replayer.replay(small)
        assert isinstance(scheduled, ScheduledNest)
        result = interpret_scheduled(scheduled, sizes, inputs, parallel_order=random.Random(1))
        assert np.array_equal(result["a"], expected["a"])
        past = any(isinstance(s, Stream) for s in schedule)
        assert ("pe_stream(" in emit(scheduled, replayer.model)) == past


def test_what_is_read_is_not_written_past_the_caches() -> None:
    assert kinds(found(UPDATE, SATURATED)[1]) == [(False, False), (True, False)]
    assert kinds(found(UPDATE, SCALES)[1]) == [(True, False)]


def test_data_that_fit_the_caches_are_no_stream() -> None:
    assert found(TRIAD, SCALES, n=100_000)[1] == ()


def test_sweeps_stay_together() -> None:
    text = TRIAD.replace("S0:", "S1: b2[i] = c[i]; S0:").replace("array a:", "array b2: double[n]; array a:")
    past = found(text, SCALES)[1][0]
    assert [step for step in past if isinstance(step, Stream)] == [Stream("i", "b2"), Stream("i", "a")]


def test_so_little_that_threads_do_not_pay_is_left_to_one() -> None:
    assert kinds(found(TRIAD, SCALES, n=5_000)[1]) == [(False, False)]
    assert found(TRIAD, None, n=5_000)[1] == ()
    assert found(TRIAD, SCALES, threads=1, n=5_000)[1] == ()


@pytest.mark.parametrize("text", [nests.GEMM, nests.JACOBI, nests.SPMM, COLUMNS])
def test_others_are_no_streams(text: str) -> None:
    assert found(text, SATURATED, n=4000, l=4000, T=50)[1] == ()


def test_what_a_loop_can_write_past_the_caches() -> None:
    replayer = Replayer(nests.nest(ROWS))
    space = Space(replayer, Target(2, core=Core(caches=CACHES)), LARGE)
    inner, outer = (find_loop(replayer.tree(()), name) for name in ("j", "i"))
    assert inner is not None and outer is not None
    assert streamable(space, inner) == ("a",) and streamable(space, outer) == ()
    parallel = find_loop(replayer.tree((Parallelize("j"),)), "j")
    assert parallel is not None and streamable(space, parallel) == ()
    small = Space(replayer, space.target, {"m": 100})
    assert streamable(small, inner) == ()
