"""Embedders made of others."""

import re

import numpy as np

from perfembed.transfer.assignment import distances
from perfembed.transfer.embedders import JoinedEmbedder, OnceEmbedder
from scheduler.schedule import parse_schedule
from tests.perfembed.transfer_support import EMBEDDER, GEMM, JACOBI, side


class Counting:
    """The hand-made one, counting how often it is asked for loops."""

    def __init__(self):
        self.asked = 0

    def loops(self, replayer, tree, parameters):
        self.asked += 1
        return EMBEDDER.loops(replayer, tree, parameters)

    def arrays(self, replayer, tree, parameters):
        return EMBEDDER.arrays(replayer, tree, parameters)

    def statements(self, replayer, tree, parameters):
        return EMBEDDER.statements(replayer, tree, parameters)


def test_once_asks_once_a_nest_and_tile_loops_inherit():
    replayer, base = side(GEMM).replayer, Counting()
    once = OnceEmbedder(base)
    plain = once.loops(replayer, replayer.tree(()), {})
    tiled = once.loops(replayer, replayer.tree(parse_schedule("tile([i_2, j_2], [32, 64])")), {})
    assert base.asked == 1
    assert set(tiled) == {*plain, "i_2_t", "j_2_t"}
    assert np.array_equal(tiled["i_2_t"], plain["i_2"]) and np.array_equal(tiled["j_2_t"], plain["j_2"])
    once.arrays(replayer, replayer.tree(()), {}), once.statements(replayer, replayer.tree(()), {})
    assert base.asked == 1
    other = side(GEMM).replayer
    once.loops(other, other.tree(()), {})
    once.loops(other, other.tree(()), {"n": 3})
    assert base.asked == 3


def test_joined_vectors_weigh_both_embeddings_alike():
    replayer = side(GEMM).replayer
    given = (replayer, replayer.tree(()), {})
    joined = JoinedEmbedder(EMBEDDER, EMBEDDER)
    for call, base in ((joined.loops, EMBEDDER.loops), (joined.arrays, EMBEDDER.arrays)):
        for name, vector in call(*given).items():
            half = len(base(*given)[name])
            assert len(vector) == 2 * half and np.allclose(vector[:half], vector[half:])
            assert np.isclose(np.linalg.norm(vector[:half]), 1, atol=1e-5)
    assert set(joined.statements(*given)) == {"S0", "S1"}


def test_they_do_not_depend_on_names():
    renamed = re.sub(r"\bi_2\b", "row", GEMM.replace("A[", "Left[").replace("array A:", "array Left:"))
    renamed = renamed.replace("A: double", "Left: double") if "array Left" not in renamed else renamed
    one, other = side(GEMM).view(()), side(renamed).view(())
    assert np.array_equal(one.loops["i_2"], other.loops["row"])
    assert np.array_equal(one.arrays["A"], other.arrays["Left"])
    assert np.array_equal(one.statements["S1"], other.statements["S1"])


def test_they_tell_loops_apart():
    view = side(GEMM).view(())
    names = ("i_2", "j_2", "k")
    apart = distances(names, names, view.loops, view.loops)
    assert (apart[~np.eye(3, dtype=bool)] > 0.05).all()


def test_they_tell_what_is_written_from_what_is_read_and_scalars_from_arrays():
    view = side(GEMM).view(())
    names = ("A", "B", "C", "alpha")
    apart = distances(names, names, view.arrays, view.arrays)
    assert apart[0, 1] < apart[0, 2] and apart[0, 1] < apart[0, 3]


def test_sizes_change_them_and_tiles_are_not_points():
    small = side(GEMM.replace("1000", "10"))
    assert not np.array_equal(small.view(()).loops["i"], side(GEMM).view(()).loops["i"])
    tiled = side(GEMM).view(parse_schedule("tile([i_2], [32])"))
    assert distances(("i_2_t",), ("i_2",), tiled.loops, tiled.loops)[0, 0] > 0.1


def test_vectors_of_a_kind_have_one_length_and_are_finite():
    for text in (GEMM, JACOBI):
        view = side(text).view(())
        for vectors in (view.loops, view.arrays, view.statements):
            assert len({v.shape for v in vectors.values()}) == 1
            assert all(np.isfinite(v).all() and v.dtype == np.float32 for v in vectors.values())
