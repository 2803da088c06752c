"""What all threads of a parallel region run, and have their own of: it must be the same in all of them.

Source: OpenMP API 5.2, section 5.1 (data-sharing attributes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler.frontend.context import Context, Refuse
from scheduler.frontend.csyntax import (
    CCall,
    CStmt,
    ForStmt,
    Ref,
    Set,
    Variable,
    all_expressions,
    inner_statements,
    own_expressions,
    subexpressions,
)
from scheduler.frontend.model import Sharing
from scheduler.frontend.scalar_uses import dead_after, statement_use
from scheduler.frontend.scalars import target_variable
from scheduler.ir.nest import LoopNest
from scheduler.ir.walk import placed_statements


def run_by_all(region: Iterable[CStmt], shared: list[ForStmt]) -> set[Variable]:
    """The variables that the region names outside of the loops that the threads share."""
    own = (e for stmt in _unshared(region, shared) for e in own_expressions(stmt))
    return {e.var for expr in own for e in subexpressions(expr) if isinstance(e, Ref)}


def _unshared(region: Iterable[CStmt], shared: list[ForStmt]) -> Iterator[CStmt]:
    for stmt in region:
        if not any(stmt is loop for loop in shared):
            yield stmt
            yield from _unshared(inner_statements(stmt), shared)


def check_same(
    ctx: Context, stmt: ForStmt, used: Iterable[Variable], own: frozenset[Variable], tainted: set[Variable]
) -> None:
    """What all threads use must be the same for all, be it their `own`. Raises Refuse.

    A variable that they all set, outside of the loops that they share, to what is made of such is so, too; statements
    that remain of that are found by `check_team`.
    """
    for variable in sorted(used, key=lambda v: v.name):
        if variable in tainted:
            raise Refuse(stmt.begin, f"depends on which thread runs it, by '{variable.name}'", _advice(variable))
        kind = variable.ctype.kind
        if variable not in own or variable.ctype.is_scalar or (kind == "array" and variable.storage == "param"):
            continue
        if kind != "pointer" or _given_by_call(variable, own, ctx):
            raise Refuse(stmt.begin, f"every thread has its own '{variable.name}'", _advice(variable))


def _advice(variable: Variable) -> str:
    return f"'{variable.name}' differs from thread to thread; make it shared, or private to the loop"


def check_carried(ctx: Context, stmt: ForStmt, own: Iterable[Variable], reduced: set[str]) -> None:
    """What each thread has its own of, and sets in a shared loop, must be set anew in each iteration. Raises Refuse."""
    for variable in sorted(own, key=lambda v: v.name):
        whose = f"every thread has its own '{variable.name}'"
        if variable.name in reduced or statement_use(variable, stmt.body, True) == "read":
            raise Refuse(stmt.begin, f"{whose}, which iterations hand on", _advice(variable))
        if not dead_after(variable, ctx.frames, ctx.function):
            raise Refuse(stmt.begin, f"{whose}, which is used later", _advice(variable))


def _given_by_call(variable: Variable, region: frozenset[Variable], ctx: Context) -> bool:
    """Whether a pointer that every thread has is set to what a call returns, which may be other memory in each."""
    waiting, seen = [variable], {variable}
    while waiting:
        pointer = waiting.pop()
        if pointer.storage != "local":
            continue
        sets = (e for e in all_expressions(ctx.function.body) if isinstance(e, Set))
        settings = [e.right for e in sets if target_variable(e) is pointer]
        settings += [pointer.init] if pointer.init is not None else []
        for expr in (e for setting in settings for e in subexpressions(setting)):
            if isinstance(expr, CCall):
                return True
            if isinstance(expr, Ref) and expr.var in region and expr.var not in seen:
                seen.add(expr.var)
                waiting.append(expr.var)
    return variable.storage == "local" and variable.address_taken


def check_team(nest: LoopNest, found: Sharing, at: int) -> None:
    """All that a team runs must be in loops that it shares: what else there is every thread does. Raises Refuse."""
    shared = {s.loop for s in found.shared if s.threads}
    for placed in placed_statements(nest):
        if not any(loop.name in shared for loop in placed.loops):
            where = placed.statement.span.begin if placed.statement.span is not None else at
            raise Refuse(where, "every thread of the parallel region runs this", "tune the loops it shares one by one")
