"""Statements, conditions, expressions and their types."""

from __future__ import annotations

import pytest

from scheduler.ir.nest import Assign, Binary, Cast, Literal, Statement
from scheduler.ir.walk import placed_statements
from tests.scheduler.frontend.support import assumptions, lines, loop, nest, refusal, shape


def first(code: str) -> Assign:
    placed = next(placed_statements(nest(code)))
    action = placed.statement.body[0]
    assert isinstance(action, Assign)
    return action


CONDITIONS = [
    ("i == m", "if i - m == 0"),
    ("i != m", "if i - m - 1 >= 0 or -i + m - 1 >= 0"),
    ("i < m && i > 2", "if -i + m - 1 >= 0 and i - 3 >= 0"),
    ("i < m || i > 2", "if -i + m - 1 >= 0 or i - 3 >= 0"),
    ("!(i < m || i > 2)", "if i - m >= 0 and -i + 2 >= 0"),
    ("i % 3 == 1", "if i + 2 mod 3"),
    ("i % 2", "if i - 2*floor((i)/2) - 1 >= 0"),
    ("(i & 1) == 0", "if i mod 2"),
    ("(i - m) % 3 == 0", "if i - m mod 3"),
    ("(i - m) % 3 == 2", "if i - m + 1 mod 3 and i - m >= 0"),
    ("(i - m) % 3 == -1", "if i - m + 1 mod 3 and -i + m >= 0"),
    ("i", "if i - 1 >= 0 or -i - 1 >= 0"),
    ("i < (m < 4 ? m : 4)", "if -i + m - 1 >= 0 and -i + 3 >= 0"),
    ("i / 4 == m", "if -m + floor((i)/4) == 0"),
]


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS, ids=[c[0] for c in CONDITIONS])
def test_affine_conditions(condition: str, expected: str) -> None:
    found = loop("int i = 0; i < n; i++", f"if ({condition}) a[i] = 0")
    assert lines(found)[1] == " " + expected
    assert not assumptions(found)


def test_else_is_the_negation() -> None:
    found = loop("int i = 0; i < n; i++", "if (i < m && i != 3) a[i] = 0; else a[i] = 1")
    assert lines(found)[1:] == [
        " if -i + m - 1 >= 0 and i - 4 >= 0 or -i + m - 1 >= 0 and -i + 2 >= 0",
        "  a[i] = 0",
        " if i - m >= 0 or i - 3 == 0",
        "  a[i] = 1",
    ]


def test_constant_conditions() -> None:
    code = "{ if (1) a[i] = 0; if (0) a[0] = 1; else a[i] = 3; if (sizeof(int) == 4 && i > 2) a[i] += 2; }"
    assert lines(loop("int i = 0; i < n; i++", code))[1:] == [" a[i] = 0", " a[i] = 3", " if i - 3 >= 0", "  a[i] += 2"]


def test_data_dependent_branches_are_one_statement() -> None:
    code = "if (a[i] > 0 && i > 2) { double t = a[i]; a[i] = t * t; } else if (a[i] < -1) a[0]--"
    found = loop("int i = 0; i < n; i++", code)
    assert lines(found)[1:] == [
        " if ((a[i] > 0) && (i > 2)) {t = a[i]; a[i] = (t * t)} else {if (a[i] < -1) {a[0] -= 1}}"
    ]


def test_data_dependent_branches_with_loops() -> None:
    code = """void f(int n, const double *w, double A[n][n]) {
        for (int i = 0; i < n; i++) if (w[i] > 0) for (int j = 0; j < n; j++) A[i][j] = 0;
            else { A[i][i] = 1; for (int j = 0; j < n; j++) A[i][j] += 1; } }"""
    assert lines(nest(code))[1:] == [
        " when (w[i] > 0)",
        "  for j = 0 to n",
        "   A[i][j] = 0",
        " when !(w[i] > 0)",
        "  A[i][i] = 1",
        "  for j_2 = 0 to n",
        "   A[i][j_2] += 1",
    ]


def test_a_condition_the_branch_changes_is_kept() -> None:
    code = """void f(int n, double *w, double A[n][n]) {
        for (int i = 0; i < n; i++) if (w[i] > 0) w[i] = -1; else for (int j = 0; j < n; j++) A[i][j] = 0; }"""
    assert lines(nest(code))[1:] == [
        " taken = (w[i] > 0)",
        " when taken",
        "  w[i] = -1",
        " when !taken",
        "  for j = 0 to n",
        "   A[i][j] = 0",
    ]


def test_continue() -> None:
    code = "{ if (i == 3) continue; a[i] = 1; if (a[i] > m) continue; a[0] = 2; a[1] = 3; }"
    assert lines(loop("int i = 0; i < n; i++", code))[1:] == [
        " if i - 4 >= 0 or -i + 2 >= 0",
        "  a[i] = 1",
        "  if !(a[i] > m) {a[0] = 2; a[1] = 3}",
    ]


def test_continue_in_odd_places_is_refused() -> None:
    code = """void f(int n, double *a) {
        for (int i = 0; i < n; i++) {
            if (a[i] > 0) { if (a[i] > 9) continue; a[i] = 1; } double t = a[i]; a[i] = 2 * t; } }"""
    assert "continue" in refusal(code).reason


def test_assignments() -> None:
    found = loop("int i = 0; i < n; i++", "{ a[0] = a[1] = 2; a[i]++; --a[i]; a[i] /= 3, a[i] -= 1; (void)m; ; }")
    assert lines(found)[1:] == [
        " a[1] = 2; a[0] = a[1]",
        " a[i] += 1",
        " a[i] -= 1",
        " a[i] /= 3; a[i] -= 1",
    ]


def test_literals_keep_their_spelling() -> None:
    code = """#define H 0.25f
        void f(float *a) { for (int i = 0; i < 9; i++) a[i] = 1e-3F + .5f + 0x1p-3f + H + 'a' + 7u; }"""
    assert lines(nest(code))[1] == " a[i] = (((((1e-3F + .5f) + 0x1p-3f) + 0.25f) + 97) + 7u)"


def test_negative_and_large_constants() -> None:
    code = """#include <limits.h>
        enum { A = -3 };
        void f(long *a) { for (int i = 0; i < 9; i++) a[i] = A + -7 + 4294967296 + INT_MIN; }"""
    assert lines(nest(code))[1] == " a[i] = (((-3 + -7) + 4294967296l) + (-2147483647 - 1))"


def test_infinity() -> None:
    code = """#include <math.h>
        void f(double *a, float *b) { for (int i = 0; i < 9; i++) { a[i] = INFINITY; a[i] = HUGE_VAL; } }"""
    values = [p.statement.body[0] for p in placed_statements(nest(code))]
    assert all(isinstance(v, Assign) and isinstance(v.value, Literal | Cast) for v in values)


def test_conversions_that_change_meaning_are_casts() -> None:
    code = "void f(int n, float *a, double *b, int *c) { for (int i = 0; i < n; i++) a[i] = (float)b[i] * c[i]; }"
    action = first(code)
    assert isinstance(action.value, Binary) and action.value.ctype == "float"
    assert action.value.left.ctype == "float" and isinstance(action.value.left, Cast)
    assert action.value.right.ctype == "int"
    narrow = """static float g(float x) { return x; }
        void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = g(a[i]) + 1; }"""
    assert lines(nest(narrow))[1] == " a[i] = ((float)a[i] + 1)"
    shorts = """static short g(short x) { return x + 1; }
        void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = g(a[i]) * 2; }"""
    assert lines(nest(shorts))[1] == " a[i] = ((short)((short)a[i] + 1) * 2)"


def test_types_of_nodes() -> None:
    action = first("void f(int n, unsigned char *a, double *b) { for (int i = 0; i < n; i++) b[i] = a[i] * 2 > b[i]; }")
    assert isinstance(action.value, Binary) and action.value.ctype == "int"
    assert isinstance(action.value.left, Binary) and action.value.left.ctype == "int"
    assert action.value.left.left.ctype == "unsigned char"


def test_mathematical_calls() -> None:
    code = """#include <math.h>
        #include <stdlib.h>
        void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = fmin(sqrt(i), pow(a[i], 2)) + abs(i); }"""
    assert lines(nest(code))[1] == " a[i] = (fmin(sqrt((double)i), pow(a[i], 2.0)) + abs(i))"


def test_values_and_sizes() -> None:
    code = """int g; void f(int n, int k, double alpha, double *a) {
        for (int i = 0; i < n; i++) a[i] = alpha * k + n + g; }"""
    found = nest(code)
    assert [p.name for p in found.parameters] == ["n"]
    assert {a.name for a in found.arrays if a.is_scalar and a.const} == {"alpha", "k", "g"}
    assert lines(found)[1] == " a[i] = (((alpha * k) + n) + g)"


def test_statement_spans() -> None:
    code = "void f(int n, double *a) {\n  for (int i = 0; i < n; i++) {\n    a[i] = 1;\n    a[0] += 2;\n  }\n}"
    spans = [p.statement.span for p in placed_statements(nest(code))]
    found = [(s.line, s.column, code[s.begin : s.end]) for s in spans if s]
    assert found == [(3, 5, "a[i] = 1;"), (4, 5, "a[0] += 2;")]
    assert all(isinstance(p.statement, Statement) for p in placed_statements(nest(code)))


def test_macros_in_bodies() -> None:
    code = """#define IDX(i, j) ((i) * n + (j))
        #define BODY(i) a[i] = 3
        void f(int n, double *a) { for (int i = 0; i < n; i++) { BODY(i); a[IDX(i, i)] += 1; } }"""
    found = nest(code)
    assert shape(found, "a") == "flat ?, n"
    assert lines(found)[1:] == [" a[0][i] = 3", " a[i][i] += 1"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("isnan(x[i])", "(x[i] != x[i])"),
        ("isfinite(x[i])", "(((x[i] == x[i]) && (x[i] != 1e999)) && (x[i] != -1e999))"),
        ("isinf(x[i])", "((x[i] == 1e999) - (x[i] == -1e999))"),
        ("isnan(f[i]) ? NAN : f[i]", "((f[i] != f[i]) ? NAN : f[i])"),
        ('i ? __builtin_nan("") : -INFINITY', "(i ? NAN : -1e999f)"),
    ],
)
def test_numbers_that_are_none(text: str, read: str) -> None:
    code = f"""#include <math.h>
        void g(double *restrict a, const double *x, const float *f, int n) {{
            for (int i = 0; i < n; i++) a[i] = {text}; }}"""
    assert lines(nest(code))[-1].strip() == f"a[i] = {read}"


def test_labels_that_nobody_jumps_to() -> None:
    found = nest("void f(int n, double *a) { outer: for (int i = 0; i < n; i++) { inner: a[i] = 0; next: ; } }")
    assert lines(found)[1].strip() == "a[i] = 0" and found.span is not None and found.span.column == 35


@pytest.mark.parametrize(
    "jump", ["goto next;", "static void *where[] = {&&next}; goto *where[0];", 'asm goto ("" :::: next);']
)
def test_labels_that_jumps_lead_to(jump: str) -> None:
    code = f"void f(int n, double *a) {{ for (int i = 0; i < n; i++) {{ next: a[i] = 0; }} {jump} }}"
    assert "contains a label" in refusal(code).reason
