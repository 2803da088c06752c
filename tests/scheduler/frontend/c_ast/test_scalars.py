"""Scalars and local arrays: what is private to which loop."""

from __future__ import annotations

import pytest

from scheduler.frontend.c_ast.csyntax import INT, CStmt, ExprStmt, Lit, Ref, Set, Variable
from scheduler.frontend.c_ast.scalars import Path, changed_paths
from scheduler.ir.nest import LoopNest, Storage
from tests.scheduler.frontend.support import lines, nest, read


def scopes(found: LoopNest) -> dict[str, str | None]:
    return {a.name: a.scope for a in found.arrays if a.storage == Storage.PRIVATE}


def test_declared_in_the_loop() -> None:
    code = """void f(int n, double A[n][n], double *x) {
        for (int i = 0; i < n; i++) {
            double t = 0, w[4];
            for (int j = 0; j < n; j++) { double u = A[i][j]; t += u * u; w[j & 3] = t; }
            x[i] = t + w[0]; } }"""
    assert scopes(nest(code)) == {"t": "i", "w": "i", "u": "j"}


def test_declared_outside_and_dead() -> None:
    code = """void f(int n, double A[n][n], double *x) { double t, u; int j;
        for (int i = 0; i < n; i++) { t = 0; for (j = 0; j < n; j++) { u = A[i][j]; t += u * u; } x[i] = t; }
        for (int i = 0; i < n; i++) { t = x[i]; x[i] = t * t; } }"""
    assert scopes(nest(code)) == {"t": "i", "u": "j", "t_2": "i_2"}


def test_live_behind_the_nest() -> None:
    code = """double f(int n, double *x) { double t = 0;
        for (int i = 0; i < n; i++) { t = x[i]; x[i] = t + 1; } return t; }"""
    found = nest(code)
    assert not scopes(found)
    assert found.array("t").storage == Storage.LOCAL and not found.array("t").const


def test_overwritten_behind_the_nest_before_it_is_read() -> None:
    code = """double f(int n, double *x) { double t = 0;
        for (int i = 0; i < n; i++) { t = x[i]; x[i] = t + 1; } t = 3; return t; }"""
    assert scopes(nest(code)) == {"t": "i"}


def test_overwritten_on_one_path_only() -> None:
    code = """double f(int n, double *x) { double t = 0;
        for (int i = 0; i < n; i++) { t = x[i]; x[i] = t + 1; } if (n > 3) t = 3; return t; }"""
    assert not scopes(nest(code))


def test_read_by_an_enclosing_loop() -> None:
    code = """#include <stdio.h>
        void f(int n, double *x) { double t = 0; for (int k = 0; k < n; k++) { printf("%%f", %s);
            for (int i = 0; i < n; i++) { t = x[i]; x[i] = t + 1; } } }"""
    (found,) = read(code % "t").nests
    assert not scopes(found)
    (found,) = read(code % "x[0]").nests
    assert scopes(found) == {"t": "i"}


def test_carried_from_iteration_to_iteration() -> None:
    code = "void f(int n, double *x) { double t = 0; for (int i = 0; i < n; i++) { x[i] += t; t = x[i]; } }"
    found = nest(code)
    assert not scopes(found)
    assert found.array("t").storage == Storage.LOCAL


def test_conditionally_written() -> None:
    code = """void f(int n, double *x) { double t = 0;
        for (int i = 0; i < n; i++) { if (x[i] > 0) t = x[i]; x[i] += t; } }"""
    assert not scopes(nest(code))
    both = code.replace("t = x[i];", "t = x[i]; else t = 1;")
    assert scopes(nest(both)) == {"t": "i"}


def test_globals_statics_and_addresses_are_memory() -> None:
    code = "double g; void f(int n, double *x) { %s for (int i = 0; i < n; i++) { %s = x[i]; x[i] = %s * 2; } }"
    assert nest(code % ("", "g", "g")).array("g").storage == Storage.GLOBAL
    assert nest(code % ("static double s;", "s", "s")).array("s").storage == Storage.GLOBAL
    found = nest(code % ("double s; double *p = &s; (void)p;", "s", "s"))
    assert not scopes(found)
    assert found.array("s").storage == Storage.GLOBAL  # so that pointers are tested against it


def test_goto_makes_everything_live() -> None:
    code = """void f(int n, double *x) { double t; again:
        for (int i = 0; i < n; i++) { t = x[i]; x[i] = t * 2; } if (x[0] < 9) goto again; }"""
    assert not scopes(nest(code))


def test_shadowed_names() -> None:
    code = """void f(int n, double *x) {
        for (int i = 0; i < n; i++) { double t = x[i]; { double t = 2; x[i] += t; } x[i] += t; } }"""
    found = nest(code)
    assert scopes(found) == {"t": "i", "t_2": "i"}
    assert lines(found)[1:] == [" t = x[i]", " t_2 = 2", " x[i] += t_2", " x[i] += t"]


def test_initialized_arrays() -> None:
    code = """void f(int n, double *x) { for (int i = 0; i < n; i++) {
        double w[2][3] = {{0}}, v[2] = {1.5, x[i]}, z[3] = {1}; x[i] = w[1][2] + v[0] + z[2]; } }"""
    assert lines(nest(code))[1:] == [
        " for w_i = 0 to 2",
        "  for w_i_2 = 0 to 3",
        "   w[w_i][w_i_2] = 0.0",
        " v[0] = 1.5",
        " v[1] = x[i]",
        " for z_i = 0 to 3",
        "  z[z_i] = 0.0",
        " z[0] = 1",
        " x[i] = ((w[1][2] + v[0]) + z[2])",
    ]


def test_reductions_stay_memory() -> None:
    code = "double f(int n, double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }"
    found = nest(code)
    assert lines(found) == ["for i = 0 to n", " s += x[i]"]
    assert found.array("s").storage == Storage.LOCAL


@pytest.mark.parametrize(
    ("code", "dead"),
    [
        ("if (n < 0) goto out; LOOP a[0] = 1; out: return 0;", True),
        ("LOOP if (n > 7) goto out; a[0] = 1; out: free(a); return 0;", True),
        ("while (n-- > 7) { if (a[n] > 3) goto out; LOOP if (b[n] > 3) goto out; } out: return 0;", True),
        ("again: t = 1; LOOP if (n-- > 7) goto again; return 0;", True),
        ("LOOP if (n > 7) goto out; t = 1; out: return t;", False),
        ("again: a[1] = t; LOOP if (n-- > 7) goto again; return 0;", False),
        ("LOOP goto one; two: return t; one: n++; goto two;", False),
        ("LOOP if (n > 3) goto one; return 1; two: a[2] = t; return 2; one: if (n > 4) goto two; return 3;", False),
        ("while (n-- > 7) { LOOP if (n > 3) goto in; t = 1; } return 0; in: n--; return t > 3;", False),
        ('LOOP if (n > 3) goto out; __asm__(""); out: return 0;', False),
    ],
)
def test_dead_behind_labels(code: str, dead: bool) -> None:
    """No way from the loop, by any goto, reads the variable."""
    loop = "for (int i = 0; i < n; i++) { t = a[i]; b[i] = t; }"
    text = f"""void free(void *); int f(int n, double *restrict a, double *restrict b) {{ double t = 0;
        {code.replace("LOOP", loop)} }}"""
    found = next(n for n in read(text).nests if any(x.name == "b" for x in n.arrays))
    assert (found.array("t").storage == Storage.PRIVATE) is dead


def test_what_statements_change_that_are_gone() -> None:
    """A copy may stand in memory where one stood that was given up."""
    cache: dict[int, tuple[CStmt, dict[Path, int]]] = {}
    for number in range(200):
        variable = Variable(f"x{number}", INT, "local", number)
        setting = Set("=", Ref(variable, INT, number), Lit("1", 1, INT, number), INT, number)
        assert changed_paths(ExprStmt(setting, number, number + 1), cache) == {(variable, ()): number}
