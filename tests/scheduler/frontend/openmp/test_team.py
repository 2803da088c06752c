"""What all threads of a parallel region run, and have their own of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rewriting
from tests.scheduler.frontend.support import lines, read

SWEEP = b"""#include <stdio.h>
#define N 24
static double a[N][N][N], c[N][N], d[N];
static int next[N];
int main(void)
{
    int i, j, k, up, other;
    double f, *row;
    for (i = 0; i < N; i++) next[i] = (i * 7 + 3) % N;
    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++) c[i][j] = i - 2 * j;
    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++)
            for (k = 0; k < N; k++) a[i][j][k] = 1.0 + (i + j + k) % 3;
#pragma omp parallel private(i, j, k, up, other, f, row)
    {
        for (i = 0; i < N - 1; i++) {
            up = i + 1;
#pragma omp for
            for (j = 0; j < N; j++)
                for (k = 0; k < N; k++) {
                    f = 0.5 / a[i][j][k];
                    a[up][j][k] = a[up][j][k] - f * a[i][j][k];
                }
        }
        for (i = 1; i < N; i++) {
            other = next[i];
            up = i - 1;
            row = a[i][up];
#pragma omp for
            for (j = 0; j < N; j++) { f = c[other][j] * 0.125; row[j] += f; }
#pragma omp for
            for (j = 0; j < N; j++) { f = row[j]; d[j] += f; }
        }
    }
    printf("%.17g %.17g\\n", a[N - 1][0][0] + d[5], a[N / 2][3][7]);
    return 0;
}
"""


@pytest.mark.gcc
def test_a_sweep_of_all_threads(tmp_path: Path) -> None:
    source = rewriting.read(tmp_path / "sweep.c", SWEEP)
    assert not source.rejections, source.rejections
    sweep, rows = source.nests[-2:]
    assert lines(sweep)[0] == "for i = 0 to 23" and "a[i + 1][j][k]" in "".join(lines(sweep))
    assert "a[i][i - 1][j] += f" in "".join(lines(rows)) and "d[j_2] += f_2" in "".join(lines(rows))
    rewriting.check_runs(source, rewriting.in_threads(source), tmp_path)


HEAD = """#include <omp.h>
double s, x[100], y[100], A[100][100];
int n, p[100];
"""


@pytest.mark.parametrize(
    ("own", "setting", "use", "reason"),
    [
        ("int up", "up = omp_get_thread_num();", "up", "depends on which thread runs it, by 'up'"),
        ("int up, w[9] = {0}", "up = w[i];", "up", "every thread has its own 'w'"),
        ("int up, lo = omp_get_thread_num()", "up = 0; for (int m = lo; m < 9; m++) up += p[m];", "up", "by 'lo'"),
        ("int up = 0", "up += i;", "up", "every thread of the parallel region runs this"),
        ("int up", "if (p[i]) up = 1; else up = i;", "up", "every thread of the parallel region runs this"),
        ("int up = 0, two", "two = up + i;", "two + (up = j)", "every thread has its own 'up'"),
        ("double w[9], *r", "w[i] = i; r = w;", "(int)r[j]", "every thread has its own 'w'"),
    ],
)
def test_what_threads_set_differently(own: str, setting: str, use: str, reason: str) -> None:
    body = f"{setting}\n#pragma omp for\nfor (int j = 0; j < 9; j++) x[j] += {use};"
    code = f"void f(void) {{\n#pragma omp parallel\n{{ {own};\nfor (int i = 0; i < 9; i++) {{\n{body}\n}} }} }}\n"
    found = read(HEAD + code)
    assert reason in found.rejections[0].reason
    assert not any(" i " in line for nest in found.nests for line in lines(nest)), found.nests


def test_what_one_shared_loop_leaves_to_the_next() -> None:
    """Of a variable that threads have their own of, each has what its last iteration left."""
    body = "#pragma omp for\nfor (j = 0; j < 9; j++) { m = p[j]; x[j] = m; }\n"
    body += "#pragma omp for\nfor (j = 0; j < 9; j++) y[j] += m;\n"
    around = "#pragma omp parallel private(i, j, m)\nfor (i = 0; i < 9; i++) {\n"
    found = read(f"{HEAD}void f(void) {{ int i, j, m;\n{around}{body}}} }}\n")
    assert "every thread has its own 'm'" in found.rejections[0].reason
    assert all(nest.body[0].name == "j" for nest in found.nests)  # type: ignore[union-attr]
