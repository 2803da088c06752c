"""What functions assign, and which of them are more than an expression."""

from __future__ import annotations

from scheduler.frontend.analysis.mod_ref import ModRef
from scheduler.frontend.c_ast.lower import Lowering
from scheduler.frontend.clang.libclang import cindex
from scheduler.frontend.parsing import parser_arguments

CODE = b"""
int k; double sqrt(double); int puts(const char *);
static int pure(int x) { int y = x * 2; return y + k; }
static double calls(double x) { return sqrt(x) + pure(3); }
static void sets(void) { k = 3; }
static int below(void) { sets(); return 1; }
static void through(double *p) { p[1] = 2; }
static double table(int n) { double w[9]; w[n] = 1; return w[n]; }
static int unknown(void) { return puts(""); }
static int again(int n) { return n ? again(n - 1) : 0; }
static int odd(int n); static int even(int n) { return n ? odd(n - 1) : 1; }
static int odd(int n) { return n ? even(n - 1) : 0; }
struct g { double *p, *q; };
static void exchange(struct g *g) { double *t = g->p; g->p = g->q; g->q = t; }
static void later(struct g *g) { double *t = g->p; t = g->q; exchange(g); }
"""


def test_effects() -> None:
    arguments = list(parser_arguments((), "gcc"))
    tu = cindex.Index.create().parse("t.c", args=arguments, unsaved_files=[("t.c", CODE)])
    unit = Lowering(tu, "t.c", CODE).run()
    effects = ModRef(unit)
    stores = {name for name, function in unit.functions.items() if effects.of(function).stores}
    assert stores == {"sets", "below", "through", "unknown", "exchange", "later"}
    assert {v.name for v in effects.of(unit.functions["below"]).assigned} == {"k"}
    blocks = {name for name, function in unit.functions.items() if effects.is_block(function)}
    assert blocks == stores | {"table"}
    assert {n for n, f in unit.functions.items() if effects.calls_itself(f)} == {"again", "even", "odd"}
