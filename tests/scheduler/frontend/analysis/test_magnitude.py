"""How many sizes a variable is the product of."""

from __future__ import annotations

from scheduler.frontend.analysis.magnitude import Magnitudes
from scheduler.frontend.c_ast.csyntax import Ref, Variable, all_expressions
from scheduler.frontend.c_ast.lower import Lowering
from scheduler.frontend.clang.libclang import cindex
from scheduler.frontend.parsing import parser_arguments
from scheduler.frontend.pipeline import run_passes

CODE = b"""
struct grid { int n, s, t; };
static int nx, one, row, plane, loop, old, part, few; extern int read(void);
void set(struct grid *g) { nx = read(); one = 1; row = nx + 2; plane = row * (long)nx; loop = loop * loop;
    old = 2; old = nx; part = plane / nx; few = one / nx;
    g->s = 1; g->t = g->s * g->n * nx; }
void use(struct grid *g) { int local = plane * nx; nx = nx; one, row, plane, loop, old, part, few, local; g->t; }
"""


def test_products() -> None:
    tu = cindex.Index.create().parse("t.c", args=list(parser_arguments((), "gcc")), unsaved_files=[("t.c", CODE)])
    unit = Lowering(tu, "t.c", CODE, False).run()
    run_passes(unit)
    magnitudes = Magnitudes.of(unit)
    found: dict[str, Variable] = {}
    for expr in (e for f in unit.functions.values() for e in all_expressions(f.body)):
        if isinstance(expr, Ref):
            found[expr.var.name] = expr.var
    sizes = {name: magnitudes.variable(variable) for name, variable in found.items() if variable.ctype.kind == "int"}
    assert sizes == {"nx": 1, "one": 0, "row": 1, "plane": 2, "loop": 2, "old": 1, "part": 1, "few": 0, "local": 3}
    member = Variable("g_t", found["nx"].ctype, "local", -1, base="g->t")
    assert magnitudes.variable(member) == 2
