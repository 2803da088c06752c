"""Loop headers: bounds, steps, directions, wrap-around."""

from __future__ import annotations

import pytest

from scheduler.ir.nest import Loop
from tests.scheduler.frontend.support import assumptions, lines, loop, nest, read, refusal

FORMS = [
    ("int i = 0; i < n; i++", "for i = 0 to n", ""),
    ("int i = 1; i <= n; ++i", "for i = 1 to n + 1", ""),
    ("int i = 0; n > i; i += 2", "for i = 0 to n by 2", ""),
    ("int i = 0; n >= i; i = i + 3", "for i = 0 to n + 1 by 3", ""),
    ("int i = 0; i < n; i = 3 + i", "for i = 0 to n by 3", ""),
    ("int i = 0; i + 2 < n; i++", "for i = 0 to n - 2", ""),
    ("int i = n - 1; i >= 0; i--", "for i = n - 1 to -1 by -1", ""),
    ("int i = n; i > m; i -= 4", "for i = n to m by -4", ""),
    ("int i = n; i-- > 0;", "for i = n - 1 to -1 by -1", ""),
    ("int i = n; i--;", "for i = n - 1 to -1 by -1", "n >= 0"),
    ("int i = 0; i != n; i++", "for i = 0 to n", "n >= 0"),
    ("int i = m; i != n; i--", "for i = m to n by -1", "m - n >= 0"),
    ("int i = 0; i < 2 * n - m + 1; i++", "for i = 0 to -m + 2*n + 1", ""),
    ("int i = 0; i < n / 2; i++", "for i = 0 to floor((n)/2)", "n >= 0"),
    ("int i = 0; i < n && i <= m; i++", "for i = 0 to m + 1, n", ""),
    ("int i = m > 3 ? m : 3; i < (n < m ? n : m); i++", "for i = 3, m to m, n", ""),
    ("int i = 0; i < (n < m ? n : m) - 1; i++", "for i = 0 to m - 1, n - 1", ""),
    ("long i = 0; i < n; i++", "for i = 0 to n", ""),
    ("size_t i = 0; i < n; i++", "for i = 0 to n", "n >= 0"),
    ("short i = 0; i < 100; i++", "for i = 0 to 100", ""),
    ("int i = 0; i < (n >> 1); i++", "for i = 0 to floor((n)/2)", ""),
    ("int i = 0; i < n << 1; i++", "for i = 0 to 2*n", ""),
]


@pytest.mark.parametrize(("header", "expected", "assumed"), FORMS, ids=[f[0] for f in FORMS])
def test_forms(header: str, expected: str, assumed: str) -> None:
    found = loop(header)
    assert lines(found)[0] == expected
    assert assumptions(found) == ({assumed} if assumed else set())


UNSIGNED = [
    ("size_t i = n; i-- > 0;", "for i = n - 1 to -1 by -1", set()),
    ("size_t i = 1; i < n - 1; i++", "for i = 1 to n - 1", {"n - 1 >= 0"}),
    ("size_t i = n; i > 0; i--", "for i = n to 0 by -1", set()),
    ("size_t i = n - 1; i < n; i--", "for i = n - 1 to -1 by -1", {"n - 1 >= 0"}),
    ("size_t i = 0; i <= n; i++", "for i = 0 to n + 1", set()),
    ("size_t i = 0; i + 1 < n; i++", "for i = 0 to n - 1", set()),
    ("size_t i = n; i >= 1; i--", "for i = n to 0 by -1", set()),
    ("int i = 0; i < n; i++", "for i = 0 to n", set()),
    ("int i = 0; i < (int)n; i++", "for i = 0 to n", {"-n + 2147483647 >= 0"}),
]


@pytest.mark.parametrize(("header", "expected", "assumed"), UNSIGNED, ids=[f[0] for f in UNSIGNED])
def test_unsigned_forms(header: str, expected: str, assumed: set[str]) -> None:
    found = loop(header, "a[i] = 0", "size_t n, double *a")
    assert lines(found)[0] == expected
    assert assumptions(found) == assumed
    assert found.parameters[0].low == 0


def test_32_bit_unsigned_sums_must_not_wrap() -> None:
    found = loop("unsigned i = 0; i < n + 1; i++", "a[i] = 0", "unsigned n, double *a")
    assert lines(found)[0] == "for i = 0 to n + 1"
    assert assumptions(found) == {"-n + 4294967294 >= 0"}


REFUSED = [
    ("int i = 0; ; i++", "no condition", "for"),
    ("int i = 0; i < n;", "no increment", "for"),
    ("int i = 0, j = 0; i < n; i++, j *= i", "more than one variable", "for"),
    ("int i = 0; i != n; i += m", "constant", "i += m"),
    ("int i = 1; i < n; i *= 2", "constant", "i *= 2"),
    ("int i = 0; i < n; i++, m /= i", "just its iterator", "i++, m"),
    ("int i = 0; i * i < n; i++", "not a comparison", "i * i"),
    ("int i = 0; i < n; i--", "towards its limit", "i < n"),
    ("int i = 0; i != n; i += 2", "step over", "i != n"),
    ("unsigned i = 5; i >= 0; i--", "always >= 0", "i >= 0"),
    ("double x = 0; x < n; x++", "type 'double'", "for"),
    ("int i = 0; i < n * 0.5; i++", "not an integer", "i < n"),
]


@pytest.mark.parametrize(("header", "reason", "at"), REFUSED, ids=[f[0] for f in REFUSED])
def test_refused_headers(header: str, reason: str, at: str) -> None:
    line = f"        for ({header}) a[0] = 0;"
    found = refusal(f"void f(int n, int m, double *a) {{\n{line}\n}}")
    assert reason in found.reason
    assert (found.span.line, found.span.column) == (2, line.index(at) + 1)
    assert found.advice
    assert found.function == "f"


def test_iterator_declared_outside() -> None:
    found = nest("void f(int n, double *a) { int i; for (i = 0; i < n; i++) a[i] = 1; }")
    assert lines(found) == ["for i = 0 to n", " a[i] = 1"]


def test_iterator_read_behind_the_loop() -> None:
    code = "int f(int n, double *a) { int i; for (i = 0; i < n; i++) a[i] = 1; return i; }"
    assert lines(nest(code)) == ["for i_2 = 0 to n", " a[i_2] = 1", "i = ((0 < n) ? n : 0)"]
    found = refusal("int g(void); int f(int n, double *a) { int i; for (i = 0; i < g(); i++) a[i] = 1; return i; }")
    assert "may have side effects" in found.reason


def test_iterator_set_again_before_it_is_read() -> None:
    code = "int f(int n, double *a) { int i; for (i = 0; i < n; i++) a[i] = 1; i = 3; return i; }"
    assert lines(nest(code)) == ["for i = 0 to n", " a[i] = 1"]


_LOOP = "for (j = 0; j < n; j++) a[j] = 1;"


@pytest.mark.parametrize(
    "around",
    [
        "while (m-- > 0) { LOOP if (m == 3) break; j = 0; } for (j = 0; j < 3; j++) ;",
        "while (m-- > 0) { LOOP if (m == 3) continue; m--; } return 0;",
        "while (m-- > 0) { if (m == 3) break; LOOP } j = 2; return j;",
        "switch (m) { case 1: LOOP break; case 2: j = 3; break; } return 0;",
        "switch (m) { case 1: LOOP j = 2; m = j; break; default: break; } return m;",
        "do { LOOP if (m > 5) { j = m; m = j; break; } } while (m++ < 9); return m;",
    ],
)
def test_iterator_is_set_on_every_way_from_the_loop(around: str) -> None:
    code = f"int f(int n, int m, double *a) {{ int j; {around.replace('LOOP', _LOOP)} return 1; }}"
    assert any("a[j] = 1" in "".join(lines(found)) for found in read(code).nests), read(code).rejections


@pytest.mark.parametrize(
    "around",
    [
        "while (m-- > 0) { LOOP if (m == 3) break; j = 0; } return j;",
        "while (m-- > 0) { LOOP if (m == 3) continue; j = 0; } return j;",
        "while (m-- > 0) { if (j == 3) break; LOOP } return 0;",
        "while (m-- > 0) { LOOP { break; } j = 0; } return j;",
        "switch (m) { case 1: LOOP if (n > 2) break; j = 0; } return j;",
        "switch (m) { case 1: LOOP case 2: m = j; break; } return m;",
        "while (m-- > 0) { switch (m) { case 1: LOOP if (n > 2) continue; break; } j = 2; } return j;",
        "while (m-- > 0) { switch (m) { case 1: LOOP break; } if (j > 3) return 3; } return 0;",
        "LOOP goto out; out: return j;",
    ],
)
def test_iterator_is_read_on_some_way_from_the_loop(around: str) -> None:
    found = read(f"int f(int n, int m, double *a) {{ int j = 0; {around.replace('LOOP', _LOOP)} return 1; }}")
    assert len(found.nests) == 1 and any(line.strip() == "j = ((0 < n) ? n : 0)" for line in lines(found.nests[0]))


def test_iterator_changed_in_the_body() -> None:
    found = refusal("void f(int n, double *a) {\n for (int i = 0; i < n; i++) {\n  a[i] = 1;\n  i++; }\n}")
    assert "'i' is changed" in found.reason
    assert (found.span.line, found.span.column) == (4, 3)


def test_limit_changed_in_the_body() -> None:
    found = refusal("void f(int n, double *a) { for (int i = 0; i < n; i++) { a[i] = 1; n--; } }")
    assert "changes 'n'" in found.reason


def test_names_are_unique() -> None:
    code = """void f(int n, int i_2, double *a) {
        for (int i = 0; i < n; i++) a[i] = 1;
        for (int i = 0; i < n; i++) a[i] += i_2;
        for (int i = 0; i < n; i++) a[i] = 3; }"""
    found = nest(code)
    assert [n.name for n in found.body if isinstance(n, Loop)] == ["i", "i_3", "i_4"]


def test_a_name_hidden_by_an_iterator() -> None:
    code = "void f(int i, double *a) { for (int n = 0; n < i; n++) for (int i = 0; i < 3; i++) a[i] += n; }"
    assert lines(nest(code)) == ["for n = 0 to i", " for i_2 = 0 to 3", "  a[i_2] += n"]


def test_data_dependent_bounds() -> None:
    code = """void f(int n, const int *ptr, double *a) {
        for (int i = 0; i < n; i++) for (int p = ptr[i]; p <= ptr[i + 1]; p++) a[p] += 1; }"""
    found = nest(code)
    assert lines(found)[1] == " for p = ~ptr[i] to ~(ptr[i + 1] + 1)"
    inner = found.body[0].body[0]  # type: ignore[union-attr]
    assert isinstance(inner, Loop) and inner.is_opaque


def test_bounds_from_locals_are_put_in() -> None:
    code = """void f(int n, const int *ptr, double *a) {
        for (int i = 0; i < n; i++) { int lo = ptr[i], hi = ptr[i + 1]; int last = i + 1;
            for (int p = lo; p < hi; p++) a[p] += 1;
            for (int j = 0; j < last; j++) a[j] += 1; } }"""
    assert lines(nest(code)) == [
        "for i = 0 to n",
        " for p = ~ptr[i] to ~ptr[i + 1]",
        "  a[p] += 1",
        " for j = 0 to i + 1",
        "  a[j] += 1",
    ]


def test_products_of_sizes_are_opaque_bounds() -> None:
    found = nest("void f(int n, int m, double *a) { for (int i = 0; i < n * m; i++) a[i] = 0; }")
    assert lines(found)[0] == "for i = 0 to ~(n * m)"
    assert {p.name for p in found.parameters} == {"n", "m"}


def test_tiles() -> None:
    code = """#define MIN(a, b) ((a) < (b) ? (a) : (b))
        void f(int n, double *a) {
            for (int ii = 0; ii < n; ii += 32) for (int i = ii; i < MIN(ii + 32, n); i++) a[i] = 0; }"""
    assert lines(nest(code))[1] == " for i = ii to ii + 32, n"


def test_known_sizes_are_parameters_with_a_value() -> None:
    code = "#define N 100\nvoid f(double *a) { const int n = N; for (int i = 0; i < n; i++) a[i] = 0; }"
    found = nest(code)
    assert [(p.name, p.value) for p in found.parameters] == [("n", 100)]


def test_sizes_computed_in_front_are_put_in() -> None:
    code = "void f(int n, double *a) { int half = n / 2; for (int i = 0; i < half; i++) a[i] = a[half + i]; }"
    found = nest(code)
    assert lines(found) == ["for i = 0 to floor((n)/2)", " a[i] = a[i + floor((n)/2)]"]
    assert [p.name for p in found.parameters] == ["n"]


def test_a_size_assigned_twice_is_a_parameter() -> None:
    code = "void f(int n, double *a) { int k = n / 2; k++; for (int i = 0; i < k; i++) a[i] = 0; }"
    assert [p.name for p in nest(code).parameters] == ["k"]


def test_macro_sizes() -> None:
    code = "void f(double a[N][M]) { for (int i = 0; i < N; i++) for (int j = i; j < M; j++) a[i][j] = 0; }"
    found = nest(code, "-DN=7", "-DM=9")
    assert lines(found)[:2] == ["for i = 0 to 7", " for j = i to 9"]
    assert not found.parameters


def test_runs_of_loops_are_one_region() -> None:
    code = """void f(int n, double *a, double *b) {
        double s = 0;
        for (int i = 0; i < n; i++) a[i] = 1;
        s = 2.0;
        for (int i = 0; i < n; i++) b[i] = a[i] * s;
        b[0] = 3; }"""
    found = nest(code)
    assert lines(found) == ["for i = 0 to n", " a[i] = 1", "s = 2.0", "for i_2 = 0 to n", " b[i_2] = (a[i_2] * s)"]
    assert found.name == "f_0"
    assert found.span is not None
    text = code.encode()[found.span.begin : found.span.end]
    assert text.startswith(b"for (int i = 0; i < n; i++) a") and text.endswith(b"* s;")


def test_declarations_end_a_region() -> None:
    code = """void f(int n, double *a) {
        for (int i = 0; i < n; i++) a[i] = 1;
        double s = a[0];
        for (int i = 0; i < n; i++) a[i] = s; }"""
    assert [n.name for n in read(code).nests] == ["f_0", "f_1"]


def test_a_count_made_in_one_loop_is_a_size_of_the_next() -> None:
    code = """void f(int n, double *a) { int k = 0;
        for (int i = 0; i < n; i++) if (a[i] > 0) k++;
        for (int i = 0; i < k; i++) a[i] = 0; }"""
    first, second = read(code).nests
    assert [p.name for p in second.parameters] == ["k"]
    assert [p.name for p in first.parameters] == ["n"]


def test_one_refused_loop_does_not_spoil_the_others() -> None:
    code = """#include <stdio.h>
        void f(int n, double *a) {
        for (int i = 0; i < n; i++) a[i] = 1;
        for (int i = 0; i < n; i++) printf("%f", a[i]);
        for (int i = 0; i < n; i++) a[i] = 2; }"""
    found = read(code)
    assert [lines(n) for n in found.nests] == [["for i = 0 to n", " a[i] = 1"], ["for i = 0 to n", " a[i] = 2"]]
    assert [r.span.line for r in found.rejections] == [4]


def test_inner_loops_of_a_refused_loop() -> None:
    code = """#include <stdio.h>
        void f(int n, double *a) {
        for (int t = 0; t < n; t++) {
            for (int i = 0; i < t; i++) a[i] += t;
            printf("%d", t);
            for (int i = 0; i < n; i++) a[i] *= 2;
        } }"""
    found = read(code)
    assert len(found.rejections) == 1
    assert [n.name for n in found.nests] == ["f_0", "f_1"]
    assert [p.name for p in found.nests[0].parameters] == ["t"]


def test_loops_inside_while_and_if() -> None:
    code = """void f(int n, double *a) { int k = 9; while (k--) { for (int i = 0; i < n; i++) a[i] += k; }
        if (n > 3) for (int i = 0; i < n; i++) a[i] = 0; else for (int i = 0; i < n; i++) a[i] = 1; }"""
    assert len(read(code).nests) == 3


def test_spans_of_unbraced_bodies_reach_the_semicolon() -> None:
    inner = "if (i > 2) a[i] = 0; else a[i] = 1 /* x */ ;"
    code = f"void f(int n, double *a) {{ if (n) for (int i = 0; i < n; i++) {inner} else a[0] = 2; }}"
    span = nest(code).span
    assert span is not None
    assert code[span.begin : span.end].startswith("for") and code[span.begin : span.end].endswith("/* x */ ;")


def test_an_iterator_read_behind_a_continue() -> None:
    code = """int f(int n, double *a) { int j;
        for (int i = 0; i < n; i++) { if (i == 3) continue; for (j = 0; j < n; j++) a[j] = i; }
        return j; }"""
    assert lines(nest(code))[-1].strip() == "j = ((0 < n) ? n : 0)"


def test_unsigned_minus_one() -> None:
    code = """#include <stddef.h>
        void f(size_t n, double *a) { for (size_t i = 1; i < n; i++) a[i + (size_t)-1] = a[i - 7u + 7u]; }"""
    assert lines(nest(code))[1] == " a[i - 1] = a[i]"
