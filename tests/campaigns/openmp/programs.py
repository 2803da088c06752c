"""OpenMP programs: every kernel in every manner that suits it. All numbers in them are small integers, so exact.

A kernel with `race` is wrong under its pragma: the words are the array or scalar that iterations meet in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.campaigns.openmp.kernels import KERNELS, Kernel


@dataclass(frozen=True, slots=True)
class OpenmpProgram:
    """`race`: the planted one; `possible`: it depends on data, which here do not make it one."""

    name: str
    source: str
    race: str
    possible: bool


_CHOICES = ("", "schedule(static)", "schedule(static, 4)", "schedule(dynamic, 2)", "num_threads(2)")


def openmp_programs() -> Iterator[OpenmpProgram]:
    """All of them, in a fixed order."""
    for number, kernel in enumerate(KERNELS):
        choice = _CHOICES[number % len(_CHOICES)]
        later = next(k for k in (*KERNELS[number + 1 :], *KERNELS) if not k.race)
        for name, body, functions in (*_manners(kernel, choice), *_pairs(kernel, later)):
            source = _program(kernel, body, functions)
            yield OpenmpProgram(f"{kernel.name}/{name}", source, kernel.race, kernel.possible)


def _manners(kernel: Kernel, choice: str) -> Iterator[tuple[str, str, str]]:
    """(name, statements of the main function, functions before it)"""
    clauses, loop = kernel.clauses, kernel.loop
    how = choice if "schedule" not in clauses else ""
    yield "parallel-for", f"#pragma omp parallel for {clauses}\n{loop}", ""
    yield "how", f"#pragma omp parallel for {clauses} {how}\n{loop}", ""
    yield "guarded", f"#ifdef _OPENMP\n#pragma omp parallel for \\\n    {clauses}\n#endif\n{loop}", ""
    yield "time-loop", f"for (r = 0; r < 3; r++) {{\n#pragma omp parallel for {clauses}\n{loop}\n}}", ""
    yield (
        "region",
        f"#pragma omp parallel\n{{\n#pragma omp for {clauses}\n{loop}\n#pragma omp single\n    r = 7;\n}}",
        "",
    )
    twice = f"#pragma omp parallel private(r)\nfor (r = 0; r < 2; r++) {{\n#pragma omp for {clauses}\n{loop}\n}}"
    yield "region-in-time", twice, ""
    if not kernel.race:
        fill = "#pragma omp for nowait\nfor (i = 0; i < 32; i++) z[i] = i + 1;\n"
        yield "nowait", f"#pragma omp parallel\n{{\n{fill}#pragma omp for {clauses}\n{loop}\n}}", ""
    if "\n#pragma" not in loop:
        yield "simd", f"#pragma omp parallel for simd {clauses}\n{loop}", ""
    if kernel.flat:
        yield "collapse", f"#pragma omp parallel for collapse(2) {clauses.replace('private(j)', '')}\n{loop}", ""
    if not kernel.reduces:
        function = f"static void part(void)\n{{\n{_LOCALS}{kernel.declared}\n#pragma omp for {clauses}\n{loop}\n}}\n\n"
        if kernel.race not in ("s", "t", "j", "count"):
            yield "orphaned", "#pragma omp parallel\npart();", function
    if not kernel.race:
        if kernel.name in ("fill", "gather", "copies"):
            yield "hint", f"#pragma GCC ivdep\n{loop}", ""
        if "critical" not in loop:
            yield "single", f"#pragma omp parallel\n{{\n#pragma omp single\n{loop}\n}}", ""


def _pairs(kernel: Kernel, later: Kernel) -> Iterator[tuple[str, str, str]]:
    """The same of a kernel and another one behind it: one region of loops, be it in a function that is called."""
    whole, part = (
        "\n".join(f"#pragma omp {directive} {k.clauses}\n{k.loop}" for k in (kernel, later))
        for directive in ("parallel for", "for")
    )
    declared = "" if later.declared in kernel.declared else later.declared
    yield "pair", f"{declared}\n{whole}", ""
    yield "pair-in-time", f"{declared}\nfor (r = 0; r < 3; r++) {{\n{whole}\n}}", ""
    yield "pair-in-region", f"{declared}\n#pragma omp parallel\n{{\n{part}\n}}", ""
    if not kernel.reduces and not later.reduces:
        function = f"static void part(void)\n{{\n{_LOCALS}{kernel.declared}{declared}\n{whole}\n}}\n\n"
        yield "called-in-time", "for (r = 0; r < 3; r++) part();", function
        yield "called-twice", "for (r = 0; r < 3; r++) { part(); part(); }", function


_LOCALS = (
    "    int i, j, k, r = 0;\n    double t = 0, q = 0;\n    (void)i; (void)j; (void)k; (void)r; (void)t; (void)q;\n"
)


def _program(kernel: Kernel, body: str, functions: str) -> str:
    return f"""#include <stdio.h>
#define N 61
#define M 23
static double A[N][M], B[N][M], x[N], y[N], z[N], s;
static int p[N], h[8], count, mask;

{functions}int main(void)
{{
{_LOCALS}    {kernel.declared}
    for (i = 0; i < N; i++) {{
        x[i] = i % 9;
        p[i] = (i * 7) % N;
        for (j = 0; j < M; j++) A[i][j] = (i * 3 + j) % 5;
    }}
{body}
    double a = 0, b = 0, c = 0;
    for (i = 0; i < N; i++) {{
        c += (i + 1) * (x[i] + 2 * y[i] + 3 * z[i]);
        for (j = 0; j < M; j++) {{ a += (i + 2 * j) * A[i][j]; b += (2 * i + j) * B[i][j]; }}
    }}
    for (i = 0; i < 8; i++) c += (i + 1) * h[i];
    printf("%.17g %.17g %.17g %.17g %.17g %d %d\\n", a, b, c, s, q, count, mask);
    return 0;
}}
"""
