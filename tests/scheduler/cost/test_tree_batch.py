"""Sequences of any lengths side by side."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_sequence

from scheduler.cost.tree_batch import nest_batch, schedule_batch, sequences
from tests.scheduler import nests
from tests.scheduler.cost.lstm_support import GEMM_SCHEDULES, STENCIL_SCHEDULES, encoded


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(0, 1 << 16))
@settings(max_examples=60)
def test_the_layout_is_that_of_packed_sequences(lengths: list[int], seed: int) -> None:
    counts = np.array(lengths, np.int64)
    index = np.random.default_rng(seed).integers(0, 50, counts.sum())
    found = sequences(index, counts)
    assert found.count == len(lengths)
    parts = np.split(index, np.cumsum(counts)[:-1])
    kept = [torch.from_numpy(parts[n]) for n in found.order.tolist()]
    assert sorted(found.order.tolist()) == [n for n, length in enumerate(lengths) if length]
    if kept:
        packed = pack_sequence(kept)  # raises unless the longest come first
        assert packed.data.tolist() == found.index.tolist()
        assert packed.batch_sizes.tolist() == list(found.sizes)
    else:
        assert found.index.tolist() == [] and found.sizes == ()


def test_nests_stand_side_by_side() -> None:
    gemm, gemm_schedules = encoded(nests.nest(nests.GEMM), *GEMM_SCHEDULES)
    stencil, stencil_schedules = encoded(nests.nest(nests.JACOBI), *STENCIL_SCHEDULES)
    both = nest_batch([gemm, stencil])
    assert len(both.axis_features) == len(gemm.axis_features) + len(stencil.axis_features)
    assert int(both.column_axes.max()) == len(both.axis_features) - 1
    assert int(both.column_matrices.max()) == len(both.matrix_features) - 1
    batch = schedule_batch([gemm, stencil], [gemm_schedules, stencil_schedules])
    rows = 1 + len(GEMM_SCHEDULES)
    assert batch.written.tolist() == [0, rows]
    assert batch.row_nests.tolist() == [0] * rows + [1] * (1 + len(STENCIL_SCHEDULES))
    assert batch.roots.count == len(batch.row_nests)
    # Children stand before their parents in the one table of plans and nodes.
    known = len(batch.plan_statements)
    for nodes in batch.heights:
        assert int(nodes.children.index.max()) < known
        known += len(nodes.loops)
    assert int(batch.roots.index.max()) == known - 1
