"""Loops and jumps that are read as something else: the same nest as when it is written plainly."""

import pytest

from scheduler.ir.text import canonical_form, format_nest, parse_nest, without_spans
from tests.scheduler.frontend.support import assumptions, lines, nest, read, refusal

PLAIN = "for (int i = 0; i < n; i++) a[i] = 2 * a[i];"


def text(body: str, parameters: str = "int n, int m, double *restrict a, const int *restrict k") -> str:
    """The body of the nest as the text form shows it."""
    found = nest(f"void f({parameters}) {{ {body} }}")
    assert parse_nest(format_nest(found)) == without_spans(found)
    return format_nest(found)


def canonical(body: str) -> str:
    return canonical_form(nest(f"void f(int n, int m, double *restrict a, const int *restrict k) {{ {body} }}"))[0]


@pytest.mark.parametrize(
    "body",
    [
        "int i = 0; while (i < n) { a[i] = 2 * a[i]; i++; }",
        "int i = 0; while (i < n) { a[i] = 2 * a[i]; i += 1; }",
        "int i; i = 0; while (n > i) { a[i] = 2 * a[i]; ++i; }",
        "int i, j; i = 0; j = m; while (i < n) { a[i] = 2 * a[i]; i = i + 1; } a[0] = j;",
        "for (int i = 0; i < n;) { a[i] = 2 * a[i]; i++; }",
        "int i = 0; for (; i < n; i++) a[i] = 2 * a[i];",
        "int i = 0; double *p = a, *q = a; for (; i < n; i++, p++, ++q) *p = 2 * *q;",
        "int i = 0; for (;;) { if (i >= n) break; a[i] = 2 * a[i]; i++; }",
        "int i = 0; while (1) { if (!(i < n)) break; a[i] = 2 * a[i]; i++; }",
        "for (int i = 0;; i++) { if (i >= n) break; a[i] = 2 * a[i]; }",
        "for (int i = 0; i < n; i++) do { a[i] = 2 * a[i]; } while (0);",
    ],
)
def test_counting_loops(body: str) -> None:
    assert canonical(body).partition("for")[2] == canonical(PLAIN).partition("for")[2]


@pytest.mark.parametrize(
    "body", ["int i = 0; do { a[i] = 1; i++; } while (i < n);", "int i = 0; do a[i] = 1; while (++i < n);"]
)
def test_a_loop_that_runs_once_at_least(body: str) -> None:
    assert assumptions(nest(f"void f(int n, double *a) {{ {body} }}")) == {"n - 1 >= 0"}
    assert "once" in refusal("void f(int *k, double *a) { int i = 0; do { a[i] = 1; i++; } while (i < k[0]); }").reason


def test_a_start_that_is_not_certain() -> None:
    for before in ("int i = 0; if (m) i = 1;", "int i = m; m = 2;", "int i = 0; i++;"):
        found = nest(f"void f(int n, int m, double *a) {{ {before} while (i < n) {{ a[i] = m; i++; }} }}")
        assert lines(found) == ["for i_2 = i to n", " a[i_2] = m"]
    code = "int f(int n, double *a) { int i = 0; while (i < n) { a[i] = 1; i++; } return i; }"
    assert lines(nest(code)) == ["for i_2 = 0 to n", " a[i_2] = 1", "i = ((0 < n) ? n : 0)"]
    code = "int f(int n, double *a) { int i = n; while (i--) a[i] = 1; return i; }"
    assert refusal(code).reason == "a while loop"


SEARCH = """for (int i = 0; i < n; i++) {
    int h = k[i] & 63, found = -1;
    while (k[h] != 0) { if (k[h] == i) { found = h; break; } h = (h + 1) & 63; }
    a[i] = found; }"""


def test_a_search_is_one_statement() -> None:
    found = text(SEARCH)
    assert "while (k[opaque(h)] != 0) {" in found
    assert "    } break;" in found
    assert "array found: int private(i);" in found


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("int j; for (j = 0; j < m && a[j] > i; j++) ; s = j;", "while (j < m && a[opaque(j)] > i)"),
        ("for (int j = m; j > 0; j /= 2) s += k[j];", "while (j > 0)"),
        ("for (int j = k[i]; j >= 0; j = k[j]) { if (j == 3) continue; s++; }", "if (j != 3)"),
        ("do { s += 2; } while (s < m);", "while (1) {"),
        ("while (s < m) { if (k[s]) { s++; } else { s += 9; break; } }", "if (!k[opaque(s)]) {"),
        ("while (1) { s++; if (s > m) break; }", "if (s > m) {} break;"),
    ],
)
def test_other_loops_inside(loop: str, expected: str) -> None:
    assert expected in text(f"for (int i = 0; i < n; i++) {{ int s = 0; {loop} a[i] = s; }}")


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ("case 0: a[i] = 1; break; case 1: case 2: a[i] = 2; break; default: a[i] = 3;", "} else {"),
        ("default: a[i] = 3; break; case 7: a[i] = 1;", "if (k[i] == 7) {"),
        ("case 'a': { a[i] = 1; break; } case 4: ;", "if (k[i] == 97) {"),
        ("case 1: continue; case 4: a[i] = 1;", "if (k[i] == 4) {"),
    ],
)
def test_switch(cases: str, expected: str) -> None:
    assert expected in text(f"for (int i = 0; i < n; i++) {{ switch (k[i]) {{ {cases} }} }}")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("switch (k[i]) { case 1: a[i] = 1; case 2: { int t = m; a[i] = t; } }", "contains a switch"),
        ("switch (k[i]) { case 1: if (m) break; a[i] = 1; break; case 2: a[i] = 2; }", "contains a switch"),
        ("while (a[i] > 1) { if (m) return; a[i] /= 2; }", "returns from the function"),
        ("while (a[0] > i) { for (int j = 0; j < n; j++) a[j] /= 2; }", "no loop around loops that do not count"),
        ("while (a[i] > 1) { if (m) goto out; a[i] /= 2; } out: ;", "goto"),
    ],
)
def test_refused(body: str, reason: str) -> None:
    code = f"void f(int n, int m, double *a, int *k) {{ for (int i = 0; i < n; i++) {{ {body} }} }}"
    assert any(reason in r.reason for r in read(code).rejections)


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for (k = 0, s = 0.5; k < n; k++) s += a[k];", ["s = 0.5", "for k = 0 to n", " s += a[k]"]),
        ("for (k = 0, s = 1; k < n; k++, s += d) a[k] = s;", ["s = 1", "for k = 0 to n", " a[k] = s", " s += d"]),
        ("for (int i = 0, j = 5; i < n; ++i) { j = (j + c[i]) % 9; a[i] = j; }", ["j = 5", "for i = 0 to n"]),
        ("for (k = m = 0; k < n; k++, m += 2) a[m] = 1;", ["for k = 0 to n", " a[2*k] = 1"]),
    ],
)
def test_what_a_header_does_besides_counting(loop: str, expected: list[str]) -> None:
    code = f"double f(int n, double d, double *a, const int *restrict c) {{ int k, m; double s = 0; {loop} return s; }}"
    assert lines(nest(code))[: len(expected)] == expected


@pytest.mark.parametrize(
    "loop",
    [
        "for (k = 0, s = k; k < n; k++) s += a[k];",
        "for (k = 0, s = 1; k < n; k++, s += k) a[k] = s;",
        "for (k = m, m = 1; k < n; k++) a[k] = m;",
        "for (k = 0, s = 1; k < n; k++, s += d) { if (a[k] < 0) continue; a[k] = s; }",
        "for (k = 0, s = 1; k < n && s < 9; k++, s += d) a[k] = s;",
        "for (int i = 0, j = i; i < n; ++i) { j = (j + c[i]) % 9; a[i] = j; }",
    ],
)
def test_what_depends_on_the_iterator_stays_in_the_header(loop: str) -> None:
    head = "double f(int n, double d, double *a, const int *restrict c) { int k, m = 0; double s = 0;"
    code = f"{head} {loop} return s; }}"
    assert not read(code).nests and read(code).rejections
