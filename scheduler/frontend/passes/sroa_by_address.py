"""Structure variables of a region whose address went to functions that stand there by now: one variable a member."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from scheduler.frontend.c_ast.clone import Cloner
from scheduler.frontend.c_ast.csyntax import (
    CExpr,
    Compound,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Index,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Un,
    Variable,
    all_expressions,
    statements,
)

Members = dict[tuple[str, ...], Variable]


def split_by_address(region: tuple[CStmt, ...]) -> tuple[CStmt, ...]:
    """The region, with those that are only used by their members taken apart. Its variables are nobody else's."""
    declared = {v for top in region for s in statements(top) if isinstance(s, DeclStmt) for v in s.variables}
    records = {v for v in declared if v.ctype.kind == "record" and v.init is None and not v.ctype.is_volatile}
    records = {v for v in records if v.storage == "local" and not v.oddity}
    uses = dict.fromkeys(records, 0)
    members: dict[Variable, Members] = {v: {} for v in records}
    for expr in (e for top in region for e in all_expressions(top)):
        if isinstance(expr, Ref) and expr.var in uses:
            uses[expr.var] += 1
        if isinstance(expr, Un) and expr.op == "&":
            inner = expr.operand
            while isinstance(inner, Index) or (isinstance(inner, Member) and not inner.arrow):
                inner = inner.base
            if isinstance(inner, Ref):
                uses.pop(inner.var, None)
        found = _place(expr)
        if found is not None and found[0] in uses:
            variable, path = found
            if expr.ctype.is_volatile:
                continue
            uses[variable] -= 1
            if path not in members[variable]:
                members[variable][path] = _member(variable, path, expr)
    divisible = {v: members[v] for v, left in uses.items() if left == 0}
    return _Divider({}, None, 0, members=divisible).list_(region) if divisible else region


def _place(expr: CExpr) -> tuple[Variable, tuple[str, ...]] | None:
    """The variable and the names of members of `t.a.x`, where that is no structure."""
    if not isinstance(expr, Member) or expr.ctype.kind == "record":
        return None
    path: list[str] = []
    inner: CExpr = expr
    while isinstance(inner, Member) and not inner.arrow:
        path.insert(0, inner.name)
        inner = inner.base
    return (inner.var, tuple(path)) if isinstance(inner, Ref) else None


def _member(variable: Variable, path: Iterable[str], expr: CExpr) -> Variable:
    name = "_".join((variable.name, *path))
    return Variable(name, replace(expr.ctype, is_const=False), "local", variable.offset, writes=2)


@dataclass(frozen=True)
class _Divider(Cloner):
    members: Mapping[Variable, Members] = field(default_factory=dict)

    def expr(self, expr: CExpr) -> CExpr:
        found = _place(expr)
        if found is not None and found[0] in self.members:
            member = self.members[found[0]][found[1]]
            return Ref(member, member.ctype, expr.at)
        return Cloner.expr(self, expr)

    def list_(self, body: Iterable[CStmt]) -> tuple[CStmt, ...]:
        return tuple(map(self.stmt, body))

    def stmt(self, stmt: CStmt) -> CStmt:
        match stmt:
            case ExprStmt(expr=expr):
                return replace(stmt, expr=self.expr(expr))
            case DeclStmt(variables=variables):
                declared: list[Variable] = []
                for variable in variables:
                    if variable in self.members:
                        declared += self.members[variable].values()
                        continue
                    variable.ctype = self.type_(variable.ctype)
                    variable.init = None if variable.init is None else self.expr(variable.init)
                    declared.append(variable)
                return replace(stmt, variables=tuple(declared))
            case Compound(body=body):
                return replace(stmt, body=self.list_(body))
            case IfStmt():
                orelse = None if stmt.orelse is None else self.stmt(stmt.orelse)
                return replace(stmt, condition=self.expr(stmt.condition), then=self.stmt(stmt.then), orelse=orelse)
            case ForStmt():
                return replace(
                    stmt,
                    init=None if stmt.init is None else self.stmt(stmt.init),
                    condition=None if stmt.condition is None else self.expr(stmt.condition),
                    increment=None if stmt.increment is None else self.expr(stmt.increment),
                    body=self.stmt(stmt.body),
                )
            case ReturnStmt(value=value):
                return replace(stmt, value=None if value is None else self.expr(value))
            case OtherStmt():
                return replace(stmt, exprs=tuple(map(self.expr, stmt.exprs)), body=self.list_(stmt.body))
        return stmt
