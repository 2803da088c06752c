"""What all threads of a parallel region run, and have their own of: it must be the same in all of them.

Source: OpenMP API 5.2, section 5.1 (data-sharing attributes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from scheduler.frontend.c_ast.csyntax import (
    CCall,
    CFunction,
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
from scheduler.frontend.c_ast.liveness import statement_use
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import target_variable
from scheduler.frontend.model import Sharing
from scheduler.ir.nest import LoopNest
from scheduler.ir.walk import placed_statements

Dead = Callable[[Variable], bool]
"""Whether nobody reads a variable behind the region."""


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
    function: CFunction, stmt: ForStmt, used: Iterable[Variable], own: frozenset[Variable], tainted: set[Variable]
) -> None:
    """What all threads use must be the same for all, be it their `own`. Raises Reject.

    A variable that they all set, outside of the loops that they share, to what is made of such is so, too; statements
    that remain of that are found by `check_team`.
    """
    for variable in sorted(used, key=lambda v: v.name):
        if variable in tainted:
            raise Reject(stmt.begin, f"depends on which thread runs it, by '{variable.name}'", _advice(variable))
        kind = variable.ctype.kind
        if variable not in own or variable.ctype.is_scalar or (kind == "array" and variable.storage == "param"):
            continue
        if kind != "pointer" or _given_by_call(variable, own, function):
            raise Reject(stmt.begin, f"every thread has its own '{variable.name}'", _advice(variable))


def _advice(variable: Variable) -> str:
    return f"'{variable.name}' differs from thread to thread; make it shared, or private to the loop"


def check_carried(dead: Dead, stmt: ForStmt, own: Iterable[Variable], reduced: set[str]) -> None:
    """What each thread has its own of, and sets in a shared loop, must be set anew in each iteration. Raises Reject."""
    for variable in sorted(own, key=lambda v: v.name):
        whose = f"every thread has its own '{variable.name}'"
        if variable.name in reduced or statement_use(variable, stmt.body, True) == "read":
            raise Reject(stmt.begin, f"{whose}, which iterations hand on", _advice(variable))
        if not dead(variable):
            raise Reject(stmt.begin, f"{whose}, which is used later", _advice(variable))


def _given_by_call(variable: Variable, region: frozenset[Variable], function: CFunction) -> bool:
    """Whether a pointer that every thread has is set to what a call returns, which may be other memory in each."""
    waiting, seen = [variable], {variable}
    while waiting:
        pointer = waiting.pop()
        if pointer.storage != "local":
            continue
        sets = (e for e in all_expressions(function.body) if isinstance(e, Set))
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
    """All that a team runs must be in loops that it shares: what else there is every thread does. Raises Reject."""
    shared = {s.loop for s in found.shared if s.threads}
    for placed in placed_statements(nest):
        if not any(loop.name in shared for loop in placed.loops):
            where = placed.statement.span.begin if placed.statement.span is not None else at
            raise Reject(where, "every thread of the parallel region runs this", "tune the loops it shares one by one")
