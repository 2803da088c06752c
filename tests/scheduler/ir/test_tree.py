import pytest

from scheduler.ir.affine import Affine
from scheduler.ir.tree import (
    Leaf,
    PackMark,
    Parallel,
    RegisterMark,
    TreeLoop,
    find_loop,
    format_tree,
    path_to,
    replace_loop,
    statements_below,
    tree_loops,
)


def loop(name: str, *children, **marks) -> TreeLoop:
    rows = tuple((s, Affine.of(name)) for child in children for s in statements_below(child))
    return TreeLoop(name, rows, children, name, **marks)


TREE = (loop("i", Leaf("S0"), loop("j", Leaf("S1"), Leaf("S2"))), loop("k", Leaf("S3")))


def test_queries() -> None:
    assert [x.name for x in tree_loops(TREE)] == ["i", "j", "k"]
    assert statements_below(TREE[0]) == ("S0", "S1", "S2")
    assert find_loop(TREE, "j") is TREE[0].children[1]
    assert find_loop(TREE, "x") is None
    assert TREE[0].row("S2") == Affine.of("i")
    with pytest.raises(KeyError):
        TREE[1].row("S0")


def test_path_to() -> None:
    assert [p for p, _ in path_to(TREE, "S2")] == [0, 1, 1]
    assert [p for p, _ in path_to(TREE, "S3")] == [1, 0]
    with pytest.raises(KeyError):
        path_to(TREE, "S9")


def test_replace_loop() -> None:
    split = replace_loop(TREE, "j", (loop("j", Leaf("S1")), loop("j_d", Leaf("S2"))))
    assert [x.name for x in tree_loops(split)] == ["i", "j", "j_d", "k"]
    assert replace_loop(TREE, "x", ()) == TREE
    assert replace_loop(TREE, "k", ()) == TREE[:1]


def test_format() -> None:
    marked = loop(
        "i",
        loop("j", Leaf("S0"), vector=True, unroll=0),
        parallel=Parallel("dynamic", 2, 3),
        packs=(PackMark("A", (0,)),),
        register=RegisterMark(("i", "j"), (2, 4)),
        unroll=4,
    )
    assert format_tree((marked,)) == (
        "i (i) [parallel dynamic 2 collapse 3] [unroll 4] [pack A] [register 2x4]\n"
        "  j (j) [vector] [unroll completely]\n    S0"
    )
    assert format_tree(TREE).count("\n") == 6
