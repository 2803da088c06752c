"""A function made ready for the extraction: helpers inlined, index variables substituted."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast import scalars
from scheduler.frontend.c_ast.csyntax import (
    CStmt,
    ForStmt,
    Ref,
    Variable,
    all_expressions,
    statements,
)
from scheduler.frontend.c_ast.liveness import dead_after
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.model import RACE
from scheduler.frontend.openmp.constructs import Pragmas
from scheduler.frontend.openmp.own_variables import owned_variables
from scheduler.frontend.openmp.sharing import Marks
from scheduler.frontend.passes.exits import Exits
from scheduler.frontend.scop.assumptions import callees
from scheduler.frontend.scop.context import ArrayInfo, Context, Region
from scheduler.frontend.scop.members import note_indexed
from scheduler.ir.nest import Storage


def prepare(ctx: Context, region: tuple[CStmt, ...], pragmas: Pragmas, found: Marks) -> tuple[CStmt, ...]:
    """Classify the variables of a region before it is read, as a copy where its loops have variables of their own."""

    def dead(variable: Variable) -> bool:
        return dead_after(variable, ctx.scope.frames, ctx.function)

    private = owned_variables(region, ctx.function, dead, pragmas, found, ctx.aliases)
    region, owned = private.region, private.loops
    changed = scalars.written_variables(region)
    writes = {v: len(places) for v, places in changed.items()}
    changes = {v: places[0] for v, places in changed.items()}
    ctx.region = Region(region, writes, changes)
    ctx.scope.inside = scalars.declared_inside(region) | owned.keys()
    note_indexed(ctx, region)
    iterators = set()
    uses: dict[Variable, int] = {}
    stored: set[Variable] = set()
    for stmt in region:
        ctx.work.spend(sum(1 for _ in all_expressions(stmt)), stmt.begin)
        for expr in all_expressions(stmt):
            if isinstance(expr, Ref):
                uses[expr.var] = uses.get(expr.var, 0) + 1
        stored |= ctx.aliases.reached(scalars.stored_variables(stmt))
        iterators |= _iterators(stmt)
    ctx.region = Region(region, writes, changes, uses, frozenset(stored), owned, private.only_openmp)
    for variable in _callee_globals(ctx.exits, region):
        ctx.scope.taken.add(variable.name)
        ctx.scope.outside.setdefault(variable.name, variable)
    for variable in uses:
        if variable not in ctx.scope.inside and variable not in iterators:
            for named in (variable, variable.owner):
                if named is not None:
                    ctx.scope.taken.add(named.name)
                    ctx.scope.outside[named.name] = named
    size = sum(uses.values())
    for variable in writes:
        ctx.work.spend(size // 4, region[0].begin)
        owner = owned.get(variable)
        if variable in ctx.scope.inside and owner is None:
            continue
        if not variable.ctype.is_scalar:
            if owner is not None or dead(variable):
                ctx.scope.windows[variable] = owner
            continue
        if owner is not None:
            places = scalars.privatize(variable, scalars.loop_body(owner), owner)
            if places is None and variable in private.given:
                reason = f"iterations hand '{variable.name}' on, of which each thread has its own"
                raise Reject(changes[variable], reason, "make it a function of the iterator")
            if places is None:
                reason = f"an iteration reads '{variable.name}', which is private, before it sets it"
                raise Reject(changes[variable], f"{RACE}{reason}", "set it first in every iteration")
        elif not dead(variable):
            continue
        else:
            places = scalars.privatize(variable, scalars.flatten(region), None)
        if places is None:
            continue
        for number, place in enumerate(places):
            name = ctx.fresh(variable.name) if number or owner is not None else variable.name
            ctx.scope.outside.pop(name, None)
            ctx.accesses.arrays[name] = ArrayInfo(
                name, variable.ctype.name, replace(variable.ctype), Storage.PRIVATE, variable, None, None
            )
            ctx.scope.privates[(variable, place)] = name
            ctx.scope.pending_scopes[name] = place
    return region


def _callee_globals(exits: Exits, region: tuple[CStmt, ...]) -> set[Variable]:
    """Globals that functions called from the region name; their names must keep their meaning."""
    bodies = [function.body for function in callees(exits, region)]
    return {e.var for b in bodies for e in all_expressions(b) if isinstance(e, Ref) and e.var.storage == "global"}


def _iterators(stmt: CStmt) -> set[object]:
    return {scalars.iterator_of(s) for s in statements(stmt) if isinstance(s, ForStmt)}
