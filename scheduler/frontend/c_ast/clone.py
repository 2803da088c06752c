"""Copies of syntax trees with variables replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CCall,
    CExpr,
    Compound,
    Cond,
    Conv,
    CStmt,
    CType,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Index,
    Items,
    Lit,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Unmodelled,
    Variable,
    extents,
    subexpressions,
)
from scheduler.frontend.c_ast.liveness import mentioned

MAX_REPEATED = 12


def repeatable(expr: CExpr, most: int = MAX_REPEATED) -> bool:
    """Cheap enough to be computed at every use: a scalar, a constant, an element, a few sums and products."""
    for count, part in enumerate(subexpressions(expr)):
        if count >= most or not isinstance(part, Lit | Ref | Index | Conv | Bin | Un | Member | Cond):
            return False
        if isinstance(part, Bin) and most == MAX_REPEATED and part.op not in ("+", "-", "*"):
            return False
        if isinstance(part, Un) and part.op == "&":
            return False
    return True


@dataclass(frozen=True, slots=True)
class Cloner:
    """Copies with variables replaced; at the offset `at`, or (None) where they stand.

    `depth`, `within`: of the calls in them. `results`: what stands for parts of the expression, by their identity.
    """

    values: Mapping[Variable, CExpr]
    at: int | None
    depth: int
    results: Mapping[int, CExpr] = field(default_factory=dict)
    within: tuple[str, ...] = ()

    def expr(self, expr: CExpr) -> CExpr:
        at = expr.at if self.at is None else self.at
        if (result := self.results.get(id(expr))) is not None:
            return result
        match expr:
            case Ref(var=var):
                return self.values.get(var) or replace(expr, at=at)
            case Bin() | Set():
                return replace(expr, left=self.expr(expr.left), right=self.expr(expr.right), at=at)
            case Index(base=base, index=index):
                new_base, new_index = self.expr(base), self.expr(index)
                first = isinstance(new_index, Lit) and new_index.value == 0
                return (pointed(new_base) if first else None) or Index(new_base, new_index, expr.ctype, at)
            case Member(base=base):
                new_base = self.expr(base)
                whole = pointed(new_base) if expr.arrow else None
                return replace(expr, base=whole or new_base, arrow=expr.arrow and whole is None, at=at)
            case Un(operand=operand):
                new = self.expr(operand)
                if expr.op == "&" and isinstance(new, Un) and new.op == "*":
                    return new.operand
                return (pointed(new) if expr.op == "*" else None) or replace(expr, operand=new, at=at)
            case Step(operand=operand) | Conv(operand=operand):
                return replace(expr, operand=self.expr(operand), at=at)
            case CCall(arguments=arguments):
                depth, within = max(expr.depth, self.depth), max(expr.within, self.within, key=len)
                return replace(expr, arguments=tuple(map(self.expr, arguments)), at=at, depth=depth, within=within)
            case Items(items=items):
                return replace(expr, items=tuple(map(self.expr, items)), at=at)
            case Unmodelled(parts=parts):
                return replace(expr, parts=tuple(map(self.expr, parts)), at=at)
            case Cond():
                condition, then, orelse = map(self.expr, (expr.condition, expr.then, expr.orelse))
                return Cond(condition, then, orelse, expr.ctype, at)
            case Lit():
                return replace(expr, at=at)

    def type_(self, ctype: CType) -> CType:
        """With the extents of variable length arrays copied."""
        if ctype.element is None:
            return ctype
        extent = ctype.extent if ctype.extent is None or isinstance(ctype.extent, int) else self.expr(ctype.extent)
        return replace(ctype, element=self.type_(ctype.element), extent=extent)


def pointed(expr: CExpr) -> CExpr | None:
    """The variable `x` where the expression is `&x`."""
    return expr.operand if isinstance(expr, Un) and expr.op == "&" and isinstance(expr.operand, Ref) else None


@dataclass(slots=True)
class Substituted:
    """Of the statements of a list, one after the other; `fresh`: the variables that they declare anew."""

    fresh: dict[Variable, CExpr] = field(default_factory=dict)

    def stmt(self, stmt: CStmt, values: Mapping[Variable, CExpr]) -> CStmt:
        """The statement with variables replaced; itself where it names none of them."""
        values = {**values, **self.fresh}
        return self.copy(stmt, values) if mentioned(stmt) & values.keys() else stmt

    def copy(self, stmt: CStmt, values: dict[Variable, CExpr]) -> CStmt:
        """The statement with variables replaced; `values` gets those that it declares anew."""
        cloner = Cloner(values, None, 0)
        match stmt:
            case ExprStmt(expr=expr):
                return replace(stmt, expr=cloner.expr(expr))
            case DeclStmt(variables=variables):
                return replace(stmt, variables=tuple(self._declared(v, values) for v in variables))
            case Compound(body=body):
                inner = dict(values)
                return Compound(tuple(self.copy(s, inner) for s in body), stmt.begin, stmt.end)
            case IfStmt(then=then, orelse=orelse):
                other = None if orelse is None else self.copy(orelse, values)
                return replace(stmt, condition=cloner.expr(stmt.condition), then=self.copy(then, values), orelse=other)
            case ForStmt(init=init):
                first = None if init is None else self.copy(init, values)
                cloner = Cloner(values, None, 0)  # with what the header declares
                condition, increment = stmt.condition, stmt.increment
                return replace(
                    stmt,
                    init=first,
                    condition=None if condition is None else cloner.expr(condition),
                    increment=None if increment is None else cloner.expr(increment),
                    body=self.copy(stmt.body, values),
                )
            case ReturnStmt(value=value):
                return stmt if value is None else replace(stmt, value=cloner.expr(value))
            case OtherStmt():
                exprs = tuple(cloner.expr(e) for e in stmt.exprs)
                return replace(stmt, exprs=exprs, body=tuple(self.copy(s, values) for s in stmt.body))
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


def is_lasting(expr: CExpr) -> bool:
    """Of an expression without its operands: no call that is evaluated with it changes its value."""
    if isinstance(expr, Ref):
        return expr.ctype.is_scalar and expr.var.storage in ("local", "param") and not expr.var.address_taken
    if isinstance(expr, CCall):
        return expr.is_pure
    return isinstance(expr, Lit | Conv | Cond | Bin) or (isinstance(expr, Un) and expr.op not in ("*", "&"))
