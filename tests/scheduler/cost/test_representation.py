"""Nests as arrays: nothing of names, everything of sizes, any shape."""

from dataclasses import fields

import numpy as np
import pytest

from scheduler.cost.representation import AXIS, ENTRY, LOOP, MATRIX, STATEMENT, represent_nest
from scheduler.cost.schedule_arrays import NestArrays
from scheduler.machine.target import Target
from scheduler.replay import Replayer
from tests.scheduler import nests
from tests.scheduler.cost.lstm_support import SIZES, TARGET, arrays, renamed

ALL = {name: text for name, text in vars(nests).items() if isinstance(text, str) and text.startswith("nest ")}


def different(one: NestArrays, other: NestArrays) -> set[str]:
    found = set()
    for f in fields(one):
        a, b = getattr(one, f.name), getattr(other, f.name)
        if isinstance(a, np.ndarray) and not np.array_equal(a, b):
            found.add(f.name)
    return found


@pytest.mark.parametrize("name", ALL)
def test_counts_fit(name: str) -> None:
    found = arrays(Replayer(nests.nest(ALL[name])).nest)
    assert found.operation_counts.sum() == len(found.operations)
    assert found.entry_counts.sum() == len(found.entries)
    assert found.column_counts.sum() == len(found.entry_counts)
    assert found.matrix_counts.sum() == len(found.column_counts) == len(found.matrix_features)
    assert len(found.axis_columns) == len(found.column_axes) == len(found.column_matrices)
    assert set(found.column_axes) == set(range(len(found.axis_features)))
    widths = (found.entries, found.matrix_features, found.axis_features, found.loop_features, found.statement_features)
    assert [a.shape[1] for a in widths] == [ENTRY, MATRIX, AXIS, LOOP, STATEMENT]
    assert all(np.isfinite(a).all() and np.abs(a).max() < 16 for a in widths)


def test_matrices_of_gemm() -> None:
    found = arrays(nests.nest(nests.GEMM))
    # S0: its domain, C read, C written; S1: its domain, A, B, C read, C written.
    assert found.matrix_counts.tolist() == [3, 5]
    assert found.column_counts.tolist() == [3] * 3 + [4] * 5
    # Domains have two rows a loop, accesses one a dimension.
    assert found.entry_counts.tolist() == [4] * 3 + [2] * 6 + [6] * 4 + [2] * 16
    value, present = found.entries[:, 0], found.entries[:, 1]
    first = found.entry_counts[: 3 * 3 + 4].sum()  # A[i][k] follows S1's domain
    of_a = present[first : first + 8].reshape(4, 2)
    assert of_a.tolist() == [[1, 0], [0, 0], [0, 1], [0, 0]]  # columns i, j, k, constant
    assert value[first] == np.float32(1 / 4)  # log2(1 + 1) / 4


def test_names_do_not_count() -> None:
    assert renamed(nests.GEMM) != nests.GEMM
    one = arrays(nests.nest(nests.GEMM))
    other = arrays(nests.nest(renamed(nests.GEMM)), {"len": 100, "n": 200, "m": 300})
    assert not different(one, other)


def test_sizes_and_machine_count() -> None:
    nest = nests.nest(nests.GEMM)
    one = arrays(nest)
    assert different(one, arrays(nest, {**SIZES, "l": 299})) >= {"entries", "loop_features", "axis_features"}
    assert different(one, represent_nest(nest, SIZES, Target(16))) == {"target_features"}


def test_which_array_is_read_counts() -> None:
    nest = nests.nest(nests.GEMM)
    aliased = nests.nest(nests.GEMM.replace("A[i][k] * B[k][j]", "A[i][k] * A[k][j]"))
    assert "matrix_features" in different(arrays(nest), arrays(aliased))


def test_boxes_forget_triangles() -> None:
    full = nests.nest(nests.CHOLESKY)
    box = nests.nest(nests.CHOLESKY.replace("[0, i)", "[0, n - 1)").replace("[0, j)", "[0, n - 2)"))
    assert different(arrays(full), arrays(box))
    assert not different(arrays(full, boxes=True), arrays(box, boxes=True))


def test_guards_and_data_dependent_parts() -> None:
    text = """nest guarded { param n: int in [1, ?]; array a: double[n];
      for i: int in [0, n) step 1 { if (i - 3 >= 0) { S0: a[i] = 1.0; } } }"""
    plain = text.replace("if (i - 3 >= 0) { S0: a[i] = 1.0; }", "S0: a[i] = 1.0;")
    assert {"entries", "statement_features"} <= different(arrays(nests.nest(text)), arrays(nests.nest(plain)))
    spmm = arrays(nests.nest(nests.SPMM))
    assert spmm.entries[:, 8].any()  # rows that are not affine
    assert spmm.loop_features[:, 4].tolist() == [0.0, 1.0, 0.0]


def test_no_limit_of_depth_and_dimensions() -> None:
    depth = 14
    head = "".join(f"for i{k}: int in [0, 3) step 1 {{ " for k in range(depth))
    index = "".join(f"[i{k}]" for k in range(depth))
    shape = "[3]" * depth
    text = f"nest deep {{ array a: double{shape}; array b: double{shape}; {head} S0: a{index} = b{index} + 1.0; "
    found = arrays(nests.nest(text + "}" * (depth + 1)))
    assert found.column_counts.tolist() == [depth + 1] * 3
    assert len(found.axis_features) == len(found.loop_features) == depth
    assert represent_nest(nests.nest(nests.GEMM), {}, TARGET).extents == {"i": 1000, "j0": 1000, "j": 1000, "k": 1000}
