"""The mark for arrays that are written past the caches."""

import pytest

from scheduler.errors import NotApplicable
from scheduler.ir.tree import find_loop, format_tree
from scheduler.schedule import Stream, Tile, format_schedule, parse_schedule
from scheduler.transform import apply_step, initial_tree
from tests.scheduler import nests


def test_an_innermost_loop_is_marked() -> None:
    tree = apply_step(initial_tree(nests.nest(nests.JACOBI)), Stream("j", "B"))
    loop = find_loop(tree, "j")
    assert loop is not None and loop.streams == ("B",) and "[stream B]" in format_tree(tree)
    more = find_loop(apply_step(tree, Stream("j", "A")), "j")
    assert more is not None and more.streams == ("B", "A")
    assert parse_schedule(format_schedule((Stream("j", "B"),))) == (Stream("j", "B"),)


def test_others_are_not() -> None:
    tree = initial_tree(nests.nest(nests.JACOBI))
    for loop, reason in (("i", "not innermost"), ("q", "no loop q")):
        with pytest.raises(NotApplicable, match=reason):
            apply_step(tree, Stream(loop, "B"))
    with pytest.raises(NotApplicable, match="already"):
        apply_step(apply_step(tree, Stream("j", "B")), Stream("j", "B"))
    with pytest.raises(NotApplicable, match="data"):
        spmm = initial_tree(nests.nest(nests.SPMM.replace("for j: int in [0, m)", "for j: int in [0, opaque(col[p]))")))
        apply_step(spmm, Stream("j", "C"))


def test_blocks_of_the_loop_do_not_inherit_it() -> None:
    tree = apply_step(initial_tree(nests.nest(nests.JACOBI)), Stream("j", "B"))
    tiled = apply_step(tree, Tile(("j",), (8,)))
    block, points = find_loop(tiled, "j_t"), find_loop(tiled, "j")
    assert block is not None and points is not None and (block.streams, points.streams) == ((), ("B",))
