"""Time tiles from the machine alone: they fit, are legal, and compute the same."""

import random
from dataclasses import replace

import numpy as np
import pytest

from scheduler.computed.stencils import suited, time_tiles
from scheduler.machine.target import CacheLevel, Core, Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Parallelize, Skew, Tile
from tests.doubles.interpret import interpret, interpret_scheduled
from tests.scheduler import nests

VALUES = {"T": 100, "n": 2000, "m": 900, "l": 800}


def made(text: str, target: Target, **values: int) -> tuple[Replayer, tuple[Schedule, ...]]:
    replayer = Replayer(nests.nest(text))
    return replayer, time_tiles(Space(replayer, target, {**VALUES, **values}))


def with_caches(first: int, second: int, threads: int = 2, shared_by: int = 1) -> Target:
    return Target(threads, core=Core(caches=(CacheLevel(first), CacheLevel(second, shared_by=shared_by))))


def tiles(schedules: tuple[Schedule, ...]) -> list[Tile]:
    return [step for schedule in schedules for step in schedule if isinstance(step, Tile)]


def volume(tile: Tile) -> int:
    return int(np.prod(tile.sizes))


# The first sweep down the columns.
BY_COLUMNS = (
    nests.JACOBI.replace("for i: int", "for x: int")
    .replace("for j: int", "for i: int")
    .replace("for x: int", "for j: int")
)


@pytest.mark.parametrize("text", [nests.JACOBI, BY_COLUMNS, nests.SEIDEL, nests.CHOLESKY, nests.LU])
def test_a_few_legal_ones_that_compute_the_same(text: str) -> None:
    replayer, found = made(text, Target(2))
    assert 1 <= len(found) <= 4 and len(set(found)) == len(found)
    sizes = {p.name: 11 if p.name == "n" else 5 for p in replayer.nest.parameters}
    rng = np.random.default_rng(0)
    inputs = {array.name: rng.uniform(size=(11, 11)) + 11 * np.eye(11) for array in replayer.nest.arrays}
    expected = interpret(replayer.nest, sizes, inputs)
    for schedule in found:
        assert any(isinstance(step, Parallelize) for step in schedule)
        scheduled = replayer.replay(shrunk(schedule))
        assert isinstance(scheduled, ScheduledNest)
        result = interpret_scheduled(scheduled, sizes, inputs, parallel_order=random.Random(1))
        assert all(np.array_equal(result[name], expected[name]) for name in expected)


def shrunk(schedule: Schedule) -> Schedule:
    """The same with tiles that a few iterations fill, and the skew of tiles that belongs to them."""
    return tuple(
        replace(s, sizes=(2, 4, 3, 3)[: len(s.sizes)])
        if isinstance(s, Tile)
        else replace(s, factor=2)
        if tile_skew(s)
        else s
        for s in schedule
    )


def test_larger_caches_get_larger_tiles() -> None:
    small, large = (tiles(made(nests.JACOBI, with_caches(1 << 15, size))[1]) for size in (1 << 18, 1 << 22))
    assert max(map(volume, small)) < max(map(volume, large))
    shared = tiles(made(nests.JACOBI, with_caches(1 << 15, 1 << 22, shared_by=16))[1])
    assert max(map(volume, shared)) <= max(map(volume, large))


def test_one_thread_needs_no_wavefronts() -> None:
    _, found = made(nests.JACOBI, Target(1))
    assert found and not any(isinstance(step, Parallelize) for schedule in found for step in schedule)


def test_many_threads_get_more_tiles_on_a_wavefront() -> None:
    few, many = (tiles(made(nests.JACOBI, with_caches(1 << 15, 1 << 22, threads))[1]) for threads in (2, 64))
    assert max(tile.sizes[1] for tile in many) < max(tile.sizes[1] for tile in few)


@pytest.mark.parametrize("text", [nests.GEMM, nests.COVARIANCE, nests.BLUR])
def test_what_has_no_time_loop_gets_none(text: str) -> None:
    assert made(text, Target(2), h=900, w=900)[1] == ()


BICG = """nest bicg {
  param n: int in [1, ?]; param m: int in [1, ?];
  array A: double[n][m]; array s: double[m]; array q: double[n]; array p: double[m]; array r: double[n];
  for i: int in [0, n) step 1 {
    S0: q[i] = 0.0;
    for j: int in [0, m) step 1 { S1: s[j] += r[i] * A[i][j]; S2: q[i] += A[i][j] * p[j]; }
  }
}"""


def test_rows_that_are_read_once_are_not_tiled_over_time() -> None:
    """Each step has a row of its own, and the sums stay in a cache."""
    assert made(BICG, with_caches(1 << 15, 1 << 22))[1] == ()
    assert made(BICG, with_caches(1 << 11, 1 << 14), n=50000, m=50000)[1] != ()  # they do not stay: blocks of them do


def test_anothers_wavefront_gets_the_sizes_of_this_machine() -> None:
    replayer = Replayer(nests.nest(nests.JACOBI))
    space = Space(replayer, with_caches(1 << 15, 1 << 20), VALUES)
    own = time_tiles(space)[0]
    other = tuple(
        replace(s, sizes=(64, 64, 64)) if isinstance(s, Tile) else replace(s, factor=1) if tile_skew(s) else s
        for s in own
    )
    assert suited(space, other) == own
    assert suited(space, own) == own


def tile_skew(step: object) -> bool:
    return isinstance(step, Skew) and step.outer.endswith("_t")


def test_other_tilings_stay_as_they_are() -> None:
    space = Space(Replayer(nests.nest(nests.GEMM)), Target(2), VALUES)
    schedule = (Tile(("j", "k"), (64, 64)),)
    assert suited(space, schedule) == schedule


HEAT = """nest heat {
  param T: int in [1, ?]; param n: int in [1, ?];
  array A: double[2][n][n][n];
  for t: int in [0, T) step 1 { for i: int in [1, n - 1) step 1 { for j: int in [1, n - 1) step 1 {
    for k: int in [1, n - 1) step 1 {
      S0: A[t + 1 - 2*floor((t + 1)/2)][i][j][k] = A[t - 2*floor(t/2)][i - 1][j][k] + A[t - 2*floor(t/2)][i + 1][j][k]
          + A[t - 2*floor(t/2)][i][j - 1][k] + A[t - 2*floor(t/2)][i][j + 1][k];
    } } } }
}"""


def test_three_dimensions_have_the_cache_that_is_shared() -> None:
    """What fits a core's own cache is nearly all slope."""
    caches = (CacheLevel(32 << 10), CacheLevel(512 << 10), CacheLevel(32 << 20, shared_by=2))
    target = Target(2, core=Core(caches=caches))
    replayer = Replayer(nests.nest(HEAT))
    space = Space(replayer, target, {"T": 40, "n": 240})
    found = tiles(time_tiles(space))
    small = tiles(time_tiles(Space(replayer, replace(target, core=Core(caches=caches[:2])), space.parameters)))
    assert max(map(volume, found)) > 2 * max(map(volume, small))
