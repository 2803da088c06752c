"""The mark for arrays that are written past the caches."""

import pytest

from scheduler.errors import NotApplicable
from scheduler.ir.tree import find_loop, format_tree
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.transform import Stream, Tile
from scheduler.transform.initial import initial_tree
from tests.scheduler import nests


def test_an_innermost_loop_is_marked() -> None:
    tree = Stream("j", "B").apply(initial_tree(nests.nest(nests.JACOBI)))
    loop = find_loop(tree, "j")
    assert loop is not None and loop.streams == ("B",) and "[stream B]" in format_tree(tree)
    more = find_loop(Stream("j", "A").apply(tree), "j")
    assert more is not None and more.streams == ("B", "A")
    assert parse_schedule(format_schedule((Stream("j", "B"),))) == (Stream("j", "B"),)


def test_others_are_not() -> None:
    tree = initial_tree(nests.nest(nests.JACOBI))
    for loop, reason in (("i", "not innermost"), ("q", "no loop q")):
        with pytest.raises(NotApplicable, match=reason):
            Stream(loop, "B").apply(tree)
    with pytest.raises(NotApplicable, match="already"):
        Stream("j", "B").apply(Stream("j", "B").apply(tree))
    with pytest.raises(NotApplicable, match="data"):
        spmm = initial_tree(nests.nest(nests.SPMM.replace("for j: int in [0, m)", "for j: int in [0, opaque(col[p]))")))
        Stream("j", "C").apply(spmm)


def test_blocks_of_the_loop_do_not_inherit_it() -> None:
    tree = Stream("j", "B").apply(initial_tree(nests.nest(nests.JACOBI)))
    tiled = Tile(("j",), (8,)).apply(tree)
    block, points = find_loop(tiled, "j_t"), find_loop(tiled, "j")
    assert block is not None and points is not None and (block.streams, points.streams) == ((), ("B",))
