"""Emitted code of identity and transformed trees computes what the original computes."""

from pathlib import Path

import numpy as np
import pytest

from scheduler.ir.text import parse_nest
from tests.scheduler.codegen import nests
from tests.scheduler.codegen.support import GEMM, check_same, text_of

GEMM_SIZES = (
    {"n": 33, "m": 29, "l": 41},
    {"n": 64, "m": 64, "l": 64},
    {"n": 1, "m": 1, "l": 1},
    {"n": 5, "m": 0, "l": 3},
)


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "interchange(j, k); vectorize(j)",
        "interchange(i, k)",
        "tile([i, j, k], [32, 16, 8]); parallelize(i_t, 0, 0, 2)",
        "parallelize(i, 1, 2); unroll(k, 4)",
        "interchange(j, k); vectorize(j); unroll_jam(i, 4)",
        "unroll_jam(i, 3)",
        "skew(i, j, 1); skew(i, k, 2); tile([i, j, k], [8, 8, 8])",
        "interchange(j, k); reverse(i); reverse(j)",
        "register_block([i, j], [4, 8])",
    ],
)
def test_gemm(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, GEMM, schedule, *GEMM_SIZES, sanitize=schedule.startswith(("tile", "reg", "skew")))


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "parallelize(i); vectorize(j); parallelize(i_2); vectorize(j_2)",
        "shift(i_2, S1, 1); fuse(i, i_2)",
        "shift(i_2, S1, 1); shift(j_2, S1, 1); fuse(i, i_2); fuse(j, j_2); skew(t, i, 2); skew(t, j, 2);"
        " tile([t, i, j], [4, 8, 8])",
        "shift(i_2, S1, 1); shift(j_2, S1, 1); fuse(i, i_2); fuse(j, j_2); skew(t, i, 2); skew(t, j, 2);"
        " tile([t, i, j], [4, 8, 8]); skew(t_t, i_t, 2); interchange(t_t, i_t); parallelize(t_t)",
        "shift(i_2, S1, 1); fuse(i, i_2); skew(t, i, 2); tile([t, i], [8, 64]); skew(t_t, i_t, 8);"
        " interchange(t_t, i_t); parallelize(t_t)",
        "shift(i_2, S1, 1); shift(j_2, S1, 1); fuse(i, i_2); fuse(j, j_2); skew(t, i, 2); skew(t, j, 2);"
        " tile([t, i, j], [4, 8, 8]); skew(t_t, i_t, 3); skew(i_t, j_t, 1)",
        "shift(i_2, S1, 1); fuse(i, i_2); skew(t, i, 2); tile([t, i], [4, 8]); reverse(t_t); reverse(t_t);"
        " skew(t_t, i_t, 2); tile([j], [8]); parallelize(j_t)",
    ],
)
def test_jacobi(tmp_path: Path, schedule: str) -> None:
    sizes = [{"t_max": t, "n": n} for t, n in ((7, 21), (21, 75), (3, 3), (2, 2))]
    check_same(tmp_path, nests.JACOBI, schedule, *sizes)


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "skew(t, i, 1); skew(t, j, 1); skew(i, j, 1); tile([t, i, j], [4, 4, 8])",
        "skew(t, i, 1); skew(t, j, 1); tile([t, i, j], [4, 4, 8])",
        "skew(i, j, 1); interchange(i, j); parallelize(i)",
    ],
)
def test_seidel(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, nests.SEIDEL, schedule, {"t_max": 5, "n": 17}, {"t_max": 1, "n": 3})


@pytest.mark.gcc
@pytest.mark.parametrize("schedule", ["", "tile([k], [4])", "sink(S1, k, j); tile([j, k], [4, 4])"])
def test_cholesky(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, nests.CHOLESKY, schedule, {"n": 23}, {"n": 1}, {"n": 0})


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "interchange(i, j)",
        "interchange(j, k); vectorize(j)",
        "tile([i, j, k], [8, 8, 4]); parallelize(i_t, 1)",
        "register_block([i, j], [4, 8])",
        "unroll_jam(i, 4)",
    ],
)
def test_triangular(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, nests.SYRK, schedule, {"n": 27, "m": 13}, {"n": 32, "m": 8}, {"n": 1, "m": 1})


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "parallelize(i)",
        "interchange(p, j)",
        "register_block([j], [8])",
        "tile([j], [16]); register_block([j], [8]); parallelize(i)",
        "interchange(p, j); interchange(i, j)",
        "tile([j], [8]); parallelize(i)",
        "vectorize(j)",
        "tile([p, j], [4, 8])",
    ],
)
def test_spmm(tmp_path: Path, schedule: str) -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 6, 11)
    rowptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    data = {
        "rowptr": rowptr,
        "col": rng.integers(0, 9, rowptr[-1]).astype(np.int32),
        "val": rng.standard_normal(rowptr[-1]),
        "B": rng.standard_normal((9, 21)),
        "C": rng.standard_normal((11, 21)),
    }
    nest = nests.SPMM.replace("[?]", "[200]")
    check_same(tmp_path, nest, schedule, {"rows": 11, "m": 21}, data=lambda sizes: data)


@pytest.mark.gcc
@pytest.mark.parametrize("schedule", ["", "distribute(i, 1)", "distribute(i, 1); parallelize(i_d)", "tile([i], [4])"])
def test_guards_and_predicates(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, nests.GUARDS, schedule, {"n": 25, "m": 7}, {"n": 11, "m": 40}, {"n": 4, "m": 0})


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule", ["", "interchange(i, j)", "tile([i, j], [4, 8]); parallelize(i_t)", "skew(i, j, 1)"]
)
def test_bounds(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, nests.BOUNDS, schedule, {"n": 25, "m": 17}, {"n": 3, "m": 40}, {"n": 4, "m": 0})


@pytest.mark.gcc
@pytest.mark.parametrize("schedule", ["", "reverse(i)", "tile([i], [8])", "tile([l], [4])"])
def test_steps(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, nests.STEPS, schedule, {"n": 25}, {"n": 1})


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "parallelize(i)",
        "distribute(i, 2)",
        "tile([i], [4]); parallelize(i_t)",
        "distribute(i, 2); distribute(i_d, 1)",
        "vectorize(j_2); vectorize(j_3)",
    ],
)
def test_private(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, nests.PRIVATE, schedule, {"n": 9, "m": 8}, {"n": 1, "m": 1})


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule", ["", "distribute(i, 1); interchange(i, j)", "distribute(i, 1); tile([i, j], [4, 4])", "unroll(j, 4)"]
)
def test_flat(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, nests.FLAT, schedule, {"n": 9, "m": 8}, {"n": 1, "m": 1}, {"n": 3, "m": 0})


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule", ["", "fuse(i, j)", "shift(j, S1, 3); fuse(i, j)", "shift(j, S1, 1); fuse(i, j); tile([i], [8])"]
)
def test_fusion(tmp_path: Path, schedule: str) -> None:
    check_same(tmp_path, nests.CHAIN, schedule, {"n": 25}, {"n": 2}, {"n": 1})


@pytest.mark.gcc
def test_ternary(tmp_path: Path) -> None:
    check_same(tmp_path, nests.MINPLUS, "interchange(j, k); vectorize(j); parallelize(i)", {"n": 21})


def test_what_is_collapsed_was_proved_parallel() -> None:
    """The point loop of a tile of one iteration is not there: the next loop of the code is another one."""
    nest = parse_nest("""nest rows { param n: long in [1, ?]; array A: double[n][n];
    for i: long in [2, n) step 2 { for j: long in [1, n) step 1 { S0: A[i][j] = A[i][j - 1] + A[i - 1][j]; } } }""")
    assert "collapse" not in text_of(nest, "tile([i], [2]); parallelize(i_t, 0, 0, 2)")
    both = parse_nest("""nest copy { param n: long in [1, ?]; array A: double[n][n]; array B: double[n][n];
    for i: long in [0, n) step 1 { for j: long in [0, n) step 1 { S0: A[i][j] = B[i][j] + 1.0; } } }""")
    assert "collapse(2)" in text_of(both, "parallelize(i, 0, 0, 2)")


@pytest.mark.gcc
def test_the_time_of_a_loop_that_vanished_is_not_declared_for_nothing(tmp_path: Path) -> None:
    nest = "nest fill { param n: int; array A: double[n];\nfor q: int in [0, n) step 1 { S0: A[q] = q; } }"
    check_same(tmp_path, nest, "tile([q], [3]); tile([q_t, q], [5, 5]); unroll_jam(q_t2, 4)", {"n": 50}, {"n": 1})


@pytest.mark.gcc
def test_divisions_in_limits_of_parallel_vector_loops(tmp_path: Path) -> None:
    """gcc's undefined-behavior sanitizer tests divisors: gcc 12 ends in an internal error where a header has one."""
    nest = """nest total { param n: long in [0, 50]; param t: long in [0, 50];
    array A: unsigned int[n]; array s: unsigned int[1];
    for j: long in [t, n) step 2 { S0: s[0] += A[j]; } }"""
    schedule = "reverse(j); vectorize(j); parallelize(j, 1)"
    assert "% 2" in text_of(parse_nest(nest), schedule)
    check_same(tmp_path, nest, schedule, {"n": 41, "t": 3}, {"n": 5, "t": 9})
