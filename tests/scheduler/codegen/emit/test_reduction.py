"""Reduction clauses: integer sums come out the same from every order; nothing is touched that was not."""

import subprocess
from pathlib import Path

import pytest

from scheduler.codegen.emit.text import preamble
from scheduler.ir.text import parse_nest
from tests.compilers import usable
from tests.scheduler.codegen.support import check_same, text_of

pytestmark = pytest.mark.gcc

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
        (SUM.replace("OP", "+="), "pack(i, A, [0], 0, 4); unroll(i, 4); vectorize(i)", "#pragma GCC unroll 4\n"),
        (ROWS, "vectorize(j)", "reduction(+: pe_y)"),
        (ROWS, "parallelize(i); vectorize(j)", "    y[i] = (long)((unsigned long)y[i] + pe_y);"),
        (HISTOGRAM, "parallelize(i)", "reduction(+: pe_h[0:16])"),
        (HISTOGRAM, "tile([i], [8]); parallelize(i_t, 1, 1)", "reduction(+: pe_h[0:16])"),
        (GUARDED, "parallelize(j)", "reduction(+: pe_y)"),
        (COLUMNS, "parallelize(i); vectorize(j)", "reduction(+: pe_y[0:8])"),
        (COLUMNS, "interchange(i, j); vectorize(i)", "    y[j] = (int)((unsigned int)y[j] + pe_y);"),
    ],
)
def test_sums(tmp_path: Path, nest: str, schedule: str, expect: str) -> None:
    check_same(tmp_path, nest, schedule, *SIZES, expect=(expect,))


TABLE = """nest table {
  param n: int in [1, ?];
  array t: int[4][8];
  array A: int[n];
  for i: int in [0, n) step 1 { S0: t[opaque(A[i] % 4)][opaque(A[i] % 8)] += 1; }
}"""


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("nest", [HISTOGRAM, TABLE], ids=["row", "table"])
def test_threads_have_copies_of_global_arrays(tmp_path: Path, cc: str, nest: str) -> None:
    """Of a section of a global array clang makes copies, too, but lets all threads update the array itself."""
    cc = usable(cc, "-fopenmp")
    text = text_of(parse_nest(nest), "parallelize(i)")
    kind = "unsigned int" if nest == HISTOGRAM else "int"
    arrays = f"static {kind} A[4000000], h[16], t[4][8];\n"
    body = f"    int n = 4000000;\n    for (int k = 0; k < n; k++)\n        A[k] = k / 5;\n{text}"
    body += "    unsigned int sum = 0;\n"
    body += "    for (int k = 0; k < 16; k++)\n        sum += h[k];\n"
    body += '    for (int k = 0; k < 32; k++)\n        sum += t[k / 8][k % 8];\n    printf("%u\\n", sum);\n'
    (tmp_path / "t.c").write_text(f"#include <stdio.h>\n{preamble(text)}{arrays}int main(void)\n{{\n{body}}}\n")
    subprocess.run([cc, "-O0", "-fopenmp", "t.c", "-o", "t"], cwd=tmp_path, check=True, timeout=60)
    environment = {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}
    for _ in range(5):
        done = subprocess.run([tmp_path / "t"], env=environment, capture_output=True, text=True, timeout=60)
        assert done.stdout == "4000000\n"


@pytest.mark.parametrize(("ctype", "operator"), [
    ("int", "+="), ("int", "-="), ("int", "*="), ("short", "*="), ("unsigned short", "*="), ("long", "*="),
])  # fmt: skip
@pytest.mark.parametrize("schedule", ["parallelize(i)", "vectorize(i)", "tile([i], [4]); parallelize(i_t)"])
def test_parts_may_be_greater_than_the_whole(ctype: str, operator: str, schedule: str, tmp_path: Path) -> None:
    """No part that a thread or a lane finds overflows, where the loop in its order does not."""
    body = text_of(parse_nest(SUM.replace("OP", operator).replace("s: int", f"s: {ctype}")), schedule)
    filled = "A[0] = A[50] = -big; A[25] = A[33] = big;"
    if operator == "*=":
        filled = "for (int i = 0; i < 64; i++) A[i] = i ? big >> 15 : 0;"
    program = f"""{preamble(body)}
static {ctype} run({ctype} s, const int *A, int n) {{ {body} return s; }}
static {ctype} plain({ctype} s, const int *A, int n) {{ for (int i = 0; i < n; i++) s {operator} A[i]; return s; }}
int main(void)
{{
    int A[64] = {{0}}, big = 2147483647;
    {filled}
    for (int n = 0; n <= 64; n++)
        if (run(0, A, n) != plain(0, A, n))
            return 1;
    return 0;
}}
"""
    path = tmp_path / "a.c"
    path.write_text(program)
    command = ["gcc", "-O1", "-fopenmp", "-fsanitize=undefined", "-fno-sanitize-recover", str(path)]
    subprocess.run([*command, "-o", str(tmp_path / "a")], check=True)
    subprocess.run([tmp_path / "a"], check=True, env={"OMP_NUM_THREADS": "3"})
