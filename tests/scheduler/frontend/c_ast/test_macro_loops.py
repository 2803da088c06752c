"""Loops that macros make, whole or in part."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.ir.nest import If, Loop, Statement
from tests.scheduler.frontend.support import lines, nest, read

HEAD = """#define FOR(i, n) for (int i = 0; i < (n); i++)
#define EACH(i, j) for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++)
#define FILL(p, n, v) do { for (int q = 0; q < (n); q++) (p)[q] = (v); } while (0)
#define ZERO(p, n) for (int q = 0; q < (n); q++) p[q] = 0
#define OPEN(i, n) for (int i = 0; i < (n); i++) {
#define CLOSE }
#define LOOP(i, n, body) FOR(i, n) { body; }
#define SWAP(x, y) do { double t_ = (x); (x) = (y); (y) = t_; } while (0)
#define WHEN(c) if (c) for (int i = 0; i < 9; i++)
#define TWO a[0] = 1; for (int i = 0; i < 9; i++)
#define MORE ; a[3] = 2;
#define ELSE else for (int i = 0; i < 9; i++)
#define MARKED(i, n) _Pragma("omp parallel for") for (int i = 0; i < (n); i++)
#define HIDDEN(i, n) MARKED(i, n)
#define TEST(c) for (; c;)
double a[9], b[9], g[9][9];
"""
WHOLE = {
    "FOR(i, 9) a[i] = 1;": (["for i = 0 to 9", " a[i] = 1"], "FOR(i, 9) a[i] = 1;"),
    "EACH(i, j) g[i][j] = i;": (["for i = 0 to 9", " for j = 0 to 9", "  g[i][j] = i"], "EACH(i, j) g[i][j] = i;"),
    "FILL(a, 9, q);": (["for q = 0 to 9", " a[q] = q"], "FILL(a, 9, q);"),
    "{ ZERO(a, 9); }": (["for q = 0 to 9", " a[q] = 0"], "ZERO(a, 9);"),
    "OPEN(i, 9) a[i] = 1; CLOSE ;": (["for i = 0 to 9", " a[i] = 1"], "OPEN(i, 9) a[i] = 1; CLOSE"),
    "LOOP(i, 9, a[i] = 1; b[i] = 2)": (
        ["for i = 0 to 9", " a[i] = 1", " b[i] = 2"],
        "LOOP(i, 9, a[i] = 1; b[i] = 2)",
    ),
    "FOR(i, 4) SWAP(a[i], a[8 - i]);": (
        ["for i = 0 to 4", " t_ = a[i]", " a[i] = a[-i + 8]", " a[-i + 8] = t_"],
        "FOR(i, 4) SWAP(a[i], a[8 - i]);",
    ),
    "if (k) ; else FOR(i, 9) a[i] = 1;": (["for i = 0 to 9", " a[i] = 1"], "FOR(i, 9) a[i] = 1;"),
    "for (int i = 0; i < 9; i++) FOR(j, i) g[i][j] = 1;": (
        ["for i = 0 to 9", " for j = 0 to i", "  g[i][j] = 1"],
        "for (int i = 0; i < 9; i++) FOR(j, i) g[i][j] = 1;",
    ),
}


@pytest.mark.parametrize("text", WHOLE)
def test_whole_loops(text: str) -> None:
    expected, bytes_ = WHOLE[text]
    found = read(f"{HEAD}void f(int k) {{ {text} }}")
    (one,) = found.nests
    assert not found.rejections
    assert lines(one) == expected
    assert one.span is not None and found.content[one.span.begin : one.span.end].decode() == bytes_


PARTS = {
    "WHEN(k) a[i] = 1;": "only a part",
    "TWO a[i] = 1;": "only a part",
    "for (int i = 0; i < 9; i++) a[i] = 1 MORE": "goes on",
    "if (k) a[0] = 1; ELSE a[i] = 1;": "only a part",
    "MARKED(i, 9) a[i] = 1;": "pragma",
    "HIDDEN(i, 9) a[i] = 1;": "pragma",
    "FOR(j, 9) MARKED(i, 9) g[i][j] = 1;": "pragma",
    "TEST(k > 3) k--;": "a macro or another file",
}


@pytest.mark.parametrize("text", PARTS)
def test_parts_of_what_a_macro_makes(text: str) -> None:
    found = read(f"{HEAD}void f(int k) {{ {text} }}")
    assert not found.nests
    assert PARTS[text] in found.rejections[0].reason
    assert found.rejections[0].span.line == HEAD.count("\n") + 1


def test_one_that_does_not_parse_in_braces_costs_no_other() -> None:
    loops = "".join(f"FOR(i, 9) a[i] += {k};\nk++;\n" for k in range(30))
    found = read(f"{HEAD}void f(int k) {{\n{loops} if (k) a[0] = 1; ELSE a[i] = 1;\n }}")
    assert sum(len(n.body) for n in found.nests) >= 30
    assert [r.reason for r in found.rejections] == ["the loop is only a part of what a macro stands for"]


def test_a_macro_of_a_header_with_a_pragma(tmp_path: Path) -> None:
    (tmp_path / "loops.h").write_text('#define FOR(i) _Pragma("omp simd") for (int i = 0; i < 9; i++)\n')
    found = read('#include "loops.h"\nint a[9]; void f(void) { FOR(i) a[i] = 1; }', f"-I{tmp_path}")
    assert not found.nests and "pragma" in found.rejections[0].reason


def test_one_time_loops_that_something_leaves_stay_loops() -> None:
    code = "void f(int n, double *a) { for (int i = 0; i < n; i++) do { if (a[i] > 0) break; a[i] = 1; } while (0); }"
    (loop,) = nest(code).body
    assert isinstance(loop, Loop) and isinstance(loop.body[0], Statement)
    (inner,) = loop.body[0].body
    assert isinstance(inner, If) and inner.flow == "while"


def test_a_pragma_above_a_macro_belongs_to_its_outermost_loop() -> None:
    code = "#pragma omp parallel for schedule(static)\nEACH(i, j) { double t = g[j][i]; g[i][j] += 2 * t; }"
    found = read(f"{HEAD}void f(void) {{\n{code}\n}}")
    (one,) = found.nests
    (shared,) = found.sharing[one.name].shared
    assert shared.loop == "i"
    assert one.span is not None and found.content[one.span.begin :].startswith(b"#pragma omp")


def test_loops_from_macros_beside_structures() -> None:
    code = (
        "struct c { double re, im; } w[9];\nvoid f(void) { struct c s = {0, 0}; FOR(i, 9) s.re += w[i].im; w[0] = s; }"
    )
    assert len(read(HEAD + code).nests) == 1
