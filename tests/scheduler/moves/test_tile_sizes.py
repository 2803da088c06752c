"""Tiles that fill caches, by the bytes of what they touch."""

from __future__ import annotations

import pytest

from scheduler.machine.target import Target
from scheduler.moves.space import Space, chains_with
from scheduler.moves.tile_sizes import cache_tilings, fitting, second_level, sizes_of, tile_bytes
from scheduler.moves.time_tiling import time_band
from scheduler.replay import Replayer
from scheduler.schedule import format_schedule
from scheduler.transform import Tile
from tests.scheduler import nests

VALUES = {"T": 100, "n": 1000}
TWO_LINES = """nest lines {
  param T: int in [1, ?]; param n: int in [3, ?];
  array u: float[2][n]; array k: float[n];
  for t: int in [0, T) step 1 { for i: int in [1, n - 1) step 1 {
    S0: u[t + 1 - 2 * floor((t + 1) / 2)][i] = u[t - 2 * floor(t / 2)][i - 1] * k[i];
  } }
}"""


def of_band(text: str, sizes: tuple[int, ...]) -> int:
    replayer = Replayer(nests.nest(text))
    space = Space(replayer, Target(2), VALUES)
    found = time_band(space, (), "t", len(sizes) - 1)
    assert found is not None and len(found[1]) == len(sizes)
    return tile_bytes(space, found[1], sizes)


def lines(elements: int, each: int) -> int:
    return -(-elements * each // 64) * 64


@pytest.mark.parametrize("sizes", [(4, 16, 64), (8, 8, 32), (2, 2, 2)])
def test_the_slope_and_the_halo_of_two_fused_sweeps(sizes: tuple[int, ...]) -> None:
    """Skewed by 2 a time step; the second sweep is one behind, so that A and B are touched from -2 - 2(T - 1) on."""
    time, rows, columns = sizes
    tall, wide = (s + 2 * (time - 1) + 3 for s in (rows, columns))
    assert of_band(nests.JACOBI, sizes) == pytest.approx(2 * tall * lines(wide, 8), rel=0.25)


def test_loops_inside_the_band_touch_whole_rows() -> None:
    rows = of_band(nests.JACOBI, (4, 8))
    assert rows == pytest.approx(2 * (8 + 6 + 3) * 8000, rel=0.1)


def test_arrays_of_two_time_steps_are_no_larger_than_they_are() -> None:
    """u has two lines whatever the tile's time, k one."""
    assert of_band(TWO_LINES, (16, 64)) == pytest.approx(3 * lines(64 + 15 + 1, 4), rel=0.15)


def test_no_box_is_larger_than_its_array() -> None:
    assert of_band(nests.JACOBI, (64, 4096, 4096)) <= 2 * 1000 * lines(1000, 8)


def space_of(n: int) -> Space:
    return Space(Replayer(nests.nest(nests.SEIDEL)), Target(2, l1_bytes=32768, l2_bytes=524288), {"n": n, "T": 50})


def test_a_tile_fills_the_cache_and_not_more() -> None:
    space = space_of(4000)
    chain = chains_with(space.replayer.tree(()), "j")
    for cache in (32768, 524288):
        rows, columns = fitting(space, (), chain, ("i", "j"), cache)
        assert rows * columns * 8 <= 0.75 * cache < 8 * rows * columns * 8  # of one array; its border is small
        assert columns >= rows


def test_both_caches_and_two_levels() -> None:
    space = space_of(4000)
    found = [format_schedule(one) for one in cache_tilings(space, (), chains_with(space.replayer.tree(()), "j"))]
    assert any(one.count("tile([i, j]") == 2 for one in found)
    assert len(set(found)) == len(found) >= 3


def test_loops_that_are_too_short_are_not_tiled() -> None:
    space = space_of(15)
    assert list(cache_tilings(space, (), chains_with(space.replayer.tree(()), "j"))) == []
    assert sizes_of(space, chains_with(space.replayer.tree(()), "j"), "j") == ()


def test_larger_tiles_hold_whole_smaller_ones() -> None:
    space = space_of(4000)
    outer = second_level(space, (), Tile(("i", "j"), (12, 40)))
    assert outer is not None and all(far % near == 0 for far, near in zip(outer.sizes, (12, 40), strict=True))
    assert second_level(space, (), Tile(("i", "j"), (512, 1024))) is None
