"""Macros and comments in OpenMP pragmas."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rewriting
from tests.scheduler.frontend.support import read

PROGRAM = b"""#include <stdio.h>
#define N 60
#ifdef OFFLOAD
#define GPU target teams distribute
#else
#define GPU
#endif
#define ONCE(...) firstprivate(__VA_ARGS__)
#define OWN(...) private(__VA_ARGS__) schedule(static, CHUNK) /* not // the end */
#define LIST j, t
#define CHUNK 16
#define PASTED(a, b) a##b
#define SHARE for
static double x[N], y[N], u[N][N], v[N][N];
int main(void)
{
    double a = 0.5, b = 0.125, t;
    int i, j;
    for (int i = 0; i < N; i++) x[i] = i % 17;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) u[i][j] = (i + j) % 11;
#pragma omp GPU parallel for ONCE(a, b) shared(u, v) collapse(2)
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++) v[i][j] = a * u[i][j] + b * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1]);
#pragma omp PASTED(par, allel) for /* all of them */ \\
    OWN(LIST) // each thread \\
                 a share
    for (i = 0; i < N; i++) { t = x[i]; for (j = 0; j < N; j++) u[i][j] += t * j; y[i] = t; }
#pragma omp parallel
    {
#pragma omp SHARE // each thread a share
        for (int i = 0; i < N; i++) y[i] = 2.0 * x[i] + 1.0;
_Pragma("omp SHARE /* the same */ nowait // other comment") // and one more
        for (int i = 0; i < N; i++) x[i] = 3.0 * x[i];
#undef SHARE
#define SHARE single
#pragma omp SHARE
        for (int i = 0; i < N; i++) y[i] += 3.0;
    }
    printf("%.17g %.17g %.17g %.17g\\n", y[N - 1], x[5], u[7][9], v[N / 2][3]);
    return 0;
}
"""


@pytest.mark.gcc
def test_macros_and_comments(tmp_path: Path) -> None:
    source = rewriting.read(tmp_path / "program.c", PROGRAM, ("-fopenmp",))
    assert not source.rejections, source.rejections
    shared = [source.sharing[n.name] for n in source.nests if n.name in source.sharing]
    assert [s.context for s in shared] == ["", "", "team", "team", "thread"]
    assert [(s.shared[0].name, s.shared[0].collapse) for s in shared[:3]] == [
        ("parallel for", 2),
        ("parallel for", 1),
        ("for", 1),
    ]
    assert shared[1].shared[0].clauses == ("schedule(static, 16)",)
    rewriting.check_runs(source, rewriting.in_threads(source), tmp_path)


def test_macros_of_the_command_line() -> None:
    code = "double x[9];\nvoid f(void) {\n#pragma omp SHARE HOW(9)\nfor (int i = 0; i < 9; i++) x[i] = i;\n}\n"
    (nest,) = (found := read(code, "-DSHARE=parallel for", "-DHOW(x)=num_threads(x)")).nests
    assert found.sharing[nest.name].shared[0].clauses == ("num_threads(9)",)
    (refused,) = read(code, "-DSHARE=target teams", "-DHOW(x)=").rejections
    assert refused.reason == "the loop stands in '#pragma omp target teams'"
    (refused,) = read(code).rejections
    assert refused.reason == "the loop stands in '#pragma omp SHARE HOW(9)'"


@pytest.mark.parametrize("mark", ["OMP(parallel for)", "SHARED", "AGAIN(parallel for) // x", "SHARED\n#define X\n"])
@pytest.mark.parametrize("header", [False, True])
def test_macros_that_make_pragmas(mark: str, header: bool, tmp_path: Path) -> None:
    """What stands under these is left alone, and blocks under them are run by threads of which nothing is known."""
    macros = "#define OMP(x) _Pragma(STRING(omp x))\n#define STRING(x) #x\n#define AGAIN(x) OMP(x)\n"
    macros += '#define SHARED extern_ _Pragma("omp parallel for")\n#define extern_\n'
    (tmp_path / "omp_macros.h").write_text(macros)
    head = '#include "omp_macros.h"\n' if header else macros
    loop = "for (int i = 0; i < 9; i++) x[i] = i;\n"
    path = str(tmp_path / "a.c")
    found = read(f"{head}double x[9];\nvoid f(void) {{\n{mark}\n{loop}}}\n", path=path)
    assert [r.reason for r in found.rejections] == ["a macro or pragma is attached to the loop"]
    found = read(f"{head}double x[9];\nvoid f(void) {{\n{mark}\n{{ {loop} }}\n}}\n", path=path)
    assert [s.context for s in found.sharing.values()] == ["thread"]


def test_pragmas_in_arguments_of_macros() -> None:
    """Where they come to stand is not known."""
    code = "#define F(a, b) a b\ndouble x[9];\nvoid f(void) {\nF(%s, for (int i = 0; i < 9; i++) x[i] = i;)\n}\n"
    assert read(code % '_Pragma("omp parallel for")').rejections
    code = code.replace("F(%s", 'F(x[0] = 1; _Pragma("omp parallel for")')
    assert not read(code).nests
