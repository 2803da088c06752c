"""Calls of memset and memcpy as the loops that they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.frontend import ParseOptions, read_source
from tests.scheduler.frontend.support import assumptions, lines, nest, read

HEAD = """#include <string.h>
struct s { float u[4][8]; unsigned char c[64]; int k[16]; };
static double a[300][200], b[300][200], x[200], wide[300][400];
void f(int n, int m, int v, double *restrict p, const double *restrict q, int *restrict k, struct s *restrict s) {
    for (int i = 0; i < n; i++) { %s x[i] += 1; } }"""


def loops(call: str) -> list[str]:
    """The lines in front of the last statement."""
    return [line.strip() for line in lines(nest(HEAD.replace("%s", call)))[1:-1]]


@pytest.mark.parametrize(
    ("call", "read_as"),
    [
        ("memset(a[i], 0, sizeof a[i]);", "for e = 0 to 200: a[i][e] = (double)0"),
        ("memset(&a[i][0], 0, m * sizeof(double));", "for e = 0 to m: a[i][e] = (double)0"),
        ("memset(a[i] + 3, 0, m * sizeof(double));", "for e = 0 to m: a[i][e + 3] = (double)0"),
        ("memset(p + i * m, 0, sizeof(double) * m);", "for e = 0 to m: p[i][e] = (double)0"),
        ("memcpy(p + i * m, q + i * m, (size_t)m * sizeof *p);", "for e = 0 to m: p[i][e] = q[i][e]"),
        ("memset(s[i].c, v, 64);", "for e = 0 to 64: s[i][e + 128] = (unsigned char)v"),
        ("memset(k, 0xff, 4 * m);", "for e = 0 to m: k[e] = (int)-1"),
        ("(void)memcpy(a[i], b[i], sizeof *a);", "for e = 0 to 200: a[i][e] = b[i][e]"),
    ],
)
def test_rows(call: str, read_as: str) -> None:
    assert ": ".join(loops(call)) == read_as


@pytest.mark.parametrize(
    "call", ["memset(a, 0, sizeof a);", "memset(&a[0][0], 0, sizeof a);", "memset(a[0], 0, 480000);"]
)
def test_whole_arrays(call: str) -> None:
    assert loops(call) == ["for e = 0 to 300", "for ee = 0 to 200", "a[e][ee] = (double)0"]


def test_what_may_leave_a_row_is_tested() -> None:
    assert "-m + 200 >= 0" in assumptions(nest(HEAD.replace("%s", "memset(a[i], 0, m * sizeof(double));")))


@pytest.mark.parametrize(
    "call",
    [
        "memset(a[i], 1, 8 * m);",
        "memset(a[i], 0, m);",
        "memset(k, v, 4 * m);",
        "memcpy(p, k, 8 * m);",
        "memset(s, 0, sizeof *s);",
        "memset(a[i], s[0].c[3] + 1, sizeof a[i]);",  # evaluated once, and the call changes what it is made of
        "memset(&s[0].c[k[i]], v, 9);",
        "memset(k, 0, m * 4u);",  # wraps around before it is a size
        "memcpy(a, wide, sizeof a);",
    ],
)
def test_what_stays_a_call(call: str) -> None:
    (refused,) = read(HEAD.replace("%s", call)).rejections
    assert "calls 'mem" in refused.reason


def test_memory_may_be_set_as_that_of_another_type() -> None:
    code = """#include <string.h>
    void f(int n, float *q, int *k) { for (int i = 0; i < n; i++) { k[i] += i; %s k[i] += 3 * i; } }"""
    assert not any(array.untyped for array in nest(code % "q[i] = 0;").arrays)
    assert all(array.untyped for array in nest(code % "memset(q + i, 0, 4);").arrays if array.name in ("q", "k"))


def test_on_its_own_it_stays_what_it_is() -> None:
    found = read("#include <string.h>\nvoid f(double *p, int n) { memset(p, 0, 8 * n); if (n > 3) memset(p, 0, 80); }")
    assert not found.nests and not found.rejections


@pytest.mark.parametrize("flags", [("-fno-builtin",), ("-fno-builtin-memset",), ("-ffreestanding",)])
def test_what_may_be_a_function_of_the_program_stays_a_call(flags: tuple[str, ...], tmp_path: Path) -> None:
    code = HEAD.replace("%s", "memset(a[i], 0, sizeof a[i]);").encode()
    (refused,) = read_source(tmp_path / "t.c", ParseOptions(flags), code).rejections
    assert "calls 'memset'" in refused.reason


def test_a_file_may_have_its_own() -> None:
    code = """static double a[9][9]; void *memcpy(void *, const void *, unsigned long);
    static void *memset(double *p, int v, unsigned long n) { for (int k = 0; k < 9; k++) p[k] = v + 7; return p; }
    void f(int n) { for (int i = 0; i < n; i++) { memset(a[i], 0, sizeof a[i]); a[i][1] += 1; } }"""
    found = [n for n in read(code).nests if n.function == "f"]
    assert all("+ 7" in line for n in found for line in lines(n) if "[e]" in line or "[k]" in line)
    assert not any("(double)0" in line for n in found for line in lines(n))
