"""Assertions inside loops: tested in front of them, or the reason of a refusal."""

import subprocess
from pathlib import Path

import pytest

from tests import rewriting
from tests.scheduler.frontend.support import assumptions, lines, nest, read, refusal

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
    ("text", "reason"),
    [
        ("assert(c[i] >= 0); a[c[i]] = 1;", "uses assert, which may end the program"),
        ("assert(&a[i] != NULL); a[i] = 1;", "uses assert, which may end the program"),
        ("a[i] = checked(c[i]);", "calls 'checked', which uses assert, which may end the program"),
        ("a[i] = twice(c[i]);", "calls 'twice', which calls 'checked', which uses assert, which may end the program"),
        ("put(a, i, c[i]);", "calls 'put', where at /snippets/t.c:8:44 uses assert, which may end the program"),
        (
            "puts_(a, i, c[i]);",
            "calls 'puts_', where at /snippets/t.c:9:46 calls 'put', where at /snippets/t.c:8:44 uses assert, which may"
            " end the program",
        ),
    ],
)
def test_what_depends_on_data(standard: str, text: str, reason: str) -> None:
    found = refusal(HEAD % text, standard)
    assert (found.reason, found.advice, found.span.line) == (reason, ADVICE, 11)
    assert not read(HEAD % text, standard, "-DNDEBUG").rejections  # the advice helps


def test_as_musl_writes_it() -> None:
    assert assumptions(nest(MUSL % "check(i < m); a[i] = 1;")) == {"m - n >= 0"}
    assert refusal(MUSL % "check(c[i]); a[i] = 1;").reason == "uses assert, which may end the program"


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
