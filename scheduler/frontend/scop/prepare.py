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
from scheduler.frontend.scop.context import ArrayInfo, Context, Region
from scheduler.frontend.scop.members import note_indexed
from scheduler.ir.nest import Storage


def prepare(ctx: Context, region: tuple[CStmt, ...], pragmas: Pragmas, found: Marks) -> None:
    """Classify the variables of a region before it is read."""
    changed = scalars.written_variables(region)
    writes = {v: len(places) for v, places in changed.items()}
    changes = {v: places[0] for v, places in changed.items()}
    ctx.region = Region(region, writes, changes)
    ctx.scope.inside = scalars.declared_inside(region)
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

    def dead(variable: Variable) -> bool:
        return dead_after(variable, ctx.scope.frames, ctx.function)

    private = owned_variables(region, ctx.function, dead, pragmas, found)
    owned = private.loops
    ctx.region = Region(region, writes, changes, uses, frozenset(stored), owned, private.only_openmp)
    for variable in _callee_globals(ctx.unit, region):
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
        if variable in ctx.scope.inside:
            continue
        owners = owned.get(variable, ())
        if not variable.ctype.is_scalar:
            if owners or dead(variable):
                ctx.scope.windows[variable] = owners[-1] if owners else None
            continue
        places: list[ForStmt | None] = []
        for owner in owners:
            own = scalars.privatize(variable, scalars.loop_body(owner), owner)
            if own is None:
                reason = f"an iteration reads '{variable.name}', which is private, before it sets it"
                raise Reject(changes[variable], f"{RACE}{reason}", "set it first in every iteration")
            places += own
        if not owners and dead(variable):
            places = scalars.privatize(variable, scalars.flatten(region), None) or []
        for number, place in enumerate(places):
            name = variable.name if number == 0 else ctx.fresh(variable.name)
            ctx.scope.outside.pop(name, None)
            ctx.accesses.arrays[name] = ArrayInfo(
                name, variable.ctype.name, replace(variable.ctype), Storage.PRIVATE, variable, None, None
            )
            ctx.scope.privates[(variable, place)] = name
            ctx.scope.pending_scopes[name] = place


def _callee_globals(unit: Unit, region: tuple[CStmt, ...]) -> set[Variable]:
    """Globals that functions called from the region name; their names must keep their meaning."""
    bodies = [function.body for function in callees(unit, region)]
    return {e.var for b in bodies for e in all_expressions(b) if isinstance(e, Ref) and e.var.storage == "global"}


def _iterators(stmt: CStmt) -> set[object]:
    return {scalars.iterator_of(s) for s in statements(stmt) if isinstance(s, ForStmt)}
