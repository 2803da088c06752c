"""Loops that are kept as they are, with loops inside them."""

from __future__ import annotations

from tests.scheduler.frontend.support import lines, nest, read


def test_loops_inside_loops_that_do_not_count() -> None:
    loops = "for (int i = 0; i < n; i++) while (a[i] > 1) for (int j = 0; j < 3; j++) a[i] /= 2;"
    found = lines(nest(f"void f(int n, double *a) {{ {loops} }}"))
    assert found == ["for i = 0 to n", " if (a[i] > 1) {j = 0; if (j < 3) {a[i] /= 2; j += 1}}"]
    code = """void f(int n, double *restrict a, double *restrict b) { for (int i = 0; i < n; i++) {
        while (a[0] > i) { for (int j = 0; j < n; j++) a[j] /= 2; } b[i] = a[0]; } }"""
    source = read(code)
    assert [lines(n)[0] for n in source.nests] == ["for j = 0 to n"]  # nothing around it can be run in parallel
    assert "no loop around loops that do not count can be run in parallel" in [r.reason for r in source.rejections]


def test_an_iterator_that_the_body_changes() -> None:
    code = """void f(int n, double *restrict a, int *restrict b) { for (int i = 0; i < n; i++) { int s = 0;
        for (int j = 0; j < n; j++) { if (a[j] > i) j = n - 2; s++; } b[i] = s; } }"""
    assert "j = 0\n if (j < n) {if (a[~j] > i) {j = (n - 2)}" in "\n".join(lines(nest(code)))


def test_a_switch_that_falls_through() -> None:
    code = """void f(int n, int *restrict k, double *restrict a) { for (int i = 0; i < n; i++)
        switch (k[i]) { case 0: a[i] = 1; case 1: a[i] += 2; break; case 2: a[i] = 3; default: a[i]++; } }"""
    text = "\n".join(lines(nest(code)))
    assert text.count("a[i] += 2") == 2 and text.count("a[i] += 1") == 2
