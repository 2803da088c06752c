"""Register blocks and packing: bit-identical results, full, partial and missing blocks."""

from pathlib import Path

import pytest

from scheduler.codegen.emit.workload import kernel_source, plain
from scheduler.errors import CodegenUnsupported
from scheduler.ir.text import parse_nest
from tests.compilers import usable
from tests.scheduler.codegen import nests
from tests.scheduler.codegen.support import GEMM, build, check_same, text_of

SIZES = (
    {"n": 33, "m": 29, "l": 41},
    {"n": 48, "m": 64, "l": 32},
    {"n": 1, "m": 1, "l": 1},
    {"n": 7, "m": 9, "l": 0},
    {"n": 6, "m": 8, "l": 5},
)
BLIS = "interchange(i, k); tile([k, j, i], [16, 32, 24]); interchange(k, i); register_block([i, j], [6, 8]);"
ALPHA = GEMM.replace("A[i][k] *", "alpha * A[i][k] *").replace("array A", "array alpha: double local; array A")
FLOAT = ALPHA.replace("double", "float")
TRANSPOSED = GEMM.replace("B: double[l][m]", "B: double[m][l]").replace("B[k][j]", "B[j][k]")
FLAT = (
    GEMM.replace("[n][l]", "[n][l] pointer flat")
    .replace("[l][m]", "[l][m] pointer flat")
    .replace("C: double[n][m]", "C: double[n][m] restrict flat")
)
INTEGER = GEMM.replace("double", "int")
MIXED = GEMM.replace("C: double", "C: float")
OFFSET = """nest offset { param n: int; param m: int; param l: int;
array A: double[n + 2][l]; array B: double[l][m + 3]; array C: double[n + 2][m + 3];
for i: int in [1, n + 1) step 1 { for j: int in [3, m + 2) step 1 { for k: int in [0, l) step 1 {
S0: C[i][j] += A[i][k] * B[k][j + 1] - (A[i + 1][k] + i); } } } }"""
SQUARE = """nest square { param n: int; param l: int; array A: double[n][l]; array C: double[n][n]; array alpha: double;
for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { for k: int in [0, l) step 1 {
S0: C[i][j] += alpha * A[i][k] * A[j][k]; } } } }"""
CONV = """nest conv { param n: int; param m: int; param l: int; array x: float[n + 3][m + 3]; array w: float[3][3];
array y: float[n][m];
for i: int in [0, n) step 1 { for j: int in [0, m) step 1 { for p: int in [0, 3) step 1 { for q: int in [0, 3) step 1 {
S0: y[i][j] += w[p][q] * x[i + p][j + q]; } } } } }"""
TWO = """nest two { param n: int; param m: int; param l: int; array A: double[n][l]; array B: double[l][m];
array C: double[n][m]; array D: double[n][m];
for i: int in [0, n) step 1 { for j: int in [0, m) step 1 { for k: int in [0, l) step 1 {
S0: C[i][j] += A[i][k] * B[k][j]; S1: D[i][j] = D[i][j] * 0.5 + C[i][j] / (B[k][j] + 3.0); } } } }"""

SUMS = """nest sums { param n: int; param m: int; param l: int; array L: long[320];
for i: int in [0, 97 * n) step 1 { for e: int in [0, m + l) step 1 { S0: L[e] += i; } } }"""


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("nest", "schedule"),
    [
        (GEMM, "register_block([i, j], [4, 8])"),
        (GEMM, "register_block([j, i], [2, 4])"),
        (GEMM, "register_block([j], [8])"),
        (GEMM, "register_block([i, j], [1, 8])"),
        (GEMM, "register_block([i, j], [3, 6])"),
        (GEMM, "register_block([i, j], [6, 16], 64)"),
        (GEMM, "register_block([i, j], [6, 8], 16)"),
        (GEMM, "register_block([i, j], [2, 3])"),
        (GEMM, BLIS),
        (GEMM, BLIS + "pack(j_t, B, [1, 0], 1, 8); pack(i_t, A, [0, 1], 0, 6); parallelize(i_t)"),
        (GEMM, BLIS + "pack(j_t, B, [1, 0], 1, 8); parallelize(j_t)"),
        (GEMM, BLIS + "pack(i_t, A, [1, 0], 0, 4)"),
        (GEMM, BLIS + "pack(i_t, B, [0, 1])"),
        (GEMM, "tile([i, j, k], [8, 8, 8]); pack(k_t, B, [1, 0])"),
        (GEMM, "tile([i, j, k], [20, 20, 8]); register_block([i, j], [3, 8]); pack(k_t, B, [1, 0], 1, 8)"),
        (ALPHA, BLIS + "pack(j_t, B, [1, 0], 1, 8); pack(i_t, A, [0, 1], 0, 6); parallelize(i_t)"),
        (FLOAT, BLIS.replace("[6, 8]", "[4, 16]") + "pack(j_t, B, [1, 0], 1, 16); pack(i_t, A, [0, 1], 0, 4)"),
        (FLOAT, "register_block([i, j], [4, 8])"),
        (TRANSPOSED, "register_block([i, j], [4, 8])"),
        (TRANSPOSED, BLIS + "pack(j_t, B, [0, 1], 0, 8); pack(i_t, A, [0, 1], 0, 6)"),
        (FLAT, BLIS + "pack(j_t, B, [1, 0], 1, 8); pack(i_t, A, [0, 1], 0, 6)"),
        (INTEGER, "register_block([i, j], [4, 8])"),
        (SUMS, "register_block([e], [2]); interchange(i, e_r); parallelize(i)"),  # threads share no accumulators
        (MIXED, "register_block([i, j], [4, 8])"),
        (OFFSET, "register_block([i, j], [4, 8])"),
        (OFFSET, BLIS + "pack(j_t, B, [1, 0], 1, 8)"),
        (OFFSET, BLIS + "pack(i_t, A, [0, 1], 0, 6); pack(j_t, B, [1, 0], 1, 8)"),
        (SQUARE, BLIS + "pack(j_t, A, [1, 0], 0, 8); pack(i_t, A, [0, 1], 0, 6)"),
        (SQUARE.replace("[0, n) step 1 { for k", "[0, i + 1) step 1 { for k"), BLIS + "pack(i_t, A, [0, 1], 0, 6)"),
        (CONV, "register_block([i, j], [2, 8])"),
        (CONV, "register_block([j], [16]); unroll(q, 0)"),
        (TWO, "register_block([i, j], [2, 8])"),
        (TWO, "unroll_jam(i, 4)"),
    ],
)
def test_blocks(tmp_path: Path, nest: str, schedule: str) -> None:
    check_same(tmp_path, nest, schedule, *SIZES)


@pytest.mark.gcc
@pytest.mark.parametrize("parallel", ["i_t", "j_t"])
def test_large_buffers_are_allocated_for_each_thread(tmp_path: Path, parallel: str) -> None:
    schedule = BLIS.replace("[16, 32, 24]", "[256, 256, 252]")
    schedule += f"pack(j_t, B, [1, 0], 1, 8); pack(i_t, A, [0, 1], 0, 6); parallelize({parallel})"
    sizes = {"n": 300, "m": 270, "l": 257}
    text = check_same(tmp_path, ALPHA, schedule, sizes, {"n": 5, "m": 4, "l": 3})
    assert "pe_threads()" in text and "pe_free(" in text
    nest = plain(parse_nest(ALPHA))
    source, _ = kernel_source(nest, text, sizes)
    build(tmp_path, "serial", source, ("-O1", "-Wall", "-Werror", "-Wno-unknown-pragmas"))


@pytest.mark.gcc
def test_a_buffer_that_is_packed_again_inside_is_left_out(tmp_path: Path) -> None:
    """Compilers warn of variables that are set and not used."""
    nest = """nest s { param n: int; array s: double; array p: double[n];
    for i: int in [0, n) step 1 { S0: s += p[i]; } }"""
    text = check_same(tmp_path, nest, "pack(i, p, [0]); tile([i], [3]); pack(i_t, p, [0])", {"n": 10}, {"n": 0})
    assert text.count("__aligned__") == 1


@pytest.mark.gcc
def test_nothing_is_packed_where_no_block_of_blocks_begins(tmp_path: Path) -> None:
    """The loop over blocks of blocks stands between them, too: elements behind the array were copied there."""
    nest = """nest s { param n: int; array s: double; array p: double[n];
    for i: int in [0, n) step 1 { S0: s += p[i]; } }"""
    schedule = "tile([i], [3]); tile([i_t], [2]); pack(i_t_t, p, [0], 0, 4)"
    check_same(tmp_path, nest, schedule, {"n": 5}, {"n": 4}, {"n": 8}, {"n": 1})


@pytest.mark.gcc
def test_a_block_of_an_array_that_changes_elsewhere_is_packed(tmp_path: Path) -> None:
    nest = """nest s { param n: int; array A: double[n][n];
    for i: int in [0, n) step 1 { for j: int in [i, n) step 1 { for k: int in [0, i) step 1 {
      S0: A[i][j] -= A[i][k] * A[k][j]; } } } }"""
    split = "split(k, 4*floor((i)/4)); tile([i], [4]); "
    text = check_same(tmp_path, nest, split + "tile([k], [4]); pack(k_t, A, [0, 1])", {"n": 13}, {"n": 3})
    assert "A_pack[" in text


@pytest.mark.gcc
def test_a_panel_wider_than_the_array_is_never_full(tmp_path: Path) -> None:
    """gcc -O2 -Wall warned of the elements that a full panel would read."""
    nest = """nest s { param n: int; array w: double[3]; array x: double[n]; array y: double[n];
    for i: int in [0, n) step 1 { for k: int in [0, 3) step 1 { S0: y[i] += w[k] * x[i]; } } }"""
    text = check_same(tmp_path, nest, "pack(i, w, [0], 0, 4)", {"n": 5}, {"n": 0})
    assert "+ 4 <=" not in text
    assert "+ 4 <=" in check_same(tmp_path, nest.replace("3", "6"), "pack(i, w, [0], 0, 4)", {"n": 5})


def test_only_small_buffers_are_on_the_stack() -> None:
    """Threads may have stacks of 64 KiB."""
    small = text_of(parse_nest(ALPHA), BLIS + "pack(i_t, A, [0, 1], 0, 6)")
    schedule = BLIS.replace("[16, 32, 24]", "[48, 64, 48]") + "pack(i_t, A, [0, 1], 0, 6)"
    assert "pe_alloc" not in small and "pe_alloc" in text_of(parse_nest(ALPHA), schedule)


@pytest.mark.gcc
def test_triangular_block(tmp_path: Path) -> None:
    text = check_same(tmp_path, nests.SYRK, "register_block([i, j], [4, 8])", {"n": 43, "m": 13}, {"n": 8, "m": 2})
    assert "pe_v4d" in text


@pytest.mark.gcc
def test_minimum_block(tmp_path: Path) -> None:
    text = check_same(tmp_path, nests.MINPLUS, "register_block([i, j], [4, 8])", {"n": 43})
    assert "pe_select_v8f" in text


@pytest.mark.gcc
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_vector_width(tmp_path: Path, vector_bytes: int) -> None:
    text = check_same(
        tmp_path, GEMM, "register_block([i, j], [2, 8])", SIZES[0], vector_bytes=vector_bytes, sanitize=False
    )
    assert f"pe_v{vector_bytes // 8}d" in text


def test_clang(tmp_path: Path) -> None:
    schedule = BLIS + "pack(j_t, B, [1, 0], 1, 8); pack(i_t, A, [0, 1], 0, 6)"
    check_same(tmp_path, ALPHA, schedule, SIZES[0], sanitize=False, cc=usable("clang", "-fopenmp"))


def test_accumulators_are_held_and_full_blocks_need_no_test_for_known_sizes() -> None:
    nest = GEMM.replace("param n: int; param m: int; param l: int;", "")
    for name, value in (("n", "48"), ("m", "64"), ("l", "32")):
        nest = nest.replace(f"[{name}]", f"[{value}]").replace(f", {name})", f", {value})")
    text = text_of(parse_nest(nest), "register_block([i, j], [2, 8])")
    assert "if (" not in text and "C_11 += A[i_r + 1][k] * B_v_2;" in text


LATE = """nest late { param n: int; array t: double[n]; array y: double[n];
for i: int in [0, n) step 1 { S0: t[i] = 2.0; S1: y[i] = t[i]; } }"""


@pytest.mark.parametrize(
    ("nest", "schedule", "message"),
    [
        (GEMM, "pack(i, B, [0, 1])", "no constant bound"),
        (GEMM, "tile([j], [8]); pack(j_t, C, [0, 1])", "changes where it is read"),
        (GEMM, "tile([i, j, k], [8, 8, 8]); pack(j_t, B, [0])", "dimensions"),
        (nests.SPMM, "tile([j], [8]); pack(i, B, [0, 1])", "not only read with affine"),
        (LATE, "shift(i, S1, 1); tile([i], [2]); pack(i, t, [0], 0, 2)", "changes where it is read"),
    ],
)
def test_unsupported_packs(nest: str, schedule: str, message: str) -> None:
    with pytest.raises(CodegenUnsupported, match=message):
        text_of(parse_nest(nest), schedule)


SHIFTED = """nest shifted { param n: int in [1, ?]; array t: double private(j);
array X: double[n][n] pointer; array A: double[n][n] restrict;
for i: int in [n - 1, -1) step -1 { for j: int in [0, n) step 1 {
S0: t = 0.9 * X[i][j]; S1: A[i][j] = 0.5 * (A[i][j] + t); } } }"""


@pytest.mark.gcc
@pytest.mark.parametrize("rest", ["", "; parallelize(j)"])
def test_one_of_two_statements_shifted_in_the_loop_over_blocks(tmp_path: Path, rest: str) -> None:
    """Then the loop stands not only at multiples of the block, and each statement runs in iterations of its own."""
    schedule = f"register_block([j, i], [4, 4]){rest}; shift(i_r, S0, -1)"
    check_same(tmp_path, parse_nest(SHIFTED), schedule, {"n": 6})
