"""Branches that leave a nest: tested in front of it, by assumptions or by an inspector, or the reason of a refusal.

Long, because each way to leave is tried with each kind of condition.
"""

import subprocess
from pathlib import Path

import pytest

from scheduler.frontend import SourceFile
from scheduler.ir.text import format_nest, parse_nest, without_spans
from tests import rewriting
from tests.scheduler.frontend.support import assumptions, lines, nest, read

HEAD = """#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
struct picture { int w, h; float *data; };
static float at(struct picture p, int x, int y) { assert(x < p.w && y < p.h); return p.data[y * p.w + x]; }
static int checked(int k) { assert(k >= 0); return k; }
static int twice(int k) { return 2 * checked(k); }
static void put(double *a, int i, int k) { assert(k >= 0); a[i] = k; }
static void puts_(double *a, int i, int k) { put(a, i, k); }
void f(double *restrict a, const int *restrict c, struct picture p, int n, int m) {
    for (int i = 0; i < n; i++) { %s } }"""
ADVICE = "compile with -DNDEBUG, or move the assertion in front of the loop"
STANDARDS = ("-std=gnu17", "-std=c99")  # the GNU C library has two forms of assert
MUSL = """void __assert_fail(const char *, const char *, int, const char *) __attribute__((noreturn));
#define check(x) ((void)((x) || (__assert_fail(#x, "f.c", 3, __func__), 0)))
void f(double *a, const int *c, int n, int m) { for (int i = 0; i < n; i++) { %s } }"""


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize(
    ("text", "assumed"),
    [
        ("assert(i < m); a[i] = 1;", {"m - n >= 0"}),
        ("assert(i >= 0 && i <= m); a[i] = 1;", {"m - n + 1 >= 0"}),
        ("if (c[i] > 3) { assert(n < m); a[i] = 1; }", {"m - n - 1 >= 0"}),
        ("assert(m > 0 || n < 0); a[i] = 1;", {"m - 1 >= 0"}),
        ("assert(a != NULL); a[i] = 1;", {"a_given - 1 >= 0"}),
        ("assert(i >= 0); a[i] = 1;", set()),
        ("if (i >= m) { fprintf(stderr, \"too many\"); exit(1); } a[i] = 1;", {"m - n >= 0"}),
        ("a[i] = at(p, i, m);", {"p_w - n >= 0", "p_h - m - 1 >= 0"}),
    ],
)  # fmt: skip
def test_tested_in_front(standard: str, text: str, assumed: set[str]) -> None:
    found = nest(HEAD % text, standard)
    assert {a.replace("-n + p_w", "p_w - n").replace("-m + p_h", "p_h - m") for a in assumptions(found)} == assumed
    assert "a[i] = " in " ".join(lines(found))


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize(
    ("text", "inspected"),
    [
        ("assert(c[i] >= 0); a[c[i]] = 1;", "S0: if (c[i] < 0) {} exit;"),
        ("a[i] = checked(c[i]);", "S0: if (c[i] < 0) {} exit;"),
        ("a[i] = twice(c[i]);", "S0: if (c[i] < 0) {} exit;"),
        ("put(a, i, c[i]);", "S0: k = c[i]; S1: if (k < 0) {} exit;"),
        ("puts_(a, i, c[i]);", "S0: k = c[i]; S1: if (k < 0) {} exit;"),
        ("if (c[i]) { if (c[i] > m) abort(); a[i] = 1; }", "S0: if (c[i]) { if (c[i] > m) {} exit; }"),
        ("int k = c[i] * 2; assert(k < m); a[k] = 1;", "S0: if (c[i] * 2 >= m) {} exit;"),
        (
            'double t = c[i] * 0.5; if (t > 9) { puts("no"); exit(2); } a[i] = t;',
            "S0: t = c[i] * 0.5; S1: if (t > 9) {} exit;",
        ),
    ],
)
def test_inspected(standard: str, text: str, inspected: str) -> None:
    found = read(HEAD % text, standard)
    assert loops_of_inspector(found) == f"for i: int in [0, n) step 1 {{ {inspected} }}"
    assert "exit" not in format_nest(found.nests[0])
    assert without_spans(found.nests[0]) == without_spans(read(HEAD % text, standard, "-DNDEBUG").nests[0]) or (
        "assert" not in text
    )


def loops_of_inspector(source: SourceFile) -> str:
    (nest,) = source.nests
    inspector = source.assumptions[nest.name].inspector
    assert inspector is not None
    assert parse_nest(format_nest(inspector)) == without_spans(inspector)
    text = format_nest(inspector)
    return " ".join(text[text.index("for ") : text.rindex("}")].split())


LEAVING = """#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern void fatal(const char *) __attribute__((noreturn));
extern _Noreturn void fail(void);
static void die(const char *text) { fputs(text, stderr); exit(3); }
#define CHECK(c) do { if (!(c)) die("failed: " #c); } while (0)
static double y[64][64];
int f(const double *x, const int *c, int n, int m, int code) {
    int error = 0, k = 0; double eps = 1e-3; (void)k; (void)eps;
    for (int i = 0; i < n; i++) {
        %s
        for (int j = 0; j < 64; j++) y[i][j] += x[i] * j; }
    return error;
out:
    puts("out");
    return -2; }"""


@pytest.mark.parametrize(
    ("text", "inspected"),
    [
        ("if (x[i] < 0) return -1;", "x[i] < 0"),
        ("if (isnan(x[i])) return code;", None),
        ('if (isnan(x[i])) { puts("nan"); return code; }', "x[i] != x[i]"),
        ("if (fabs(x[i]) < eps) { error = 1; break; }", "fabs(x[i]) < eps"),
        ("if (!(x[i] >= 0)) goto out;", "!(x[i] >= 0)"),
        ('if (x[i] == 0) fatal("zero");', "x[i] == 0"),
        ("if (x[i] == 0) fail();", "x[i] == 0"),
        ('if (x[i] == 0) die("zero");', "x[i] == 0"),
        ("CHECK(x[i] != 0);", "!(x[i] != 0)"),
        ("if (x[i] > 0) error += 0; else abort();", "!(x[i] > 0)"),
        ('if (c[i] < 0 || c[i] >= m) { fprintf(stderr, "%d", c[i]); exit(1); }', "c[i] < 0 || c[i] >= m"),
        ("if (x[i] > 0) break;", None),
        ("if (x[i] > 0) return i;", None),
    ],
)
def test_ways_to_leave(text: str, inspected: str | None) -> None:
    found = read(LEAVING % text)
    nests = [n for n in found.nests if n.function == "f"]
    outer = "for i: int in [0, n)" in format_nest(nests[0])
    assert outer == (inspected is not None)
    if inspected is None:
        assert found.rejections
        return
    inspector = found.assumptions[nests[0].name].inspector
    assert inspector is not None and f"if ({inspected}) {{}} exit;" in format_nest(inspector)


@pytest.mark.parametrize(
    ("text", "assumed"),
    [
        ("if (i >= m) return -1;", {"m - n >= 0"}),
        ("if (i >= m) { error = 1; break; }", {"m - n >= 0"}),
        ("if (i >= 0 && m < 8) goto out;", {"m - 8 >= 0"}),
        ("if (i < 0) break;", set()),  # proved
        ("if (i < 0) return 7 * i;", set()),
        ("if (i >= m) fail();", {"m - n >= 0"}),
    ],
)
def test_affine_conditions_of_other_ways(text: str, assumed: set[str]) -> None:
    found = read(LEAVING % text)
    nest = next(n for n in found.nests if n.function == "f")
    assert "for i: int in [0, n)" in format_nest(nest)
    assert {a for a in assumptions(nest) if a != "-n + 64 >= 0"} == assumed
    assert found.assumptions[nest.name].inspector is None


EXITS, RETURNS = "calls 'exit', which may end the program", "the loop returns from the function"
DEPENDS = ", which depends on '%s', and the loop changes that"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("if (i >= m) break;", "the loop contains break"),  # how loops end, not an error
        ("if (i >= m) return error;", RETURNS),
        ("if (y[0][0] > 1) return -1;", RETURNS + DEPENDS % "y"),
        ("if (x[i] > 0) { puts(\"some\"); return -1; } error++;", ""),
        ("if (error++ > 3) return -1;", RETURNS + DEPENDS % "error"),
        ("if (getchar() < 0) exit(1);", "calls 'getchar', which may have side effects"),
        ("eps *= 2; if (eps > x[i]) exit(1);", EXITS + DEPENDS % "eps"),
        (
            "double s = 0; for (int j = 0; j < 64; j++) s += x[j] * j; if (s < 0) exit(1);",
            EXITS + ", and to find that out beforehand is as much work as the loop",
        ),
        (
            "double s = x[i]; while (s > 1) s /= 2; if (s < 0) exit(1);",
            EXITS + ", and what that depends on is computed by a loop that does not count",
        ),
        ("double s = x[i]; while (s > 1) { s /= 2; if (s < 0) exit(1); }", EXITS),
        ("if (x[i] < 0) die(\"a\"); abort();", "calls 'abort', which may have side effects"),
    ],
)  # fmt: skip
def test_what_cannot_be_tested(text: str, reason: str) -> None:
    found = read(LEAVING % text)
    reasons = [r.reason for r in found.rejections]
    assert any(r.startswith(reason) for r in reasons) if reason else not reasons, reasons


SHARED = """void g(double *a, const double *b, double *restrict r, const int *c, int n) {
    for (int i = 0; i < n; i++) { %s } }
#include <stdlib.h>
void h(double *a, double **rows, int n) {
    for (int i = 0; i < n; i++) { if (rows[i][0] < 0) exit(1); a[i] = 1; } }"""


@pytest.mark.parametrize(
    ("leaves", "outer", "inner"),
    [
        ("{ bad = 1; break; }", False, True),
        ("break;", False, False),  # the loops inside of the outer one are looked at as they are
        ("{ bad = 1; break; } if (x[i] > 9) break;", False, False),
    ],
)
def test_loops_inside_of_others_are_left(leaves: str, outer: bool, inner: bool) -> None:
    text = f"""int f(const double *x, double *restrict y, int n) {{
        int bad = 0;
        for (int t = 0; t < 9 && !bad; t++) for (int i = 0; i < n; i++) {{ if (x[i] > t) {leaves} y[i] += x[i]; }}
        return bad; }}"""
    found = read(text)
    assert [n.span.begin > text.index("t++") for n in found.nests if n.span] == [True] * inner + [False] * outer


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("if (a[i] < 0) exit(1); a[i] = b[i];", True),
        ("if (a[i + 1] < 0) exit(1); a[i] = 1;", True),
        ("double t = a[i] / 2; if (t < 0) exit(1); a[i] = t;", True),
        ("if (a[i - 1] < 0) exit(1); a[i] = 1;", False),
        ("a[i] = 1; if (a[i] < 0) exit(1);", False),
        ("if (a[c[i]] < 0) exit(1); a[i] = 1;", False),
        ("if (c[i]) { if (a[i] < 0) exit(1); a[i] = 1; }", False),  # one statement
    ],
)
def test_what_is_stored_behind_its_test(text: str, is_read: bool) -> None:
    found = read("#include <stdlib.h>\n" + SHARED % text)
    assert [n.function for n in found.nests] == ["g"] * is_read


def test_stores_that_may_reach_what_is_tested() -> None:
    """That they do not is tested before the inspector runs, which is so only of addresses that no data decide."""
    found = read("#include <stdlib.h>\n" + SHARED % "if (b[i] < 0) exit(1); a[i] = b[i];")
    assert [n.function for n in found.nests] == ["g"]
    assert "may overlap that" in found.rejections[0].reason
    found = read("#include <stdlib.h>\n" + SHARED % "if (b[c[i]] < 0) exit(1); a[i] = 1;")
    assert [r.reason for r in found.rejections][:1] == [
        EXITS + ", which depends on 'b', and 'a', which the loop changes, may overlap that"
    ]
    found = read("#include <stdlib.h>\n" + SHARED % "if (b[i] < 0) exit(1); a[c[i]] = 1;")
    assert "may overlap that" in found.rejections[0].reason
    found = read("#include <stdlib.h>\n" + SHARED % "if (b[c[i]] < 0) exit(1); r[c[i]] = 1;")
    assert [n.function for n in found.nests] == ["g"]


def test_as_musl_writes_it() -> None:
    assert assumptions(nest(MUSL % "check(i < m); a[i] = 1;")) == {"m - n >= 0"}
    assert loops_of_inspector(read(MUSL % "check(c[i]); a[i] = 1;")).endswith("{ S0: if (!c[i]) {} exit; }")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("c[i] > 0 ? (void)(a[i] = 1) : (void)(a[i] = 2);", "if (c[i] > 0) { a[i] = 1 } else { a[i] = 2 }"),
        ("c[i] > 0 && (a[i] = 1);", "if (c[i] > 0) { a[i] = 1 }"),
        ("c[i] > 0 || (a[i] = 1);", "if (!(c[i] > 0)) { a[i] = 1 }"),
    ],
)
def test_operators_as_statements(text: str, found: str) -> None:
    same = text.replace(text, found.replace(" }", "; }"))
    assert lines(nest(HEAD % text)) == lines(nest(HEAD % same))


PROGRAM = """#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
static double a[100];
void f(int n, int m) { for (int i = 0; i < n; i++) { assert(i < m); a[i] += i; } }
int main(int count, char **words) {
    (void)count;
    f(atoi(words[1]), atoi(words[2]));
    for (int i = 0; i < 100; i++) if (a[i] > 0) printf("%g\\n", a[i]); }
"""


@pytest.mark.gcc
def test_where_the_assertion_fails_the_original_loops_say_so(tmp_path: Path) -> None:
    source = rewriting.read(tmp_path / "t.c", PROGRAM.encode())
    written = rewriting.identity(source)
    contents = {"original": PROGRAM.encode(), "written": written, "new": rewriting.without_originals(written)}
    for name, content in contents.items():
        (tmp_path / f"{name}.c").write_bytes(content)
        subprocess.run(["gcc", "-O1", "-fopenmp", tmp_path / f"{name}.c", "-o", tmp_path / name], check=True)

    def run(name: str, n: int, m: int) -> tuple[int, str, bool]:
        ran = subprocess.run([tmp_path / name, str(n), str(m)], capture_output=True, text=True)
        return ran.returncode, ran.stdout, "Assertion `i < m' failed" in ran.stderr

    assert run("original", 9, 9) == run("written", 9, 9) == run("new", 9, 9) == (0, run("new", 9, 9)[1], False)
    assert run("original", 9, 8) == run("written", 9, 8) == (-6, "", True)
    assert run("new", 9, 8) == (-6, "", False)


INSPECTED = """#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static double y[40][8];
static void die(const char *text) { printf("%s\\n", text); exit(3); }
static int work(const double *x, const int *c, const double *z, int n, int way) {
    int error = 0, i;
    if (way == 0) for (i = 0; i < n; i++) {
        assert(c[i] >= 0 && c[i] < 40);
        for (int j = 0; j < 8; j++) y[c[i]][j] += x[i] * j; }
    if (way == 1) for (i = 0; i < n; i++) {
        if (isnan(x[i])) die("nan");
        for (int j = 0; j < 8; j++) y[i][j] = x[i] - j; }
    if (way == 2) for (i = 0; i < n; i++) {
        if (z[c[i]] < 0) { error = i; break; }
        for (int j = 0; j < 8; j++) y[i][j] = j; }
    if (way == 3) for (i = 0; i < n; i++) {
        double t = x[i] * 2; if (t < 0) goto out;
        for (int j = 0; j < 8; j++) y[i][j] = t; }
    if (way == 4) for (i = 0; i < n; i++) {
        for (int j = 0; j < 8; j++) { if (x[i] + j < 0) return -2; y[i][j] = x[i]; } }
    return error;
out:
    return -1;
}
int main(int count, char **words) {
    (void)count;
    int way = atoi(words[1]), n = atoi(words[2]), bad = atoi(words[3]);
    int length = bad < n ? bad + 1 : n; /* nothing is behind what the loops read before they are left */
    double *x = malloc(length * sizeof *x), *z = malloc(40 * sizeof *z);
    int *c = malloc(length * sizeof *c);
    for (int i = 0; i < 40; i++) z[i] = i;
    for (int i = 0; i < length; i++) x[i] = i, c[i] = i * 7 % 40;
    if (bad < n) {
        if (way == 2) z[c[bad]] = -1; else if (way == 0) c[bad] = 40; else x[bad] = way == 1 ? NAN : -9;
    }
    setvbuf(stdout, 0, _IONBF, 0);
    printf("%d\\n", work(x, c, z, n, way));
    for (int i = 0; i < 40; i++) for (int j = 0; j < 8; j++) printf("%g ", y[i][j]);
    free(x), free(z), free(c);
    return 0; }
"""


@pytest.mark.gcc
def test_inspectors_run_what_the_original_does(tmp_path: Path) -> None:
    """In memory that ends where the original loops stop to read."""
    source = rewriting.read(tmp_path / "t.c", INSPECTED.encode())
    inspected = [source.assumptions[n.name].inspector for n in source.nests if n.function == "work"]
    assert len(inspected) == 5 and None not in inspected
    written = rewriting.identity(source)
    contents = {"original": INSPECTED.encode(), "written": written, "new": rewriting.without_originals(written)}
    for name, content in contents.items():
        (tmp_path / f"{name}.c").write_bytes(content)
        command = ["gcc", "-w", "-O1", "-g", "-fopenmp", "-fsanitize=address,undefined", tmp_path / f"{name}.c"]
        subprocess.run([*command, "-o", tmp_path / name, "-lm"], check=True)

    def run(name: str, *words: int) -> tuple[int, str, bool]:
        command = [tmp_path / name, *map(str, words)]
        ran = subprocess.run(command, capture_output=True, text=True, env={"ASAN_OPTIONS": "handle_abort=0"})
        return ran.returncode, ran.stdout, "Sanitizer" in ran.stderr

    for way in range(5):
        for n, bad in ((30, 30), (0, 0), (30, 0), (30, 11), (30, 29)):
            expected = run("original", way, n, bad)
            assert run("written", way, n, bad) == expected and not expected[2], (way, n, bad)
            aborts = run("new", way, n, bad)[0] == -6
            assert n == 0 or aborts == (bad < n), (way, n, bad)
