"""Bounds of loops over data are read where C reads them."""

import subprocess
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.codegen.emit.emit_c import emit
from scheduler.errors import CodegenUnsupported
from scheduler.frontend import SourceFile
from scheduler.ir.text import parse_nest
from scheduler.schedule import parse_schedule
from tests.rewriting import check_runs, identity, in_threads, read, rewritten
from tests.scheduler.codegen.support import scheduled

UNDER_PREDICATES = b"""#include <limits.h>
#include <stdio.h>
static int ok[8] = { 1, 0, 1, 0, 1, 1, 0, 1 }, first[4] = { 0, 3, 5, 1 }, last[4] = { 4, 9, 7, 12 };
static long at[8] = { 0, 1l << 40, 1, 1l << 41, 2, 3, -(1l << 42), 1 }; /* where not ok no subscripts */
static double a[16], b[16], c[16];
__attribute__((noinline)) static void both(int n)
{
    for (int i = 0; i < n; i++)
        if (ok[i])
            for (int j = first[at[i]]; j < last[at[i]]; j++) {
                double t = j * 2.0;
                a[j] += t;
            }
}
__attribute__((noinline)) static void one(int n)
{
    for (int i = 0; i < n; i++)
        if (ok[i]) {
            if (at[i] != 2)
                for (long j = -3; j < last[at[i]] % 4; j++) b[j + 3] += i;
            for (int j = last[at[i]]; j > 0; j--) b[j] += 1;
        }
}
__attribute__((noinline)) static void endless(unsigned n, unsigned start, double *restrict c)
{
    for (unsigned i = 0; i < n; i++)
        if (ok[i] == 5)
            for (long j = first[i % 4] * 0u + start; j > 0; j--) {
                double t = j;
                c[0] += t;
            }
}
int main(void)
{
    both(8);
    one(8);
    endless(8, UINT_MAX, c);
    for (int i = 0; i < 16; i++) printf("%g %g %g\\n", a[i], b[i], c[i]);
    return 0;
}
"""


@pytest.mark.gcc
def test_bounds_under_predicates(tmp_path: Path) -> None:
    """Where the condition does not hold they may be anywhere, or be of more iterations than there is time for."""
    source = read(tmp_path / "program.c", UNDER_PREDICATES)
    assert {"both", "one"} <= {nest.function for nest in source.nests}
    for written in (identity(source), in_threads(source)):
        check_runs(source, written, tmp_path)


UNDER_VARIABLES = b"""#include <stdio.h>
static unsigned short S[64];
static unsigned M[16][16];
__attribute__((noinline)) static void f(long n, size_t o, size_t b, size_t *z)
{
    size_t t = n;
    for (size_t i = 0; i <= z[1]; i++)
        if (o == -t)
            for (size_t j = b; j != 0; j--) S[j] ^= M[j % 16][i];
}
int main(void)
{
    size_t z[2] = { 0, 3 };
    for (int k = 0; k < 64; k++) S[k] = k, M[k % 16][k / 8] = 3 * k;
    f(2, -2, 20, z);
    f(2, 3, 1ul << 45, z);
    for (int k = 0; k < 64; k++) printf("%d\\n", S[k]);
    return 0;
}
"""


@pytest.mark.gcc
@pytest.mark.parametrize("schedule", ["", "tile([j], [4])", "register_block([j], [1])", "parallelize(j, 0, 1)"])
def test_conditions_on_variables_stand_around_all_loops(schedule: str, tmp_path: Path) -> None:
    """Where they do not hold the loops may have more iterations than there is time for."""
    source = read(tmp_path / "program.c", UNDER_VARIABLES)
    (nest,) = (nest for nest in source.nests if nest.function == "f")
    check_runs(source, rewritten(source, [Rewrite(nest, parse_schedule(schedule), 1.0)]), tmp_path)


UNDER_A_GUARD = b"""#include <stdio.h>
static double a[8], b[8][64], c[8];
__attribute__((noinline)) static void f(int m, const int *restrict first, const int *restrict last)
{
    for (int k = 0; k < m; k++) {
        c[k] = k;
        if (k > 0)
            for (int i = first[k - 1]; i < last[k - 1]; i++)
                for (int j = 0; j < k; j++) b[j][i & 63] += a[j];
    }
}
int main(void)
{
    for (int k = 0; k < 8; k++) a[k] = k + 1;
    f(1, 0, 0); /* which reads no bounds */
    f(4, (int[]){ 0, 1, 2 }, (int[]){ 9, 9, 9 });
    printf("%g %g %g\\n", b[2][3], b[0][8], c[3]);
    return 0;
}
"""


@pytest.mark.gcc
def test_that_another_loop_runs_may_be_all_that_says_that_bounds_are_read(tmp_path: Path) -> None:
    before, after = outputs(read(tmp_path / "program.c", UNDER_A_GUARD), "interchange(i, j)", tmp_path)
    assert before == after


SHIFTED = b"""#include <stdio.h>
static unsigned U[64];
static long L[8];
__attribute__((noinline)) static void f(unsigned n, unsigned m)
{
    for (unsigned i = 0; i < n; i++) {
        U[i] += i;
        L[m & 7] += 1;
    }
}
int main(void)
{
    f(40, 0x80000002);
    printf("%u %ld\\n", U[3], L[2]);
    return 0;
}
"""


def outputs(source: SourceFile, schedule: str, folder: Path) -> list[bytes]:
    """What the program says, as it was and with the nest of `f` under the schedule."""
    (nest,) = (nest for nest in source.nests if nest.function == "f")
    written = rewritten(source, [Rewrite(nest, parse_schedule(schedule), 1.0)])
    said = []
    for name, text in (("original", source.content), ("written", written)):
        (folder / f"{name}.c").write_bytes(text)
        program = folder / name
        subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-fopenmp", f"{program}.c", "-o", program], check=True)
        said.append(subprocess.run([program], capture_output=True, timeout=20, check=True).stdout)
    return said


@pytest.mark.gcc
def test_no_loop_steps_through_what_a_statement_was_shifted_by(tmp_path: Path) -> None:
    source = read(tmp_path / "program.c", SHIFTED)
    before, after = outputs(source, "shift(i, S1, m); tile([i], [5]); parallelize(i, 0, 1)", tmp_path)
    assert before == after


FALSE = b"""#include <stdio.h>
static unsigned long Z[8] = { 0, 0, 5 };
static unsigned F[64];
__attribute__((noinline)) static void up(unsigned long n, long b, long m)
{
    for (long i = b; i < b + (long)n; i++)
        if (i - 4l <= n - Z[2])
            for (long j = b + i; j > b - m; j--) F[(j + i) & 63] += 1;
}
int main(void)
{
    up(11, 4, 5);
    up(11, 2000000000, 2000000000); /* 44000000000 iterations, were it not for the condition */
    for (int i = 0; i < 64; i++) printf("%u\\n", F[i]);
    return 0;
}
"""


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule",
    ["tile([j], [4])", "tile([j], [8]); skew(j_t, j, 2); tile([j], [2])", "tile([j], [4]); parallelize(j_t, 1, 2)"],
)
def test_loops_of_tiles_do_not_run_where_a_condition_around_them_is_false(tmp_path: Path, schedule: str) -> None:
    source = read(tmp_path / "program.c", FALSE)
    (nest,) = (nest for nest in source.nests if nest.function == "up")
    check_runs(source, rewritten(source, [Rewrite(nest, parse_schedule(schedule), 1.0)]), tmp_path)


@pytest.mark.parametrize(("write", "fine"), [("B[k] = 1;", True), ("flag[k] = 1;", False)])
def test_threads_of_a_team_agree_on_a_condition_around_a_shared_loop(write: str, fine: bool) -> None:
    """A late thread must not see what another one has written for it since."""
    nest = f"""nest f {{ param n: int; array flag: int[64]; array A: double[64]; array B: int[64];
        for j: int in [0, n) step 1 {{ when (flag[0]) {{ S0: A[j] = 1.0; }} }}
        for k: int in [0, n) step 1 {{ S1: {write} }} }}"""
    result, model = scheduled(parse_nest(nest), "parallelize(j); parallelize(k)")
    if fine:
        assert "flag[0]) {\n    #pragma omp for" in emit(result, model, context="team")
    else:
        with pytest.raises(CodegenUnsupported, match="around a shared loop"):
            emit(result, model, context="team")
