"""Where a loop with data-dependent bounds has no iteration, nothing of it runs."""

from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.schedule import parse_schedule
from tests.rewriting import check_runs, read, rewritten
from tests.scheduler.codegen.tree.test_opaque import outputs

EMPTY = b"""#include <stdio.h>
#include <stdlib.h>
static int first[3] = { 4, 7, 5 }, last[3] = { 9, 7, 2 };
static double a[16], b[16], c[16][8];
int main(void)
{
    for (int k = 0; k < 3; k++) {
        for (int i = first[k]; i < last[k]; i++) {
            a[i] += i + 1;
            b[i] = b[i] * 0.5 + i;
        }
    }
    for (int k = 0; k < 3; k++) {
        for (int i = first[k]; i < last[k]; i++) {
            for (int j = 0; j < 8; j++) {
                c[i][j] += i + j;
            }
            a[i] += 2;
        }
    }
    for (int i = 0; i < 16; i++) printf("%g %g %g %g\\n", a[i], b[i], c[i][0], c[i][7]);
    return 0;
}
"""


NESTED = rb"""#include <stdio.h>
static int row[9] = {0, 3, 3, 5, 5, 5, 9, 9, 12}, back[9] = {4, 0, 3, 9, 2}, grows[10];
static double a[64], b[64];
void rows(int n) {
    for (int i = 0; i < n; i++)
        for (int j = row[i]; j < row[i + back[0] - 3]; j++) { a[j] += i; b[j] += 2 * j; }
}
void grown(int n) {
    for (int i = 0; i < n; i++) {
        grows[i + 1] = grows[i] + back[i] % 3;
        for (int j = grows[i]; j < grows[i + 1]; j++) { a[j] += i; b[j] += a[j]; }
    }
}
void down(int n) { for (int i = back[n]; i-- > 0;) { a[i] += 3; b[i] += 5; } }
void deep(int n) {
    for (int i = 0; i < n; i++)
        for (int k = back[i]; k < 4; k++)
            for (int j = row[k]; j < row[k + 1]; j++) { a[j] += i; b[j] += 2 * k; }
}
int main(void) {
    rows(8); grown(6); down(1); down(0); down(2); deep(5);
    double s = 0;
    int k = 0;
    while (k < 64) { s = s * 1.37 + a[k] + 0.3 * b[k]; k++; }
    printf("%.17g\n", s);
}
"""


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("program", "function", "schedule"),
    [
        (EMPTY, "main", "shift(i, S0, 1); shift(i_2, S2, 1)"),
        (EMPTY, "main", "shift(i, S1, 2); reverse(i); shift(i_2, S3, 1); tile([i_2], [2])"),
        (EMPTY, "main", "reverse(i); shift(i, S1, -1); shift(i_2, S2, 2); unroll(i_2, 4)"),
        (EMPTY, "main", "shift(i, S0, 3); tile([i], [4]); shift(i_2, S3, 1); vectorize(j)"),
        (NESTED, "rows", "shift(j, S1, 1)"),
        (NESTED, "rows", "tile([j], [3]); shift(j, S1, 1)"),
        (NESTED, "down", "shift(i, S1, 1)"),
        (NESTED, "down", "tile([i], [3]); shift(i, S1, 1)"),
        (NESTED, "deep", "shift(j, S1, 1)"),
        (NESTED, "grown", "tile([i], [2]); pack(i, back, [0]); shift(j, S2, 1)"),
    ],
)
def test_statements_apart_from_an_empty_loop_over_data(
    tmp_path: Path, program: bytes, function: str, schedule: str
) -> None:
    """They run nowhere where the loop has no iteration, also where its limit lies below its start."""
    source = read(tmp_path / "program.c", program)
    (nest,) = (nest for nest in source.nests if nest.function == function)
    check_runs(source, rewritten(source, [Rewrite(nest, parse_schedule(schedule), 1.0)]), tmp_path)


INSIDE_OF_NONE = b"""#include <stdio.h>
static unsigned U[64];
__attribute__((noinline)) static void f(unsigned n, unsigned long m, const long *z)
{
    for (unsigned long i = n - n * 2; i < m; i++)
        for (unsigned long j = z[0]; j-- > 0;) {
            U[i & 31] += i;
            U[32 + (j & 31)] += 1;
        }
}
int main(void)
{
    f(0, 3, (long[]){ 5 });
    f(11, 3, (long[]){ 1l << 61 });
    printf("%u %u\\n", U[2], U[33]);
    return 0;
}
"""


@pytest.mark.gcc
@pytest.mark.parametrize(
    "schedule",
    [
        "interchange(i, j)",
        "interchange(i, j); shift(j, S1, 1); parallelize(j)",
        "tile([i, j], [2, 4]); interchange(i_t, j_t)",
    ],
)
def test_a_loop_that_was_inside_of_one_without_iterations_has_none(schedule: str, tmp_path: Path) -> None:
    source = read(tmp_path / "program.c", INSIDE_OF_NONE)
    before, after = outputs(source, schedule, tmp_path)
    assert before == after
