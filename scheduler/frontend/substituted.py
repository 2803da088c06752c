"""Copies of statements with variables replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scheduler.frontend.clone import Cloner
from scheduler.frontend.csyntax import (
    CExpr,
    Compound,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    OtherStmt,
    Ref,
    ReturnStmt,
    Variable,
    extents,
    subexpressions,
)
from scheduler.frontend.scalar_uses import mentioned


@dataclass(slots=True)
class Substituted:
    """Of the statements of a list, one after the other; `fresh`: the variables that they declare anew."""

    fresh: dict[Variable, CExpr] = field(default_factory=dict)

    def stmt(self, stmt: CStmt, values: Mapping[Variable, CExpr]) -> CStmt:
        """The statement with variables replaced; itself where it names none of them."""
        values = {**values, **self.fresh}
        return self._copy(stmt, values) if mentioned(stmt) & values.keys() else stmt

    def _copy(self, stmt: CStmt, values: dict[Variable, CExpr]) -> CStmt:
        cloner = Cloner(values, None, 0)
        match stmt:
            case ExprStmt(expr=expr):
                return replace(stmt, expr=cloner.expr(expr))
            case DeclStmt(variables=variables):
                return replace(stmt, variables=tuple(self._declared(v, values) for v in variables))
            case Compound(body=body):
                inner = dict(values)
                return Compound(tuple(self._copy(s, inner) for s in body), stmt.begin, stmt.end)
            case IfStmt(then=then, orelse=orelse):
                other = None if orelse is None else self._copy(orelse, values)
                return replace(stmt, condition=cloner.expr(stmt.condition), then=self._copy(then, values), orelse=other)
            case ForStmt(init=init):
                first = None if init is None else self._copy(init, values)
                cloner = Cloner(values, None, 0)  # with what the header declares
                condition, increment = stmt.condition, stmt.increment
                return replace(
                    stmt,
                    init=first,
                    condition=None if condition is None else cloner.expr(condition),
                    increment=None if increment is None else cloner.expr(increment),
                    body=self._copy(stmt.body, values),
                )
            case ReturnStmt(value=value):
                return stmt if value is None else replace(stmt, value=cloner.expr(value))
            case OtherStmt():
                exprs = tuple(cloner.expr(e) for e in stmt.exprs)
                return replace(stmt, exprs=exprs, body=tuple(self._copy(s, values) for s in stmt.body))
        return stmt

    def _declared(self, variable: Variable, values: dict[Variable, CExpr]) -> Variable:
        parts = (*extents(variable.ctype), *(() if variable.init is None else (variable.init,)))
        if not any(isinstance(e, Ref) and e.var in values for p in parts for e in subexpressions(p)):
            return variable
        cloner = Cloner(values, None, 0)
        init = None if variable.init is None else cloner.expr(variable.init)
        fresh = replace(variable, ctype=cloner.type_(variable.ctype), init=init, init_text="")
        values[variable] = self.fresh[variable] = Ref(fresh, fresh.ctype, variable.offset)
        return fresh
