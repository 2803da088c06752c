"""Functions with loops, arrays and effects, in place of their calls."""

from __future__ import annotations

import pytest

from scheduler.ir.nest import Storage
from scheduler.ir.walk import loops
from tests.scheduler.frontend.support import assumptions, lines, nest, read


def inlined(code: str) -> list[str]:
    """The nest of the function `f`."""
    (found,) = (n for n in read(code).nests if n.function == "f")
    return lines(found)


def refused(code: str) -> str:
    """Why the loop of the function `f` is left alone, without its place."""
    found = read(code)
    assert not [n for n in found.nests if n.function == "f"]
    return next(r.reason for r in found.rejections if r.function == "f")


def test_a_loop_that_returns_a_value() -> None:
    code = """static double dot(int n, const double *p, const double *q) {
            double s = 0; for (int i = 0; i < n; i++) s += p[i] * q[i]; return s; }
        void f(int n, const double *a, const double *x, double *y) {
            for (int i = 0; i < n; i++) y[i] += dot(n, &a[i * n], x); }"""
    assert inlined(code) == [
        "for i = 0 to n",
        " s = 0",
        " for i_2 = 0 to n",
        "  s += (a[i][i_2] * x[i_2])",
        " y[i] += s",
    ]


def test_a_strided_line() -> None:
    code = """static void line(double *p, int stride, int n) {
            for (int i = 1; i < n; i++) p[i * stride] -= 0.5 * p[(i - 1) * stride]; }
        void f(int n, double *a) { for (int i = 0; i < n; i++) line(&a[i], n, n); }"""
    assert inlined(code) == ["for i = 0 to n", " for i_2 = 1 to n", "  a[i_2][i] -= (0.5 * a[i_2 - 1][i])"]


def test_early_returns() -> None:
    code = """static void g(double *p, int n) { if (n < 3) return; if (p[0] > 1) { p[1] = 1; return; } p[2] = 2; }
        void f(int m, double (*a)[9]) { for (int i = 0; i < m; i++) g(a[i], i); }"""
    assert inlined(code) == [
        "for i = 0 to m",
        " if i - 3 >= 0",
        "  if (a[i][0] > 1) {a[i][1] = 1} else {a[i][2] = 2}",
    ]


def test_values_on_several_paths() -> None:
    code = """static int find(const int *p, int n) {
            int s = 0; for (int i = 0; i < n; i++) s += p[i]; if (s > 3) return s; return -1; }
        void f(const int *p, int *r) { for (int i = 0; i < 9; i++) r[i] = 2 * find(p, i) + 1; }"""
    assert inlined(code)[1:] == [
        " s = 0",
        " for i_2 = 0 to i",
        "  s += p[i_2]",
        " if (s > 3) {find_result = s} else {find_result = -1}",
        " r[i] = ((2 * find_result) + 1)",
    ]


def test_scalars_by_address() -> None:
    code = """static void range(double x, double *lo, double *hi) { if (x < *lo) *lo = x; if (x > hi[0]) *hi = x; }
        void f(int n, const double *a, double *r) { double lo = 9, hi = -9;
            for (int i = 0; i < n; i++) range(a[i], &lo, &hi); r[0] = lo + hi; }"""
    assert inlined(code) == ["for i = 0 to n", " x = a[i]", " if (x < lo) {lo = x}", " if (x > hi) {hi = x}"]


def test_arrays_of_the_function() -> None:
    code = """static void g(double *p, int n) { double w[4] = {0}; double *q = p + 1;
            for (int k = 0; k < n; k++) w[k & 3] += q[k]; p[0] = w[0]; }
        void f(double (*a)[50]) { for (int i = 0; i < 9; i++) g(a[i], 40); }"""
    found = next(n for n in read(code).nests if n.function == "f")
    assert found.array("w").storage is Storage.PRIVATE and found.array("w").scope == "i"
    assert lines(found)[3:5] == [" for k = 0 to 40", "  w[k - 4*floor((k)/4)] += a[i][k + 1]"]


def test_conversions_of_what_is_passed_and_returned() -> None:
    code = """static signed char g(float x, unsigned char k, _Bool b, short *p) { *p += 1; return x + k + b; }
        short s; void f(int n, int *a, double *d) { for (int i = 0; i < n; i++) a[i] = g(0.1, 300, i, &s); }"""
    assert inlined(code)[1:] == [
        " s += 1",
        " a[i] = (signed char)(((float)0.1 + (int)(unsigned char)300) + (int)(_Bool)i)",
    ]


def test_a_parameter_that_changes_is_a_variable_of_the_call() -> None:
    code = """static void g(double *p, int n, double x) { n += 1; x *= 2; p[n] = x; }
        void f(int n, double *a, double x) { for (int i = 0; i < n; i++) g(a, i, x); a[0] = n + x; }"""
    assert inlined(code)[1:] == [" n_2 = i", " x_2 = x", " n_2 += 1", " x_2 *= 2", " a[~n_2] = x_2"]


def test_functions_of_functions() -> None:
    code = """static void swap(double *p, double *q) { double t = *p; *p = *q; *q = t; }
        static void flip(double *p, int n) { for (int k = 0; k < n / 2; k++) swap(&p[k], p + (n - 1 - k)); }
        void f(double (*a)[64], int n) { for (int i = 0; i < n; i++) flip(a[i], 64); }"""
    assert inlined(code) == [
        "for i = 0 to n",
        " for k = 0 to 32",
        "  t = a[i][k]",
        "  a[i][k] = a[i][-k + 63]",
        "  a[i][-k + 63] = t",
    ]


def test_a_call_keeps_its_place_among_other_effects() -> None:
    code = """static void g(double *p) { p[0] += 1; }
        void f(double *a) { for (int i = 0; i < 9; i++) a[i] = 2, g(&a[i]), a[i] *= 3; }"""
    assert inlined(code)[1:] == [" a[i] = 2", " a[i] += 1", " a[i] *= 3"]


def test_the_same_array_twice() -> None:
    code = """static void g(double *restrict p, const double *q) { for (int i = 1; i < 50; i++) p[i] = q[i - 1]; }
        void f(double (*a)[50]) { for (int i = 0; i < 9; i++) g(a[i], a[i]); }"""
    assert inlined(code)[2:] == ["  a[i][i_2] = a[i][i_2 - 1]"]


def test_a_pointer_stays_inside_the_row_it_was_made_of() -> None:
    code = """static void g(double *p, int n) { for (int i = 0; i < n; i++) p[i] = 1; }
        double a[9][1000]; void f(int n) { for (int i = 0; i < 9; i++) g(a[i], n); }"""
    found = next(n for n in read(code).nests if n.function == "f")
    assert assumptions(found) == {"-n + 1000 >= 0"}
    flat = code.replace("g(a[i], n)", "g(&a[0][0], 8000 + i)")
    assert refused(flat) == "a pointer into a row of 'a' may leave that row"


def test_a_loop_over_all_steps_of_a_program_is_tuned_in_parts() -> None:
    code = """static void g(double *p, int n) {
            for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) p[i * n + j] += 1; }
        double a[9000]; void f(int n) { for (int t = 0; t < n; t++) {
            for (int i = 0; i < n; i++) g(a + i, n);
            g(a, t); g(a, t + 1); g(a, t + 2); } }"""
    found = read(code)
    assert [len(n.body) for n in found.nests if n.function == "f"] == [1]
    assert "holds 10 loops" in next(r.reason for r in found.around if r.function == "f")


_REPEATED = {
    "adds to what it did": "static void g(int n) { for (int i = 0; i < n; i++) a[i] += b[i]; }",
    "does the same": "static void g(int n) { for (int i = 1; i < n; i++) { b[i] = 0; b[i] += a[i] + a[i - 1]; } }",
    "starts anew": """static void g(int n) { for (int i = 0; i < n; i++) a[i] = i;
        for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1]; }""",
    "data decide": "static void g(int n) { for (int i = 0; i < n; i++) a[i] += a[p[i]]; }",
}


@pytest.mark.parametrize("function", _REPEATED.values(), ids=_REPEATED)
def test_a_loop_that_only_repeats_a_function_is_left_alone(function: str) -> None:
    before = f"static double a[99], b[99]; static int p[99]; {function}"
    code = f"{before} void f(int n) {{ for (int t = 0; t < n; t++) g(9); }}"
    found = read(code)
    assert "with the same arguments" in found.around[0].reason and not found.rejections
    assert {n.function for n in found.nests} == {"g"}


_STEPS = {
    "in place": "for (int i = 1; i < n - 1; i++) a[i] = 0.5 * (a[i - 1] + a[i + 1]);",
    "and back": """for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
        for (int i = 1; i < n - 1; i++) a[i] = b[i];""",
    "one loop after the other": "for (int i = 0; i < n; i++) b[i] = a[i]; for (int i = 0; i < n; i++) a[i] = b[i] + 1;",
    "backwards": "for (int i = n - 2; i > 0; i--) a[i] = a[i + 1] + a[i - 1];",
}


@pytest.mark.parametrize("step", _STEPS.values(), ids=_STEPS)
def test_steps_that_go_on_from_each_other_are_one_nest(step: str) -> None:
    code = f"static double a[99], b[99]; static void g(int n) {{ {step} }} void f(int n, int s) {{ SWEEP g(n); }}"
    (nest,) = [n for n in read(code.replace("SWEEP", "for (int t = 0; t < s; t++)")).nests if n.function == "f"]
    assert next(loops(nest)).name == "t"
    (nest,) = [n for n in read(code.replace("SWEEP", "for (int t = s; t > 0; t--)")).nests if n.function == "f"]
    assert next(loops(nest)).name == "t"


def test_the_place_of_a_refusal() -> None:
    code = """int rand(void); static void g(double *p, int n)
{
    for (int k = 0; k < n; k++)
        p[k] = rand();
}
double a[9];
void f(void)
{
    for (int i = 0; i < 9; i++)
        g(a, i);
}"""
    (found,) = (r for r in read(code).rejections if r.function == "f")
    assert (found.span.line, found.span.column) == (10, 9)
    assert "'g', where at /snippets/t.c:4:16 calls 'rand', which may have side effects" in found.reason


def test_the_loop_that_is_refused_is_named_with_all_calls() -> None:
    """Also where a function cannot be put in place of a call that stands in another one."""
    code = """int printf(const char *, ...);
static double grid[300], next[300];
static int verbose;
static void show(double *v, int n, char *title, int step)
{
    double total = 0.0;
    for (int i = 0; i < n; i++) total += v[i];
    printf("%s after %d: %g\\n", title, step, total);
}
static void smooth(double *to, double *from, int n, int step)
{
    for (int i = 1; i < n - 1; i++) to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
    if (verbose > step) show(to, n, "smoothed", step);
}
static void again(double *p, int n) { if (n > 0) again(p + 1, n - 1); p[n] = 0; }
static void start(int n) { again(grid, n); }
void f(void)
{
    for (int step = 10; step > 0; step--) smooth(next, grid, 300, step);
    for (int n = 10; n > 0; n--) start(n);
}"""
    shown, recursive = (r for r in read(code).rejections if r.function == "f")
    assert shown.loop is not None and (shown.loop.line, shown.span.line, shown.span.column) == (19, 19, 43)
    assert shown.reason == (
        "calls 'smooth', where at /snippets/t.c:13:25 calls 'show', where at /snippets/t.c:8:5 calls 'printf', which"
        " may have side effects"
    )
    assert recursive.loop is not None and (recursive.loop.line, recursive.span.line) == (20, 20)
    assert recursive.reason == "calls 'start', where at /snippets/t.c:16:28 calls 'again', which calls itself"


def test_strings_and_null_pointers_that_are_passed() -> None:
    code = """static void put(double *p, const char *what, char *to, const double *more, int i)
    { (void)what; if (to) *to = 1; p[i] = more ? more[i] : 1; }
    void f(double *a, int n) { for (int i = 0; i < n; i++) put(a, "text", 0, (void *)0, i); }"""
    assert [line.strip() for line in lines(nest(code))[1:]] == ["a[i] = (double)1"]
    read_ = "static int put(const char *what, int i) { return what[i]; }"
    (found,) = read(f'{read_} void f(int *a) {{ for (int i = 0; i < 4; i++) a[i] = put("abcd", i); }}').rejections
    assert found.reason == "uses a string"


HEAD = "double a[9][9]; int k, c[9]; "
REFUSED = {
    "calls itself": "static void g(double *p, int n) { if (n > 0) g(p, n - 1); p[n] = 1; } |g(a[i], i);",
    "static variable": "static void g(double *p) { static int s; p[s++] = 1; } |g(a[i]);",
    "volatile 'p'": "static void g(volatile double *p) { p[0] = 1; } |g(a[i]);",
    "'t', which is volatile": "static void g(double *p) { volatile int t = 1; p[t] = 1; } |g(a[i]);",
    "goto": "static void g(double *p) { if (*p > 0) goto e; *p = 1; e:; } |g(a[i]);",
    "variable number": "static void g(double *p, ...) { *p = 1; } |g(a[i], 3);",
    "inside a loop": "static void g(double *p) { int j = 0; do { if (p[j] > 0) return; } while (++j < 9); *p = 1; } "
    "|g(a[i]);",
    "through a pointer": "static void g(double *p) { *p = 1; } static void (*h)(double *) = g; |h(a[i]);",
    "attribute 'weak'": "__attribute__((weak)) void g(double *p) { *p = 1; } |g(a[i]);",
    "attribute 'optimize'": '__attribute__((optimize("O0"))) static void g(double *p) { *p = 1; } |g(a[i]);',
    "other elements": "static void g(float *p) { *p = 1; } |g((float *)a[i]);",
    "moves its pointer": "static void g(double *p, int n) { for (int j = 0; j < n; j++) *p++ = 1; } |g(a[i], 3);",
    "hidden here": "static void g(double *p) { p[0] = k; } |int k = 3; for (int j = 0; j < 2; j++) g(a[j + k]);",
    "beside something": "static int g(void) { k += 1; return k; } |a[i][0] = g() + k;",
    "may not evaluate": "static int g(int n) { int s = 0; for (int j = 0; j < n; j++) s += c[j]; return s; } "
    "|a[i][0] = (i > 3, g(i));",
    "header of a loop": "static int g(int n) { int s = 0; for (int j = 0; j < n; j++) s += c[j]; return s; } "
    "|for (int j = 0; j < g(i); j++) a[i][j] = 1;",
    "inside an expression": "static void g(double *p, int n) { p[0] = 1; } |g(a[i], k++);",
    "calls 'h', which may": "int h(void); static void g(double *p, int n) { p[0] = 1; } |g(a[i], h());",
    "has a pragma": "static void g(double *p) {\n#pragma omp critical\n p[0] = 1; } |g(a[i]);",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason: str) -> None:
    helper, _, call = REFUSED[reason].partition("|")
    if reason == "hidden here":
        text = f"{HEAD}{helper}\nvoid f(int k) {{ for (int j = 0; j < 2; j++) g(a[j + k]); }}"
    else:
        text = f"{HEAD}{helper}\nvoid f(void) {{ for (int i = 0; i < 9; i++) {{ {call} }} }}"
    assert reason in refused(text)


def test_structures() -> None:
    head = "typedef struct { double re, im; } C; C w[9], z[9][20]; int k; "
    code = (
        head
        + """static void scale(C *p, double x) { p->re *= x; p->im *= x; }
        void f(void) { for (int i = 0; i < 9; i++) scale(&w[i], 2.0); }"""
    )
    assert inlined(code)[1:] == [" w[i][0] *= 2.0", " w[i][1] *= 2.0"]
    code = (
        head
        + """static C next(double x) { C c = {x, k}; k++; return c; }
        void f(void) { for (int i = 0; i < 9; i++) w[i] = next(i); }"""
    )
    assert inlined(code)[1:] == [
        " c_re = (double)i",
        " c_im = k",
        " k += 1",
        " w[i][0] = c_re",
        " w[i][1] = c_im",
    ]
    both = code.replace("w[i] = next(i)", "w[i] = (C){ next(i).re, next(i).im }")
    assert refused(both) == "calls 'next', which returns a structure and changes memory"
    moved = code.replace("w[i] = next(i)", "w[k] = next(i)")  # C may read k before or behind the call
    assert refused(moved) == "calls 'next', which returns a structure and changes memory"


def test_a_call_in_a_critical_section() -> None:
    code = """static void g(double *p) { *p += 1; }
        void f(int n, double *a) {
        #pragma omp parallel for
        for (int i = 0; i < n; i++) {
        #pragma omp critical
            g(a);
        } }"""
    assert "under '#pragma omp critical'" in refused(code)


def test_argument_with_an_effect_is_not_dropped() -> None:
    code = """static int g(int a, int x) { return x; }
        void f(int n, int *a) { int k = 0; for (int i = 0; i < n; i++) a[i] = g(a[k]++, i); a[0] = k; }"""
    assert refused(code) == "changes a variable inside an expression"


def test_a_region_without_such_calls_is_left_as_it_is() -> None:
    code = "static double sq(double x) { return x * x; } void f(int n, double *a) { for (int i = 0; i < n; i++)"
    assert lines(nest(code + " a[i] = sq(a[i]); }"))[1:] == [" a[i] = (a[i] * a[i])"]
