"""Embedders made of others."""

import numpy as np

from perfembed.transfer.embedder import JoinedEmbedder, OnceEmbedder
from scheduler.schedule import parse_schedule
from tests.perfembed.transfer_support import EMBEDDER, GEMM, side


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
