"""Bounds of loops over data are read where C reads them."""

from pathlib import Path

from tests.rewriting import check_runs, identity, in_threads, read

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


def test_bounds_under_predicates(tmp_path: Path) -> None:
    """Where the condition does not hold they may be anywhere, or be of more iterations than there is time for."""
    source = read(tmp_path / "program.c", UNDER_PREDICATES)
    assert {"both", "one"} <= {nest.function for nest in source.nests}
    for written in (identity(source), in_threads(source)):
        check_runs(source, written, tmp_path)
