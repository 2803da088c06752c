"""Loop nests as they stand under an OpenMP pragma: right ones, and such that race. Their numbers are small integers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kernel:
    """`loop` is a loop nest, with `clauses` of its pragma; `declared` stands in the function, before any region.

    `sequential`: no pragma makes it right. `possible`: whether iterations meet is up to data.
    """

    name: str
    loop: str
    clauses: str = ""
    declared: str = ""
    race: str = ""
    possible: bool = False
    reduces: bool = False
    flat: bool = False  # the pragma may also ask for the two outer loops: collapse(2)


KERNELS = (
    Kernel(
        "fill",
        "for (i = 0; i < N; i++)\n"
        "    for (j = 0; j < M; j++) { A[i][j] = (i * 5 + j * 3) % 11 + r; B[i][j] = (i + 2 * j) % 7; }",
        clauses="private(j)",
        flat=True,
    ),
    Kernel(
        "stencil",
        "for (i = 1; i < N - 1; i++)\n"
        "    for (j = 1; j < M - 1; j++)\n"
        "        B[i][j] = A[i - 1][j] + A[i + 1][j] - A[i][j - 1] - A[i][j + 1];",
        clauses="private(j)",
        flat=True,
    ),
    Kernel(
        "product",
        "for (i = 0; i < N; i++)\n"
        "    for (j = 0; j < M; j++) {\n"
        "        t = 0;\n"
        "        for (k = 0; k < M; k++) t += (k % 3) * A[i][k];\n"
        "        B[i][j] = t;\n"
        "    }",
        clauses="private(j, k, t)",
    ),
    Kernel(
        "triangle",
        "for (i = 0; i < N; i++)\n    for (int m = 0; m <= i; m++) x[i] += m % 4;",
        clauses="schedule(static, 3)",
    ),
    Kernel(
        "sum",
        "for (i = 0; i < N; i++) s += x[i];",
        clauses="reduction(+: s)",
        reduces=True,
    ),
    Kernel(
        "two-sums",
        "for (i = 0; i < N; i++)\n    for (j = 0; j < M; j++) { s += A[i][j]; q -= B[i][j]; }",
        clauses="private(j) reduction(+: s) reduction(-: q)",
        reduces=True,
    ),
    Kernel(
        "dot",
        "for (int m = 0; m < N; ++m) count += m * (int)x[m] % 5;",
        clauses="reduction(+: count)",
        reduces=True,
    ),
    Kernel(
        "bits",
        "for (i = 0; i < N; i++) mask |= 1 << p[i] % 16;",
        clauses="reduction(|: mask)",
        reduces=True,
    ),
    Kernel(
        "rows",
        "for (i = 0; i < N; i++) {\n    y[i] = 0;\n    for (j = 0; j < M; j++) y[i] += A[i][j];\n}",
        clauses="private(j)",
    ),
    Kernel(
        "gather",
        "for (i = 0; i < N; i++) y[i] = x[p[i]] + 1;",
    ),
    Kernel(
        "scatter",
        "for (i = 0; i < N; i++) y[p[i]] = x[i];",
        race="y",
        possible=True,
    ),
    Kernel(
        "temporary",
        "for (i = 0; i < N; i++) {\n    t = x[i] * 2;\n    y[i] = t + t;\n}",
        clauses="private(t)",
    ),
    Kernel(
        "buffer",
        "for (i = 0; i < N; i++) {\n"
        "    for (j = 0; j < M; j++) w[j] = A[i][j] + 1;\n"
        "    for (j = 0; j < M; j++) B[i][j] = w[M - 1 - j];\n"
        "}",
        clauses="private(j, w)",
        declared="double w[M];",
    ),
    Kernel(
        "inside",
        "for (i = 0; i < N; i++) {\n    double u = x[i];\n    if (u > 3) u = 3 - u;\n    y[i] = u;\n}",
    ),
    Kernel(
        "strided",
        "for (i = 0; i < N / 2; i++) x[2 * i] = x[2 * i + 1] + i;",
    ),
    Kernel(
        "backwards",
        "for (i = N - 1; i >= 0; i--) y[i] = x[N - 1 - i];",
        clauses="schedule(dynamic)",
    ),
    Kernel(
        "skip",
        "for (i = 0; i < N; i++) {\n    if (i % 3 == 0) continue;\n    y[i] = i - x[i];\n}",
        clauses="schedule(guided)",
    ),
    Kernel(
        "copies",
        "for (i = 0; i < N; i++)\n    for (j = 0; j < M; j++) B[i][j] = A[i][M - 1 - j];",
        clauses="private(j)",
        flat=True,
    ),
    Kernel(
        "atomic",
        "for (i = 0; i < N; i++) {\n#pragma omp atomic\n    h[p[i] % 8] += 1;\n}",
    ),
    Kernel(
        "critical",
        "for (i = 0; i < N; i++) {\n#pragma omp critical\n    { s += x[i]; count++; }\n}",
    ),
    Kernel(
        "lanes",
        "for (i = 0; i < N; i++) {\n"
        "    l = 0;\n"
        "#pragma omp simd reduction(+: l)\n"
        "    for (j = 0; j < M; j++) l += A[i][j];\n"
        "    y[i] = l;\n"
        "}",
        clauses="private(j, l)",
        declared="double l = 0;",
    ),
    Kernel(
        "prefix",
        "for (i = 1; i < N; i++) x[i] = x[i - 1] + 1;",
        race="x",
    ),
    Kernel(
        "in-place",
        "for (i = 1; i < N - 1; i++) x[i] = x[i - 1] + x[i + 1];",
        race="x",
    ),
    Kernel(
        "ahead",
        "for (i = 0; i < N - 1; i++) x[i] = x[i + 1] + 1;",
        race="x",
    ),
    Kernel(
        "one-place",
        "for (i = 0; i < N; i++)\n    for (j = 0; j < M; j++) x[j] += A[i][j];",
        clauses="private(j)",
        race="x",
    ),
    Kernel(
        "no-clause",
        "for (i = 0; i < N; i++) s += x[i];",
        race="s",
    ),
    Kernel(
        "shared-temporary",
        "for (i = 0; i < N; i++) {\n    t = x[i] * 2;\n    y[i] = t;\n}",
        race="t",
    ),
    Kernel(
        "shared-iterator",
        "for (i = 0; i < N; i++)\n    for (j = 0; j < M; j++) B[i][j] = A[i][j];",
        race="j",
    ),
    Kernel(
        "columns",
        "for (i = 1; i < N; i++)\n    for (j = 0; j < M; j++) A[i][j] = A[i - 1][j] + 1;",
        clauses="private(j)",
        race="A",
    ),
    Kernel(
        "half",
        "for (i = 0; i < N; i++) y[i / 2] = x[i];",
        race="y",
    ),
    Kernel(
        "wrapped",
        "for (i = 0; i < N; i++) y[i % 8] = x[i];",
        race="y",
    ),
    Kernel(
        "mirrored",
        "for (i = 0; i < N; i++) x[i] = x[N - 1 - i];",
        race="x",
    ),
    Kernel(
        "count",
        "for (i = 0; i < N; i++)\n    if (x[i] > 2) count++;",
        race="count",
    ),
)
