"""Arrays passed to functions: elements of the two declarations must lie alike."""

from __future__ import annotations

import pytest

from tests.scheduler.frontend.support import read

ALIKE = {
    "constant": "double A[64][64]; static void g(double a[64][64], int k) %s void f(void) %l g(A, i); }",
    "constant argument": "double A[64][64]; static void g(int n, double a[n][n], int k) %s "
    "void f(void) %l g(64, A, i); }",
    "parameter": "static void g(int n, double a[restrict n][n], int k) %s "
    "void f(int m, double A[m][m]) %l g(m, A, i); }",
    "pointer to rows": "static void g(int n, double (*a)[n], int k) %s "
    "void f(int m, double (*A)[m]) %l g(m, A + 1, i); }",
    "local": "static void g(int n, double a[n][n], int k) %s double r; "
    "void f(int m) { double A[m][m]; %l g(m, A, i); r = A[1][1]; }",
    "sum": "static void g(int n, double a[n][n + 2], int k) %s void f(int m, double A[m][m + 2]) %l g(m, A, i); }",
}
OTHER = {
    "another size": "double A[64][64]; static void g(int n, double a[n][n], int k) %s void f(int m) %l g(m, A, i); }",
    "a constant size": "double A[64][64]; static void g(double a[][32], int k) %s void f(void) %l g((void *)A, i); }",
    "another variable": "static void g(int n, double a[n][n], int k) %s "
    "void f(int m, int q, double A[m][q]) %l g(m, A, i); }",
    "set since": "static void g(int n, double a[n][n], int k) %s "
    "void f(int m, double A[m][m]) { m /= 2; %l g(m, A, i); }",
    "global": "int m; static void g(int n, double a[n][n], int k) %s void f(double A[m][m]) %l g(m, A, i); }",
}


def written(text: str) -> str:
    body = "{ for (int j = 0; j < 5; j++) a[k][j] += 1; }"
    loop = "for (int i = 0; i < 4; i++)"
    return text.replace("%s", body).replace("{ %l", "{ " + loop).replace("; %l", "; " + loop).replace("%l", "{ " + loop)


@pytest.mark.parametrize("name", ALIKE)
def test_alike(name: str) -> None:
    found = read(written(ALIKE[name]))
    nests = [n for n in found.nests if n.function == "f"]
    assert len(nests) == 1, [r.reason for r in found.rejections]
    assert len(nests[0].array("A").shape) == 2


@pytest.mark.parametrize("name", OTHER)
def test_other_elements(name: str) -> None:
    found = read(written(OTHER[name]))
    assert not [n for n in found.nests if n.function == "f"]
    assert any("other elements" in r.reason for r in found.rejections)


def test_a_subscript_is_computed_at_the_call() -> None:
    code = """static int k; static void g(double *p) { k++; p[0] = 1; }
        double A[9]; void f(void) { for (int i = 0; i < 9; i++) g(&A[k]); }"""
    (found,) = read(code).nests
    assert [a.name for a in found.arrays] == ["p_at", "k", "A"]


def test_sizes_that_change_behind_the_declaration() -> None:
    code = (
        "void f(int m, double A[m][m]) { m /= 2; for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) A[i][j] = 1; }"
    )
    assert "changes behind its declaration" in read(code).rejections[0].reason
    before = """void f(int n) { int m = 3; if (n) m = n; double A[m][m];
        for (int i = 0; i < m; i++) A[i][1] = 1; n = A[0][1]; }"""
    assert len(read(before).nests) == 1
