"""Tiles that fill caches, by the bytes of what they touch."""

from scheduler.machine.target import Target
from scheduler.moves.space import Space, chains_with
from scheduler.moves.tile_sizes import cache_tilings, fitting, second_level, sizes_of
from scheduler.replay import Replayer
from scheduler.schedule import format_schedule
from scheduler.transform import Tile
from tests.scheduler import nests


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
