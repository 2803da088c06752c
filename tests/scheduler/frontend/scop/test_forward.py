"""Variables and pointers that stand for what an iteration sets them to."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.frontend import RACE
from tests import rewriting
from tests.scheduler.frontend.support import lines, read

WINDOWS = b"""#include <stdio.h>
#define BOXES 16
#define SIZE 12
struct cell { double v[SIZE], w[SIZE]; int k; };
static double pos[BOXES * SIZE], force[BOXES * SIZE], grid[BOXES][SIZE];
static struct cell cells[BOXES];
static int start[BOXES];
int main(void)
{
    const double *mine, *other;
    double *out, *a, *b;
    int i, j, k, n;
    for (i = 0; i < BOXES * SIZE; i++) pos[i] = i % 31 * 0.125;
    for (i = 0; i < BOXES; i++) start[i] = i * 7 % BOXES;
#pragma omp parallel for private(i, j, k, mine, other, out)
    for (n = 0; n < BOXES; n++) {
        mine = &pos[n * SIZE];
        out = &force[n * SIZE];
        for (k = 0; k < BOXES; k++) {
            other = &pos[k * SIZE];
            for (i = 0; i < SIZE; i++)
                for (j = 0; j < SIZE; j++) out[i] += mine[i] * other[j];
        }
    }
#pragma omp parallel private(a, b, i)
    {
#pragma omp for
        for (n = 0; n < BOXES; n++) { a = grid[n]; b = a + 1; for (i = 0; i < SIZE - 1; i++) b[i] = n + i; a[0] = n; }
    }
    for (n = 0; n < BOXES; n++) { a = cells[n].w; for (i = 0; i < SIZE; i++) a[i] = n * 3 + i; }
    for (n = 0; n < BOXES; n++) { double *c = cells[n].v; for (i = 0; i < SIZE; i++) c[i] = n * 4 + i; }
    for (n = 0; n < BOXES; n++) { double *c; c = grid[start[n]]; for (i = 0; i < SIZE; i++) c[i] += n; }
    for (n = 0; n < BOXES; n++) { if (n % 3 == 1) continue; a = grid[n]; a[2] += 2; }
    for (n = 0; n < BOXES; n++) if (grid[n][1] > 4) { b = grid[n]; b[3] += 7; }
    double sum = 0;
    for (n = 0; n < BOXES; n++)
        for (i = 0; i < SIZE; i++) sum += (i + 2 * n) * (force[n * SIZE + i] + grid[n][i] * 3);
    for (n = 0; n < BOXES; n++)
        for (i = 0; i < SIZE; i++) sum += (i + 2 * n) * (cells[n].w[i] - cells[n].v[i]);
    printf("%.17g %.17g\\n", sum, force[BOXES * SIZE - 1]);
    return 0;
}
"""


@pytest.mark.gcc
def test_pointers_that_iterations_set(tmp_path: Path) -> None:
    source = rewriting.read(tmp_path / "windows.c", WINDOWS)
    assert not source.rejections, source.rejections
    assert any("force[n][i] += (pos[n][i] * pos[k][j])" in line for nest in source.nests for line in lines(nest))
    rewriting.check_runs(source, rewriting.in_threads(source), tmp_path)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for (i = 0; i < n; i++) { p = a + i * n; p[0] = 1; } return *p;", "the pointer 'p' is used behind the loop"),
        ("for (i = 0; i < n; i++) { global = a + i * n; global[0] = 1; }", "'global' is used behind the loop"),
        ("for (i = 0; i < n; i++) { p[0] = 1; p = a + i * n; }", "the loop changes a pointer"),
        ("for (i = 0; i < n; i++) { if (i & 1) p = a; else p = b; p[i] = 1; }", "sets the pointer 'p' in several"),
        ("for (i = 0; i < n; i++) { p = a; p[i] = 1; p = b; p[i] = 1; }", "sets the pointer 'p' in several places"),
        ("for (i = 0; i < n; i++) { p = a + s; s = s * 3 % 7; p[i] = 1; }", "changes 's', which the pointer 'p' is"),
        ("for (i = 0; i < n; i++) { p = (double *)(c + i); p[i] = 1; }", "converts a pointer to another type"),
        ("for (i = 0; i < n; i++) { p = a; keep(&p); p[i] = 1; }", "the loop changes a pointer"),
    ],
)
def test_pointers_that_do_not_stand_for_one_place(body: str, reason: str) -> None:
    head = "double *global; void keep(double **);\n"
    head += "double f(int n, double *a, double *b, float *c) { double *p = a; int i, s = 0;\n"
    found = read(f"{head}{body}\nreturn 0; }}\n")
    assert not found.nests and reason in found.rejections[0].reason, found.rejections


def test_the_advice_works() -> None:
    """Pointers of their own, or declared in the loop."""
    head = "double f(int n, double *a, double *b) { double *p, *q; int i;\n"
    twice = "for (i = 0; i < n; i++) { p = a; p[i] = 1; q = b; q[i] = 1; }\nreturn 0; }\n"
    behind = "p = a; for (i = 0; i < n; i++) { double *r = a + i * n; r[0] = 1; } return *p; }\n"
    for body in (twice, behind):
        assert len(read(head + body).nests) == 1


def test_a_pointer_that_threads_share_is_a_race() -> None:
    code = "double a[9][9];\nvoid f(void) { double *p; int i;\n#pragma omp parallel for%s\n"
    code += "for (i = 0; i < 9; i++) { p = a[i]; p[0] = 1; }\n}\n"
    (refused,) = read(code % "").rejections
    assert refused.reason.startswith(RACE) and refused.advice == "add private(p) to the pragma, or a reduction"
    assert read(code % " private(p)").nests
