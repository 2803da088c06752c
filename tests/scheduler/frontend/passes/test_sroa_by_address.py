"""Structures of a loop that functions are given the address of."""

from __future__ import annotations

import pytest

from scheduler.ir.text import format_nest
from tests.scheduler.frontend.support import read

HEAD = """typedef struct { double x, y; } P; P p[99], q[99], *kept; double d[99];
static void both(P *a, const P *b) { a->x += b->x; a->y += b->y; }
static void fill(P *a, double x) { *a = (P){ x, 2 * x }; }
static P made(P a) { a.x += 1; return a; }
static void keep(P *a) { kept = a; }
static void inc(double *a) { *a += 1; }
static void step(P *a) { a++; a->x = 1; }
void elsewhere(P *a);
"""


def found(body: str) -> tuple[list[str], list[str]]:
    """The assignments of the loop, and why it was refused."""
    source = read(HEAD + f"void f(void) {{ for (int i = 0; i < 99; i++) {{ {body} }} }}")
    nests = [n for n in source.nests if n.function == "f"]
    text = [line.split(": ", 1)[1] for n in nests for line in format_nest(n).splitlines() if line.strip()[:1] == "S"]
    return text, [r.reason for r in source.rejections if r.function == "f"]


@pytest.mark.parametrize("value", ["p[i]", "made(p[i])", "{ 1 }", "(P){ .y = d[i] }", "d[i] > 0 ? p[i] : q[i]"])
def test_a_structure_that_is_passed_by_its_address(value: str) -> None:
    text, refused = found(f"P t = {value}; both(&t, &q[i]); p[i] = t;")
    assert not refused
    assert text[-4:] == ["t_x += q[i][0];", "t_y += q[i][1];", "p[i][0] = t_x;", "p[i][1] = t_y;"]


def test_the_same_structure_twice() -> None:
    text, refused = found("P t; fill(&t, d[i]); both(&t, &t); p[i] = t;")
    assert not refused
    assert text[-4:] == ["t_x += t_x;", "t_y += t_y;", "p[i][0] = t_x;", "p[i][1] = t_y;"]


@pytest.mark.parametrize(
    "body",
    [
        "P t = p[i]; keep(&t); p[i] = t;",
        "P t = p[i]; elsewhere(&t); p[i] = t;",
        "P t = p[i]; step(&t); p[i] = t;",
        "P t = p[i]; P *a = &t; both(a, &q[i]); (&t)[0].x = 1; inc(&a->x); p[i] = *a;",
        "volatile P t; t.x = 1; p[i].x = t.x;",
    ],
)
def test_refused(body: str) -> None:
    text, refused = found(body)
    assert refused and not text
