"""Variables that move along with a loop, pointers that count, and what is read behind a loop."""

from __future__ import annotations

import pytest

from tests.scheduler.frontend.support import lines, nest, read, refusal

HEAD = "static double A[99], B[99], G[9][9];\n"


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("int i, j; for (i = 0, j = n - 1; i < n; i++, j--) a[i] = b[j];", ["for i = 0 to n", " a[i] = b[-i + n - 1]"]),
        ("for (int i = 0, j = m; i < n; i++, j += 2) a[i] = b[j];", ["for i = 0 to n", " a[i] = b[2*i + m]"]),
        ("int j = 5; for (int i = 0; i < n; i++) { a[i] = b[j]; j++; }", ["for i = 0 to n", " a[i] = b[i + 5]"]),
        ("for (int i = 0; i < n; i++) { m++; a[i] = b[m]; }", ["for i = 0 to n", " a[i] = b[i + m + 1]"]),
        ("for (int i = 0; i < n; i += 2) { m += 4; a[i] = b[m]; }", ["for i = 0 to n by 2", " a[i] = b[2*i + m + 4]"]),
        (
            "for (int i = n - 1; i >= 0; i--) { a[i] = b[m]; m -= 1; }",
            ["for i = n - 1 to -1 by -1", " a[i] = b[i + m - n + 1]"],
        ),
        ("for (int i = 0; i < n; i++) *a++ = 2 * *b++;", ["for i = 0 to n", " a[i] = (2 * b[i])"]),
        ("double *p = a; for (int i = 0; i < n; i++) { *p = 1; p += 3; }", ["for i = 0 to n", " a[3*i] = 1"]),
        ("for (double *p = a; p < a + n; p++) *p = 1;", ["for p_at = 0 to n", " a[p_at] = 1"]),
        ("double *p = a + m; while (p != a + n) *p++ = 1;", ["for p_at = 0 to -m + n", " a[m + p_at] = 1"]),
        ("for (double *p = A; p <= &A[n]; p += 2) *p = 1;", ["for p_at = 0 to n + 1 by 2", " A[p_at] = 1"]),
        ("for (int i = 0, j = n; i < j; i++, j--) a[i] += m;", ["for i = 0 to floor((n + 1)/2)", " a[i] += m"]),
        ("while (n--) *a++ = 1;", ["for n_2 = n - 1 to -1 by -1", " a[n - n_2 - 1] = 1"]),
        ("while (--n >= 0) a[n] = 1;", ["for n_2 = n - 1 to -1 by -1", " a[n_2] = 1"]),
        ("for (int i = n; i; i--) a[i] = 1;", ["for i = n to 0 by -1", " a[i] = 1"]),
    ],
)
def test_moved(body: str, written: list[str]) -> None:
    found = lines(nest(f"{HEAD}void f(int n, int m, double *restrict a, const double *restrict b) {{ {body} }}"))
    assert found == written


def test_of_two_loops() -> None:
    code = "void f(int n, int m, double *a, double *b) { int k = 0; LOOPS a[0] = k; }"
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { a[i * m + j] = b[k]; k++; }"
    found = lines(nest(code.replace("LOOPS", loops).replace(" a[0] = k;", "")))
    assert found == ["for i = 0 to n", " for j = 0 to m", "  a[i][j] = b[i][j]"]
    assert "k = " in lines(nest(code.replace("LOOPS", loops)))[-1]


@pytest.mark.parametrize(
    "loops",
    [
        "for (int i = 0; i < n; i++) { int c = i % 3; for (int j = 0; j < c; j++) { a[k] = b[i]; k++; } }",
        "for (int i = 0; i < n; i++) for (int j = 0, c = i % 3; j < c; j++) { a[k] = b[i]; k++; }",
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) { a[k] = b[i]; k++; }",
        "for (int i = 0; i < n; i++) { int c = i % 3; a[k] = b[i]; k += c; }",
    ],
)
def test_of_amounts_that_differ_from_iteration_to_iteration(loops: str) -> None:
    source = read(
        f"{HEAD}int f(int n, double *restrict a, const double *restrict b) {{ int k = 0; {loops} return k; }}"
    )
    (found,) = source.nests
    assert any("k += " in line for line in lines(found)) and any("a[~" in line for line in lines(found))


def test_rows() -> None:
    code = """void f(int n) { for (int i = 0; i < n; i++) {
        double *p = G[i], *e = p + 9; while (p < e) *p++ = i; } }"""
    assert lines(nest(HEAD + code)) == ["for i = 0 to n", " for p_at = 0 to 9", "  G[i][p_at] = i"]


@pytest.mark.parametrize(
    ("body", "last"),
    [
        ("int i; for (i = m; i < n; i++) a[i] = 1; return i;", "i = ((m < n) ? n : m)"),
        ("int i; for (i = 0; i <= n; i++) a[i] = 1; return i;", "i = ((0 <= n) ? (n + 1) : 0)"),
        ("int i; for (i = n; i > m; i--) a[i] = 1; return i;", "i = ((n > m) ? m : n)"),
        ("int i; for (i = 0; i != n; i++) a[i] = 1; return i;", "i = n"),
        ("for (int i = 0; i < n; i++) { a[i] = 1; m += 2; } return m;", "m += (2 * (int)((0 < n) ? n : 0l))"),
    ],
)
def test_read_behind(body: str, last: str) -> None:
    assert lines(nest(f"int f(int n, int m, double *a) {{ {body} }}"))[-1] == last


@pytest.mark.parametrize(
    "body",
    [
        "int k = 0; for (int i = 0; i < n; i++) { if (a[i] > 0) k++; b[k] = 1; }",
        "int k = 0; for (int i = 0; i < n; i++) { k++; b[k] = 1; k++; }",
        "int k = 0; for (int i = 0; i < n; i++) { b[k] = 1; k += i; }",
        "int k = 0; for (int i = 0; i < n; i++) { if (a[i] > 0) continue; b[k] = 1; k++; }",
        "int k = 0; for (int i = 0; i < n; i++) { b[k] = 1; k += k; }",
        "unsigned char k = 0; for (int i = 0; i < n; i++) { b[k] = 1; k++; }",
        "static int k; for (int i = 0; i < n; i++) { b[k] = 1; k++; }",
    ],
)
def test_not_moved(body: str) -> None:
    found = read(f"void f(int n, double *a, double *b) {{ {body} }}")
    assert all("b[~" in "".join(lines(n)) or "k" not in "".join(lines(n)) for n in found.nests)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for (double *p = a; p < b; p++) *p = 1;", "counts with 'p'"),
        ("for (double *p = a; p < a + n; p++) { if (*p > 1) break; *p = 1; }", "counts with 'p'"),
        ("for (float *p = (float *)a; p < (float *)(a + n); p++) *p = 1;", "counts with 'p'"),
        ("int k = 0; for (int i = 0; i < k; i++) { a[i] = 1; k += 2; }", "changes 'k', which its limit depends on"),
        ("int k = 0; for (int i = 0; i < n; i++, k += i) { if (i == 2) continue; a[i] = b[k]; }", "just its iterator"),
    ],
)
def test_refused(body: str, reason: str) -> None:
    assert reason in refusal(f"void f(int n, double *a, double *b) {{ {body} }}").reason


def test_a_loop_that_is_not_read_keeps_its_variables() -> None:
    """In the loops inside they are what they are there."""
    code = """#include <stdio.h>
        int f(int n, double *restrict a, double *restrict b) { int i, k = 0; double *p = b;
        for (i = 0; i < n; i++) { for (int j = 0; j < n; j++) a[j] += b[k] * p[j]; k += 2; p += n; printf("%d", k); }
        return i; }"""
    found = read(code)
    assert [lines(n) for n in found.nests] == [["for j = 0 to n", " a[j] += (b[k] * p[j])"]]
    assert ["printf" in r.reason for r in found.rejections] == [True]


def test_a_loop_in_a_switch_is_kept_whole() -> None:
    code = """int f(int n, int m, double *a) { int i = 7;
        switch (m) { case 1: for (i = 0; i < n; i++) a[i] = 1; break; default: m = 2; }
        return i + m; }"""
    assert lines(nest(code)) == ["for i_2 = 0 to n", " a[i_2] = 1", "i = ((0 < n) ? n : 0)"]


def test_loops_one_after_the_other() -> None:
    code = """void f(int n, double *a) { int i = 0; for (; i < n - 3; i += 4) { a[i] = 1; a[i + 3] = 2; }
        for (; i < n; i++) a[i] = 3; }"""
    first, second = read(code).nests
    assert lines(first)[:-1] == ["for i_2 = 0 to n - 3 by 4", " a[i_2] = 1", " a[i_2 + 3] = 2"]
    assert lines(second) == ["for i_2 = i to n", " a[i_2] = 3"]
