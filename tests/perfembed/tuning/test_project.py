"""Functions that several threads call at once: recorded alone, tuned for one thread, and right in the whole program."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfembed
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import one_file
from tests import rewriting

pytestmark = pytest.mark.gcc

# Sizes differ from call to call, and which thread makes which call from run to run. The order of loops is bad.
PROGRAM = r"""#include <stdio.h>
#include <stdlib.h>
static void product(int n, const double *restrict a, const double *restrict b, double *restrict c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0.0;
            for (int k = 0; k < n; k++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
}
int main(void)
{
    double total = 0.0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+:total)
    for (int t = 0; t < 40; t++) {
        int n = 200 + 8 * (t % 5);
        double *a = malloc(sizeof *a * n * n), *b = malloc(sizeof *b * n * n), *c = malloc(sizeof *c * n * n);
        for (int i = 0; i < n * n; i++) {
            a[i] = (i * 7 + t) % 16;
            b[i] = (i * 3 + t) % 8;
        }
        product(n, a, b, c);
        for (int i = 0; i < n * n; i++) total += c[i];
        free(a); free(b); free(c);
    }
    printf("%.17g\n", total);
    return 0;
}
"""


def test_a_function_called_by_all_threads_at_once(tmp_path: Path) -> None:
    path, out = tmp_path / "products.c", tmp_path / "faster.c"
    path.write_text(PROGRAM, encoding="ascii")
    flags = ("-O2", "-fopenmp")
    result = perfembed.tune(path, cflags=flags, threads=2, measure=2, budget_s=300.0, functions=["product"], output=out)
    (nest,) = [report for report in result.nests if report.function == "product"]
    # On a busy machine the whole program may come out no faster: then what was found is given back.
    assert nest.status == "tuned" or "the whole program did not get faster" in nest.reason, nest.reason
    assert nest.schedule and "parallelize" not in nest.schedule
    assert result.program_output_equal
    assert out.read_text(encoding="ascii").count("#pragma omp parallel") == 1


def test_nests_in_functions_that_another_nest_holds(tmp_path: Path) -> None:
    step = "static void step(void) { for (int i = 1; i < 98; i++) a[i] = a[i - 1] + a[i + 1]; }"
    other = "void other(void) { for (int i = 0; i < 98; i++) a[i] += 1; }"
    run = "void run(int n) { for (int t = 0; t < n; t++) step(); }"
    source = rewriting.read(tmp_path / "steps.c", f"static double a[99];\n{step}\n{other}\n{run}\n".encode())
    project = one_file(source, TuneOptions())
    inner, alone, outer = project.nests
    assert [n.function for n in project.nests] == ["step", "other", "run"]
    assert project.holds(outer, inner)
    assert not project.holds(outer, alone) and not project.holds(inner, outer) and not project.holds(outer, outer)
