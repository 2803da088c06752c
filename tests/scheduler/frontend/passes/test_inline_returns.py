"""Functions with loops that are left in the middle, called inside loops."""

from __future__ import annotations

import pytest

from scheduler.ir.text import format_nest
from tests.scheduler.frontend.support import read


def nest_of(helper: str, call: str = "c[i] = g(a[i], 9);") -> str:
    head = "double a[99]; int c[99], k;\n"
    found = read(f"{head}{helper}\nvoid f(void) {{ for (int i = 0; i < 99; i++) {{ {call} }} }}")
    nests = [n for n in found.nests if n.function == "f"]
    assert nests, [r.reason for r in found.rejections]
    return format_nest(nests[0])


def test_a_return_leaves_the_loop_and_is_told_apart_from_its_end() -> None:
    text = nest_of(
        "static int g(double x, int n) { for (int j = 0; j < n; j++) { if (x > 4) return j; x *= x; } return n; }"
    )
    assert "while (j < (int)9)" in text or "while (j < 9)" in text
    assert text.index("g_left = j") < text.index("left = 1") < text.index("break") < text.index("j += 1")
    assert text.index("j += 1") < text.index("if (left)")


@pytest.mark.parametrize(
    "helper",
    [
        "static int g(double x, int n) { int j; for (j = 0; j < n; j++) { if (x > 4) break; x *= x; } return j; }",
        "static int g(double x, int n) { int j = 0; while (j < n) { if (x > 4) return -1; x *= x; j++; } return j; }",
        "static int g(double x, int n) { while (1) { if (x > 4) return 1; if (n < 0) return 2; n--; x += 1; } }",
        "static int g(double x, int n) { "
        "int j = 0; do { x *= x; if (x > 4) return j; j += 2; } while (x < n && j < 9); return j; }",
        "static int g(double x, int n) { "
        "for (int j = 0; j < n; j++) { if (x < 0) { if (x < -2) return 1; x = 3; } x *= x; } return 0; }",
    ],
)
def test_read(helper: str) -> None:
    assert "while" in nest_of(helper)


@pytest.mark.parametrize(
    "helper",
    [
        "static int g(double x, int n) { int j = 0; do { if (x > j) return j; x *= 0.5; } while (++j < n); return n; }",
        "static int g(double x, int n) { "
        "for (int j = 0; j < n; j++) for (int l = 0; l < j; l++) if (x > l) return l; return n; }",
        "static int g(double x, int n) { "
        "for (;;) { switch (n) { case 1: return 2; case 2: n = 4; case 3: if (x > 9) break; n--; } if (x > n) n--; } }",
    ],
)
def test_refused(helper: str) -> None:
    with pytest.raises(AssertionError):
        nest_of(helper)


def test_void_functions() -> None:
    text = nest_of(
        "static void g(double *p, int n) { for (int j = 0; j < n; j++) { if (*p > 4) return; *p *= 2; } *p = 0; }",
        "g(&a[i], 5);",
    )
    assert text.rindex("break") < text.index("if (!left)") < text.rindex("a[i] = 0")
