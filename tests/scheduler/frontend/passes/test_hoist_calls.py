"""Calls that return structures: local variables, each set once, in the order that C asks for."""

from __future__ import annotations

import pytest

from scheduler.ir.nest import LoopNest
from scheduler.ir.text import format_nest
from tests.scheduler.frontend.support import read

HEAD = """typedef struct { double x, y; } P; struct v { double v[2]; int k; }; typedef struct { P a; double w; } B;
P p[9], q[9], c; struct v w[9]; B b[9]; double d[9]; int k, l[9];
static P turn(P a) { double t = a.x; a.x = a.y; a.y = -t; return a; }
static P half(P a) { return (P){ a.x * 0.5, a.y * 0.5 }; }
static P add(P a, P b) { return (P){ a.x + b.x, a.y + b.y }; }
static P pick(P a, P b) { if (a.x > b.x) return a; return b; }
static P next(P a) { k++; return (P){ a.x, k }; }
static int above(P a) { P t = turn(a); return t.x > 1; }
"""


def lines(nest: LoopNest) -> list[str]:
    return format_nest(nest).splitlines()


def body(statement: str) -> list[str]:
    """The statements of a loop over `i` with this body."""
    found = read(HEAD + f"void f(void) {{ for (int i = 0; i < 8; i++) {{ {statement} }} }}")
    nests = [n for n in found.nests if n.function == "f"]
    assert nests, [r.reason for r in found.rejections]
    text = [line.strip() for line in lines(nests[0])]
    first = next(k for k, line in enumerate(text) if line.startswith("for i"))
    return [line.partition(": ")[2] or line for line in text[first + 1 : -2]]


def refused(statement: str) -> str:
    found = read(HEAD + f"void f(void) {{ for (int i = 0; i < 8; i++) {{ {statement} }} }}")
    assert not [n for n in found.nests if n.function == "f"]
    return next(r.reason for r in found.rejections if r.function == "f")


def test_a_call_is_computed_once() -> None:
    text = " ".join(body("p[i] = add(half(p[i]), half(add(q[i], half(p[i]))));"))
    assert text.count("0.5") == 6 and text.count("+") == 4


def test_deep_calls_stay_small() -> None:
    """Inlined once a member, ten levels of two calls each were too large."""
    value = "p[i]"
    for _ in range(10):
        value = f"add(turn({value}), half({value if len(value) < 30 else 'q[i]'}))"
    assert len(body(f"p[i] = {value};")) < 200


def test_a_variable_is_declared_with_a_result() -> None:
    assert body("P t = half(p[i]); t.x += 1; q[i] = t;") == [
        "t_x = p[i][0] * 0.5;",
        "t_y = p[i][1] * 0.5;",
        "t_x += 1;",
        "q[i][0] = t_x;",
        "q[i][1] = t_y;",
    ]


def test_the_old_value_is_read_before_the_new_one_is_stored() -> None:
    text = body("p[i] = turn(p[i]);")
    stores = [k for k, line in enumerate(text) if line.startswith("p[i]")]
    reads = [k for k, line in enumerate(text) if "p[i]" in line.split("=")[1]]
    assert max(reads) < min(stores)


def test_swaps() -> None:
    assert body("P t = p[i]; p[i] = q[i]; q[i] = t;") == [
        "t_x = p[i][0];",
        "t_y = p[i][1];",
        "p[i][0] = q[i][0];",
        "p[i][1] = q[i][1];",
        "q[i][0] = t_x;",
        "q[i][1] = t_y;",
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "d[i] = half(p[i]).x;",
        "b[i].a = half(b[i].a);",
        "B t = { half(p[i]), 1 }; b[i] = t;",
        "b[i] = (B){ .w = 2, .a = turn(p[i]) };",
        "p[i] = d[i] > 0 ? half(p[i]) : q[i];",
        "d[i] = d[i] > 0 ? half(p[i]).x : 1;",
        "if (l[i] && half(p[i]).x > 1) d[i] = 1;",
        "l[i] = above(p[i]) || above(q[i]);",
        "P z = p[i]; int n = 0; while (turn(z).x < 4 && n < 5) { z = half(z); n++; } l[i] = n;",
        "p[i] = next(q[i]);",
        "(void)next(q[i]);",
        "switch ((int)half(p[i]).x) { case 0: p[i] = half(p[i]); break; default: d[i] = 1; }",
    ],
)
def test_read(statement: str) -> None:
    assert body(statement)


def test_a_branch_is_not_evaluated_before_its_condition() -> None:
    text = body("p[i] = d[i] > 0 ? half(p[i]) : q[i];")
    assert text[0].startswith(("if (d[i] > 0)", "when (d[i] > 0)"))
    assert any("0.5" in line for line in text[1:])


@pytest.mark.parametrize(
    "statement",
    [
        "d[i] = next(p[i]).x + next(q[i]).x;",  # in which order?
        "d[i] = next(p[i]).x + k;",
        "p[k] = next(p[i]);",
        "p[i] = add(next(p[i]), next(q[i]));",
        "int j = 0; p[i] = half(p[j++]);",
        "d[i] = d[i] > 0 ? next(p[i]).x : k;",
    ],
)
def test_refused_where_the_order_matters(statement: str) -> None:
    assert refused(statement)


def test_a_volatile_structure_is_refused() -> None:
    code = "typedef struct { volatile double x; double y; } P; P p[9]; static P f(P a) { a.y = a.x; return a; }\n"
    found = read(code + "void g(void) { for (int i = 0; i < 9; i++) p[i] = f(p[i]); }")
    assert not found.nests


def test_a_union_is_refused() -> None:
    code = "typedef struct { union { double x; long n; } u; double y; } P; P p[9];"
    found = read(
        code + "static P f(P a) { a.y = 1; return a; } void g(void) { for (int i = 0; i < 9; i++) p[i] = f(p[i]); }"
    )
    assert not found.nests


def test_bit_fields_are_refused() -> None:
    code = "typedef struct { int a : 3, b : 5; double y; } P; P p[9];"
    found = read(
        code + "static P f(P a) { a.y = 1; return a; } void g(void) { for (int i = 0; i < 9; i++) p[i] = f(p[i]); }"
    )
    assert not found.nests


def test_a_statement_of_a_pragma_stays_in_one_piece() -> None:
    code = """void f(void) {
    for (int i = 0; i < 8; i++) {
#pragma omp atomic
        d[0] += half(p[i]).x;
    }
}"""
    found = read(HEAD + code)
    for nest in found.nests:
        assert nest.function != "f" or "0.5" in " ".join(lines(nest))


def test_arrays_in_structures_are_passed_by_value() -> None:
    """The array of the caller was changed by a function that changes its copy."""
    helper = """static double sum(struct v a) {
    double s = 0;
    for (int e = 0; e < 2; e++) { a.v[e] += 1; s += a.v[e]; }
    return s;
}
"""
    found = read(HEAD + helper + "void f(void) { for (int i = 0; i < 8; i++) d[i] = sum(w[i]); }")
    nest = next(n for n in found.nests if n.function == "f")
    assert next(a for a in nest.arrays if a.base == "w" or a.name == "w").const
    only_read = helper.replace("a.v[e] += 1;", "")
    found = read(HEAD + only_read + "void f(void) { for (int i = 0; i < 8; i++) d[i] = sum(w[i]); }")
    assert "a_v" not in {a.name for n in found.nests if n.function == "f" for a in n.arrays}
