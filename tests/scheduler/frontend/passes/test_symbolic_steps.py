"""Loops that advance by a variable, read as loops over their iterations."""

from __future__ import annotations

import pytest

from tests.scheduler.frontend.support import assumptions, lines, loop, read, refusal
from tests.scheduler.frontend.test_given import both, condition


@pytest.mark.parametrize(
    ("header", "bound"),
    [
        ("int i = 0; i < n; i += m", "((n + (m - 1l)) / m)"),
        ("int i = 0; n > i; i = i + m", "((n + (m - 1l)) / m)"),
        ("int i = 1; i <= n; i += m", "(((n - 1) + m) / m)"),
        ("int i = n - 1; i >= 0; i -= m", "(((n - 1) + m) / m)"),
    ],
)
def test_the_number_of_iterations(header: str, bound: str) -> None:
    found = loop(header)
    assert assumptions(found) >= {"m - 1 >= 0"}
    assert lines(found)[0].replace("(long)", "") == f"for i_round = 0 to ~{bound}"


BLOCKS = """void f(int n, int b, double *x, const double *y) {
    for (int ii = 0; ii < n; ii += b) for (int i = ii; i < (ii + b < n ? ii + b : n); i++) x[i] = y[i]; }"""


def test_blocks_of_a_given_size() -> None:
    plain, found = both(BLOCKS, b=16)
    assert "b" in plain.fixable["f_0"]
    assert lines(found) == [
        "for ii_round = 0 to floor((n + 15)/16)",
        " for i = 16*ii_round to 16*ii_round + 16, n",
        "  x[i] = y[i]",
    ]
    assert "b - 16 == 0" in assumptions(found) and "b" in condition(found)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("for (int i = 0; i < n; i += m) { a[i] = 0; m = 3; }", "does not advance by a constant"),
        ("int i; for (i = 0; i < n; i += m) a[i] = 0; a[0] = i;", "does not advance by a constant"),
        ("for (int i = 0; i < n; i += m) { a[i] = 0; if (a[i + 1] > 0) break; }", "does not advance by a constant"),
        ("for (int i = 0; i < n; i += m) { if (a[i] > 0) return; }", "does not advance by a constant"),
        ("for (int i = 0; i < n; i -= m) a[i] = 0;", "does not advance by a constant"),
        ("for (unsigned i = 0; i < n; i += m) a[i] = 0;", "does not advance by a constant"),
        ("for (int i = 0; i < n; i += m) i = 3, a[i] = 0;", "does not advance by a constant"),
    ],
)
def test_what_is_none(code: str, reason: str) -> None:
    assert reason in refusal(f"void f(int n, int m, double *a) {{ {code} }}").reason


def test_the_loops_inside_are_read_where_the_whole_is_not() -> None:
    code = """void g(void); void f(int n, int b, double *x) {
        for (int ii = 0; ii < n; ii += b) { for (int i = ii; i < ii + b; i++) x[i] = 0; g(); } }"""
    (inner,) = read(code).nests
    assert lines(inner) == ["for i = ii to b + ii", " x[i] = 0"]
