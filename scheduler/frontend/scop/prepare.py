"""A function made ready for the extraction: helpers inlined, index variables substituted."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast import scalars
from scheduler.frontend.c_ast.csyntax import (
    CStmt,
    ForStmt,
    Ref,
    Unit,
    Variable,
    all_expressions,
    statements,
)
from scheduler.frontend.c_ast.liveness import dead_after
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.model import RACE
from scheduler.frontend.openmp.constructs import Pragmas
from scheduler.frontend.openmp.sharing import Marks, owned_variables
from scheduler.frontend.scop.assumptions import callees
from scheduler.frontend.scop.context import ArrayInfo, Context
from scheduler.frontend.scop.members import note_indexed
from scheduler.ir.nest import Storage


def prepare(ctx: Context, region: tuple[CStmt, ...], pragmas: Pragmas, found: Marks) -> None:
    """Classify the variables of a region before it is read."""
    ctx.region = region
    changed = scalars.written_variables(region)
    ctx.writes = {v: len(places) for v, places in changed.items()}
    ctx.changes = {v: places[0] for v, places in changed.items()}
    ctx.inside = scalars.declared_inside(region)
    ctx.written = set(ctx.writes)
    note_indexed(ctx, region)
    iterators = set()
    for stmt in region:
        ctx.work.spend(sum(1 for _ in all_expressions(stmt)), stmt.begin)
        for expr in all_expressions(stmt):
            if isinstance(expr, Ref):
                ctx.uses[expr.var] = ctx.uses.get(expr.var, 0) + 1
        ctx.stored |= ctx.aliases.reached(scalars.stored_variables(stmt))
        iterators |= _iterators(stmt)
    private = owned_variables(region, ctx.function, lambda v: dead_after(v, ctx.frames, ctx.function), pragmas, found)
    ctx.owned, ctx.only_openmp = dict(private.loops), private.only_openmp
    for variable in _callee_globals(ctx.unit, region):
        ctx.taken.add(variable.name)
        ctx.outside.setdefault(variable.name, variable)
    for variable in ctx.uses:
        if variable not in ctx.inside and variable not in iterators:
            for named in (variable, variable.owner):
                if named is not None:
                    ctx.taken.add(named.name)
                    ctx.outside[named.name] = named
    size = sum(ctx.uses.values())
    for variable in ctx.writes:
        ctx.work.spend(size // 4, region[0].begin)
        if variable in ctx.inside:
            continue
        owner = ctx.owned.get(variable)
        if not variable.ctype.is_scalar:
            if owner is not None or dead_after(variable, ctx.frames, ctx.function):
                ctx.windows[variable] = owner
            continue
        if owner is not None:
            places = scalars.privatize(variable, scalars.loop_body(owner), owner)
            if places is None:
                reason = f"an iteration reads '{variable.name}', which is private, before it sets it"
                raise Reject(ctx.changes[variable], f"{RACE}{reason}", "set it first in every iteration")
        elif not dead_after(variable, ctx.frames, ctx.function):
            continue
        else:
            places = scalars.privatize(variable, scalars.flatten(region), None)
        if places is None:
            continue
        for number, place in enumerate(places):
            name = variable.name if number == 0 else ctx.fresh(variable.name)
            ctx.outside.pop(name, None)
            ctx.arrays[name] = ArrayInfo(
                name, variable.ctype.name, replace(variable.ctype), Storage.PRIVATE, variable, None, None
            )
            ctx.privates[(variable, place)] = name
            ctx.pending_scopes[name] = place


def _callee_globals(unit: Unit, region: tuple[CStmt, ...]) -> set[Variable]:
    """Globals that functions called from the region name; their names must keep their meaning."""
    bodies = [function.body for function in callees(unit, region)]
    return {e.var for b in bodies for e in all_expressions(b) if isinstance(e, Ref) and e.var.storage == "global"}


def _iterators(stmt: CStmt) -> set[object]:
    return {scalars.iterator_of(s) for s in statements(stmt) if isinstance(s, ForStmt)}
