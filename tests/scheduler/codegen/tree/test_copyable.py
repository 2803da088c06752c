"""Blocks are only copied where all their elements exist, and only in iterations that read them."""

from pathlib import Path

import pytest

from scheduler.codegen.emit.pack import _needless_left_out
from scheduler.codegen.tree.nodes import IntOp
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.text import parse_nest
from tests.scheduler.codegen.support import check_same, text_of

MASKED = """nest masked { param n: long in [1, ?]; param m: long in [1, ?];
array X: double[m][n] STORAGE const; array ok: long[n] const; array Y: double[n];
for i: long in [0, n) step 1 { for j: long in [0, m) step 1 { BODY } } }"""
WHEN = "when (ok[i] > 0) { S0: Y[i] = Y[i] + X[j][i]; }"
CHOICE = "S0: Y[i] = Y[i] + (ok[i] > 0 ? X[j][i] : 0.0);"
ALWAYS = "S0: Y[i] = Y[i] + X[j][i];"
PACKED = "tile([i, j], [4, 8]); pack(j_t, X, [1, 0], 1, 4)"


@pytest.mark.parametrize("body", [WHEN, CHOICE])
@pytest.mark.parametrize("storage", ["pointer", "restrict", "restrict flat"])
def test_what_may_never_be_read_need_not_be_there(body: str, storage: str) -> None:
    nest = parse_nest(MASKED.replace("STORAGE", storage).replace("BODY", body))
    with pytest.raises(CodegenUnsupported, match="may have elements that the program never reads"):
        text_of(nest, PACKED)


@pytest.mark.gcc
@pytest.mark.parametrize(("body", "storage"), [(WHEN, ""), (CHOICE, ""), (ALWAYS, "pointer"), (ALWAYS, "flat")])
def test_what_is_declared_or_read_for_certain_is_packed(tmp_path: Path, body: str, storage: str) -> None:
    nest = parse_nest(MASKED.replace("STORAGE", storage).replace("BODY", body))
    check_same(tmp_path, nest, PACKED, {"n": 10, "m": 13})


def test_a_declared_array_is_not_left_where_a_condition_keeps_the_program_in_it() -> None:
    text = MASKED.replace("STORAGE", "").replace("BODY", WHEN).replace("double[m][n]", "double[m][n - 1]")
    with pytest.raises(CodegenUnsupported, match="never reads"):
        text_of(parse_nest(text), PACKED)


CORNER = """nest corner { param n: long in [8, ?];
array X: double[n][n] restrict const; array Y: double[n][n] restrict;
for i: long in [0, n) step 1 { for j: long in [0, LAST) step 1 { for k: long in [0, n) step 1 {
S0: Y[i][k] = Y[i][k] + X[i][j]; } } } }"""


@pytest.mark.gcc
def test_the_box_around_a_triangle_lies_between_its_first_and_last_element(tmp_path: Path) -> None:
    """A row `i` of `i + 1` elements ends where the box does, one of `n - i` elements before it."""
    schedule = "tile([i, j], [4, 8]); pack(j_t, X, [0, 1])"
    check_same(tmp_path, parse_nest(CORNER.replace("LAST", "i + 1")), schedule, {"n": 19})
    with pytest.raises(CodegenUnsupported, match="never reads"):
        text_of(parse_nest(CORNER.replace("LAST", "n - i")), schedule)


FUSED = """nest fused { param n: long in [1, ?];
array A: double[6][5] restrict flat; array X: double[5] restrict const; array B: double[n];
for i: long in [0, 3) step 1 { for j: long in [0, i + 1) step 1 { S0: A[i][i] = 0.5 * A[i][j] * X[2*j]; } }
for k: long in [0, n) step 1 { S1: B[k] = B[k] * 0.1; } }"""


@pytest.mark.gcc
def test_nothing_is_copied_in_iterations_of_other_statements(tmp_path: Path) -> None:
    """Fused loops run on where the packed one ends: the block's bounds say nothing there."""
    check_same(tmp_path, parse_nest(FUSED), "fuse(i, k); pack(i, X, [0], 0, 4)", {"n": 40})


SHIFTED = """nest shifted { param n: long in [1, ?];
array A: double[n]; array B: double[2*n]; array C: double[n]; array D: double[n][n]; array E: double[n][n];
BODY }"""
TILED = "for i: long in [0, n) step 1 { S1: A[i] = B[i]; S2: C[i] = B[2*i + 1]; }"
SKEWED = "for t: long in [0, n) step 1 { for i: long in [0, n) step 1 { S1: D[t][i] = B[i] + t; S2: E[t][i] = 1.0; } }"


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("body", "schedule"),
    [
        (TILED, "tile([i], [8]); shift(i_t, S1, 1); pack(i_t, B, [0])"),
        (TILED.replace("step 1", "step 2"), "shift(i, S1, 1); pack(i, B, [0])"),
        (SKEWED, "skew(t, i, 2); interchange(t, i); shift(t, S1, 1); pack(t, B, [0])"),
    ],
)
def test_statements_that_run_at_other_times_than_the_loop_says(tmp_path: Path, body: str, schedule: str) -> None:
    """A strided loop may run statements of different offsets together: the block must be that of each."""
    nest = parse_nest(SHIFTED.replace("BODY", body))
    try:
        check_same(tmp_path, nest, schedule, {"n": 3}, {"n": 29})
    except CodegenUnsupported as problem:
        assert "strided loop around several statements" in str(problem) or "no constant bound" in str(problem)


FEW = """nest few { param n: long in [1, ?]; array A: double[n] local; array X: double[3][n] pointer;
for i: long in [0, n) step 1 { A[i] = 0.0; for j: long in [2, -1) step -2 { S1: A[i] += X[j][i]; } } }""".replace(
    "{ A[i]", "{ S0: A[i]"
)


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule", ["tile([j], [3]); pack(j_t, X, [0, 1])", "tile([j], [3]); tile([j_t], [8]); pack(j_t_t, X, [0, 1])"]
)
def test_a_tile_loop_whose_tiles_are_single_iterations_stands_at_its_times(tmp_path: Path, schedule: str) -> None:
    """isl may count such a loop in other units than the schedule, which the block's place is told in."""
    check_same(tmp_path, parse_nest(FEW), schedule, {"n": 4})


BEFORE = """nest before { param n: long in [9, ?];
array p: double[?] STORAGE const; array Y: double[n];
for i: long in [0, n) step 1 { S0: Y[i] = Y[i] + p[i FIRST]; } }"""


def test_a_panel_may_begin_where_the_pointer_points_to_but_not_before() -> None:
    """Whole panels are copied from a multiple of their width on, which may be below what is read."""
    text = BEFORE.replace("STORAGE", "restrict")
    assert "p_pack[" in text_of(parse_nest(text.replace("FIRST", "+ 1")), "tile([i], [4]); pack(i_t, p, [0], 0, 4)")
    with pytest.raises(CodegenUnsupported, match="never reads"):
        text_of(parse_nest(text.replace("FIRST", "- 1")), "tile([i], [4]); pack(i_t, p, [0], 0, 4)")
    assert "p_pack[" in text_of(parse_nest(text.replace("FIRST", "- 1")), "tile([i], [4]); pack(i_t, p, [0])")


RACING = """nest racing { param n: long in [9, ?]; array A: double[n][n];
for k: long in [0, n) step 1 { for i: long in [k + 1, n) step 1 { for j: long in [k + 1, n) step 1 {
S0: A[i][j] = A[i][j] - A[i][k] * A[k][j]; } } } }"""


def test_what_other_threads_write_is_not_copied() -> None:
    """A thread's rows do not change what it copies of rows above; in a block of all there are others' rows."""
    split = "split(i, 4*floor((k)/4) + 4); split(j_s, 4*floor((k)/4) + 4); tile([k], [4]); distribute(i_s, 1); "
    split += "distribute(k, 2); interchange(k_d, i_s_d); interchange(k_d, j_s_s); tile([i_s_d], [4]); "
    assert "A_pack[" in text_of(parse_nest(RACING), split + "parallelize(i_s_d_t); pack(i_s_d_t, A, [0, 1])")
    rows = """nest rows { param n: long in [1, ?]; array A: double[2*n][20]; for i: long in [0, n) step 1 {
    for j: long in [0, 20) step 1 { S0: A[2*i][j] = A[2*i + 1][j] * 0.5; } } }"""
    assert "A_pack[" in text_of(parse_nest(rows), "parallelize(i); pack(i, A, [0, 1])")
    with pytest.raises(CodegenUnsupported, match="changes where it is read"):
        text_of(parse_nest(rows), "tile([i], [4]); parallelize(i_t); pack(i_t, A, [0, 1])")


SKEWED_BLOCKS = """nest blocks { param n: int in [1, ?];
array A: double[3*n]; array X: double[2*n];
for i: int in [0, n) step 1 { S0: A[i + n] = A[i + n] * X[2*i + 1]; S1: A[-i + n - 1] = A[2*i + n] * 0.5; } }"""


@pytest.mark.gcc
def test_a_block_is_copied_behind_what_its_bounds_speak_of(tmp_path: Path) -> None:
    schedule = (
        "tile([i], [2]); tile([i_t, i], [3, 3]); interchange(i_t, i); skew(i_t2, i_t, 1); pack(i_t, X, [0], 0, 2)"
    )
    check_same(tmp_path, parse_nest(SKEWED_BLOCKS), f"{schedule}; skew(i, i_t, 2)", {"n": 13}, {"n": 1})


APART = """nest apart { param n: long in [1, ?];
array t: double private(i); array X: double[n][n] restrict const; array Y: double[n]; array A: double[n] restrict;
for i: long in [0, n) step 1 { S0: t = 0.0; for k: long in [0, n) step 1 { S1: t += X[i][k] * Y[k]; }
S2: A[i] = t; } }"""


def test_nothing_is_packed_in_a_loop_that_stands_at_the_times_of_another_statement() -> None:
    """isl runs both statements in one iteration of a loop over blocks, two apart; the block is that of the first."""
    tiled = "tile([i], [2]); tile([i_t, i], [5, 3]); pack(k, X, [1, 0], 0, 4)"
    assert "X_pack[" in text_of(parse_nest(APART), tiled)
    with pytest.raises(CodegenUnsupported, match="strided loop around several statements"):
        text_of(parse_nest(APART), f"{tiled}; shift(i_t, S0, -1)")


def test_no_expression_is_compared_with_itself() -> None:
    one, other = Affine.of("i"), Affine.of("j")
    same, real = IntOp("==", (one, one)), IntOp("<", (one, other))
    assert _needless_left_out(IntOp("&&", (same, real, IntOp("<=", (other, other))))) == real
    assert _needless_left_out(IntOp("&&", (same, same))) is None
    assert _needless_left_out(IntOp("||", (real, real))) == IntOp("||", (real, real))
