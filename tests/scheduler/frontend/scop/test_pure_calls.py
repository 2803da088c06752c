"""Helper functions."""

from __future__ import annotations

import pytest

from scheduler.ir.nest import Storage
from tests.scheduler.frontend.support import lines, nest, refusal


def body(helper: str, value: str, parameters: str = "int n, double *a, const int *c") -> list[str]:
    found = nest(f"#include <math.h>\n{helper}\nvoid f({parameters}) {{ for (int i = 0; i < n; i++) a[i] = {value}; }}")
    return [line.strip() for line in lines(found)[1:]]


def test_one_expression() -> None:
    helper = "static inline double relu(double v) { return v > 0 ? v : 0; }"
    assert body(helper, "relu(a[i])") == ["a[i] = ((a[i] > 0) ? a[i] : 0)"]
    assert body(helper, "relu(a[i] + 1)") == ["a[i] = (((a[i] + 1) > 0) ? (a[i] + 1) : 0)"]
    assert body(helper, "relu(relu(a[i]))") == ["v = ((a[i] > 0) ? a[i] : 0); a[i] = ((v > 0) ? v : 0)"]


def test_costly_arguments_are_computed_once() -> None:
    helper = "static double sq(double v) { return v * v; }"
    assert body(helper, "sq(sqrt(a[i]))") == ["v = sqrt(a[i]); a[i] = (v * v)"]
    assert body(helper, "a[i] > 0 ? sq(a[i] / 3) : 1") == ["a[i] = ((a[i] > 0) ? ((a[i] / 3) * (a[i] / 3)) : 1)"]


def test_several_returns() -> None:
    helper = "static int clamp(int v, int l, int h) { if (v < l) return l; if (v > h) return h; else return v; }"
    assert body(helper, "a[clamp(i, 2, 5)]") == ["a[i] = a[~((i < 2) ? 2 : ((i > 5) ? 5 : i))]"]


def test_statements_before() -> None:
    helper = "static unsigned mix(unsigned h) { h ^= h >> 15; h *= 5u; return h; }"
    found = nest(helper + "void f(int n, unsigned *a) { for (int i = 0; i < n; i++) a[i] = mix(a[i]) + mix(7u); }")
    assert lines(found)[1:] == [
        " h = a[i]; h ^= (h >> 15); h *= 5u; h_2 = 7u; h_2 ^= (h_2 >> 15); h_2 *= 5u; a[i] = (h + h_2)"
    ]
    assert {(x.name, x.scope) for x in found.arrays if x.storage == Storage.PRIVATE} == {("h", "i"), ("h_2", "i")}


def test_branches_before() -> None:
    helper = "static double g(double x) { double y = x * x; if (y > 3) y = 3; else y *= 2; return y + x; }"
    assert body(helper, "g(a[i])") == ["y = (a[i] * a[i]); if (y > 3) {y = 3} else {y *= 2}; a[i] = (y + a[i])"]


def test_in_bounds_and_subscripts() -> None:
    code = """static inline int imin(int a, int b) { return a < b ? a : b; }
        static int at(int i, int j, int n) { return i * n + j; }
        static double get(const double *p, int k) { return p[k]; }
        void f(int n, int m, double *a) { for (int i = 0; i < n; i++) for (int j = 0; j < imin(m, 9); j++)
            a[at(i, j, m)] += get(a, at(i, 0, m)); }"""
    assert lines(nest(code)) == ["for i = 0 to n", " for j = 0 to 9, m", "  a[i][j] += a[i][0]"]


def test_in_conditions() -> None:
    code = """static int inside(int i, int n) { return i > 0 && i < n - 1; }
        void f(int n, double *a) { for (int i = 0; i < n; i++) if (inside(i, n)) a[i] = 1; }"""
    assert lines(nest(code))[1] == " if i - 1 >= 0 and -i + n - 2 >= 0"


def test_a_global_keeps_its_name() -> None:
    code = """static int k = 5; static int g(int x) { return x + k; }
        void f(double *a) { for (int j = 0; j < 5; j++) for (int k = 0; k < 2; k++) a[k] += g(j); }"""
    assert lines(nest(code))[1:] == [" for k_2 = 0 to 2", "  a[k_2] += (j + k)"]


REFUSED = [
    ("static int g(int x) { static int t; return x + t; }", "static variable 't'"),
    ("static int g(int x) { int s = 0; while (x) s += x-- * x; return s; }", "inside an expression"),
    ("static int g(int x) { return g(x - 1); }", "calls itself"),
    ("static int g(int x) { if (x) return 1; }", "on every path"),
    ("int g(int x);", "may have side effects"),
    ("static int n; static int g(int x) { return x + n; }", "hidden"),
    ("static int g(int x) { int *p = &x; return *p; }", "takes the address of 'x'"),
    ("static int g(int x) { return ({ x + 1; }); }", "statement expression"),
    ("static int *q; static int g(int x) { return q[x]++; }", "inside an expression"),
]


@pytest.mark.parametrize(("helper", "reason"), REFUSED, ids=[r[1] for r in REFUSED])
def test_refused(helper: str, reason: str) -> None:
    found = refusal(f"{helper}\nvoid f(int n, double *a) {{\n for (int i = 0; i < n; i++)\n  a[i] = g(i);\n}}")
    assert reason in found.reason
    assert "'g'" in found.reason
    assert (found.span.line, found.span.column) == (4, 10)
