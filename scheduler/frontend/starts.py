"""Where a variable is set before a loop, and to what."""

from __future__ import annotations

from scheduler.frontend.csyntax import (
    CCall,
    CExpr,
    CStmt,
    DeclStmt,
    ExprStmt,
    Ref,
    Set,
    Step,
    Strange,
    Variable,
    all_expressions,
    strip,
    subexpressions,
)
from scheduler.frontend.scalar_uses import mentioned
from scheduler.frontend.scalars import stored_variables, target_variable

Marked = frozenset[int]


def start_before(variable: Variable, before: list[CStmt], marked: Marked) -> tuple[int, CExpr] | None:
    """Where the variable is set before a loop, and to what, if that is still so at the loop."""
    changed: set[Variable] = set()
    for place in range(len(before) - 1, -1, -1):
        stmt = before[place]
        if stmt.begin in marked:
            return None
        value = _set_to(variable, stmt)
        if value is not None:
            parts = list(subexpressions(value))
            if any(isinstance(e, Set | Step | CCall | Strange) for e in parts):
                return None
            named = {e.var for e in parts if isinstance(e, Ref)}
            return None if named & changed or variable in named else (place, value)
        if not isinstance(stmt, ExprStmt | DeclStmt) or variable in mentioned(stmt):
            return None
        for expr in all_expressions(stmt):
            if isinstance(expr, CCall | Strange):
                return None
            if isinstance(expr, Set | Step):
                target = target_variable(expr)
                if target is None or target.address_taken:
                    return None
        changed |= stored_variables(stmt) | (set(stmt.variables) if isinstance(stmt, DeclStmt) else set())
    return None


def _set_to(variable: Variable, stmt: CStmt) -> CExpr | None:
    if isinstance(stmt, ExprStmt):
        expr = strip(stmt.expr)
        plain = isinstance(expr, Set) and expr.op == "=" and target_variable(expr) is variable
        return expr.right if plain and isinstance(expr, Set) else None
    if isinstance(stmt, DeclStmt) and variable in stmt.variables:
        others = [v.init for v in stmt.variables if v is not variable and v.init is not None]
        named = any(isinstance(e, Ref) and e.var is variable for init in others for e in subexpressions(init))
        return None if named else variable.init
    return None


def take_start(variable: Variable, before: list[CStmt], place: int) -> None:
    """The loop's header sets the variable from now on."""
    if isinstance(before[place], DeclStmt):
        variable.init = None
        variable.writes += 1
    else:
        del before[place]
