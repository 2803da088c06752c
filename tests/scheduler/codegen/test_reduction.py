"""Reduction clauses: integer sums come out the same from every order; nothing is touched that was not."""

from pathlib import Path

import pytest

from tests.scheduler.codegen.support import check_same

SUM = """nest sum {
  param n: int in [0, ?];
  array s: int;
  array A: int[n];
  for i: int in [0, n) step 1 { S0: s OP A[i]; }
}"""
ROWS = """nest rows {
  param n: int in [1, ?];
  array y: long[n];
  array A: int[n][n];
  for i: int in [0, n) step 1 { for j: int in [0, i) step 1 { S0: y[i] += (long)A[i][j]; } }
}"""
HISTOGRAM = """nest histogram {
  param n: int in [1, ?];
  array h: unsigned int[16];
  array A: unsigned int[n];
  for i: int in [0, n) step 1 { S0: h[opaque(A[i] % 16u)] += 1u; }
}"""
GUARDED = """nest guarded {
  param n: int in [1, ?];
  array y: int[n];
  array A: int[n + 4][n];
  for i: int in [0, n + 4) step 1 { for j: int in [0, n) step 1 {
    if (n - i - 1 >= 0) { S0: y[i] += A[i][j]; } } }
}"""
COLUMNS = """nest columns {
  param n: int in [1, ?];
  array y: int[8];
  array A: int[n][8];
  for i: int in [0, n) step 1 { for j: int in [0, 8) step 1 { S0: y[j] -= A[i][j]; } }
}"""
SIZES = ({"n": 100}, {"n": 1}, {"n": 7})


@pytest.mark.parametrize(
    ("nest", "schedule", "expect"),
    [
        (SUM.replace("OP", "+="), "parallelize(i)", "reduction(+: pe_s)"),
        (SUM.replace("OP", "-="), "vectorize(i)", "#pragma omp simd reduction(+: pe_s)"),
        (SUM.replace("OP", "^="), "tile([i], [16]); parallelize(i_t, 1, 1); vectorize(i)", "reduction(^: pe_s_2)"),
        (SUM.replace("OP", "&="), "reverse(i); parallelize(i)", "reduction(&: pe_s)"),
        (SUM.replace("OP", "*=").replace("int", "long"), "unroll(i, 4); parallelize(i)", "reduction(*: pe_s)"),
        (ROWS, "vectorize(j)", "reduction(+: pe_y)"),
        (ROWS, "parallelize(i); vectorize(j)", "    y[i] += pe_y;"),
        (HISTOGRAM, "parallelize(i)", "reduction(+: h[0:16])"),
        (HISTOGRAM, "tile([i], [8]); parallelize(i_t, 1, 1)", "reduction(+: h[0:16])"),
        (GUARDED, "parallelize(j)", "reduction(+: pe_y)"),
        (COLUMNS, "parallelize(i); vectorize(j)", "reduction(+: y[0:8])"),
        (COLUMNS, "interchange(i, j); vectorize(i)", "    y[j] += pe_y;"),
    ],
)
def test_sums(tmp_path: Path, nest: str, schedule: str, expect: str) -> None:
    check_same(tmp_path, nest, schedule, *SIZES, expect=(expect,))
