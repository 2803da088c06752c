"""An expression taken apart: calls, and operands that C may not evaluate, become statements in front of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from scheduler.frontend.c_ast.csyntax import (
    INT,
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
    IfStmt,
    Index,
    Items,
    Lit,
    Member,
    Ref,
    Set,
    Step,
    Un,
    Unmodelled,
    Variable,
    operands,
)


@dataclass(slots=True)
class ANormalForm:
    """An expression, evaluated once, as statements `before` it and what is left of it.

    Operands that C may not evaluate and that hold a call that `chosen` picks become branches; where `taken`, the call
    itself becomes the initializer of a variable.
    """

    chosen: Callable[[CExpr], bool]
    taken: bool
    made: list[Variable] = field(default_factory=list)
    before: list[CStmt] = field(default_factory=list)
    _holding: set[int] = field(default_factory=set)

    def run(self, expr: CExpr) -> CExpr:
        self._note(expr)
        return self._expr(expr)

    def arguments(self, call: CCall) -> CCall:
        """The call with what its arguments hold in front of it."""
        self._note(call)
        return replace(call, arguments=tuple(map(self._expr, call.arguments)))

    def _note(self, expr: CExpr) -> bool:
        below = [self._note(part) for part in operands(expr)]
        if any(below) or self.chosen(expr):
            self._holding.add(id(expr))
            return True
        return False

    def _expr(self, expr: CExpr) -> CExpr:
        if id(expr) not in self._holding:
            return expr
        match expr:
            case CCall():
                new = replace(expr, arguments=tuple(map(self._expr, expr.arguments)))
                if not self.taken or not self.chosen(expr):
                    return new
                return self._variable(f"{expr.name}_value", new.ctype, new, expr.at)
            case Cond() if self._any(expr.then, expr.orelse):
                return self._branches(expr, expr.condition, expr.then, expr.orelse)
            case Bin(op="&&" | "||") if self._any(expr.right):
                known = Lit("1" if expr.op == "||" else "0", 1 if expr.op == "||" else 0, INT, expr.at)
                other = Un("!", Un("!", expr.right, INT, expr.at), INT, expr.at)
                self._holding |= {id(other), id(other.operand)}
                then, orelse = (known, other) if expr.op == "||" else (other, known)
                return self._branches(expr, expr.left, then, orelse)
            case Bin(left=left, right=right) | Set(left=left, right=right):
                new_left = self._expr(left)
                return replace(expr, left=new_left, right=self._expr(right))
            case Index(base=base, index=index):
                new_base = self._expr(base)
                return replace(expr, base=new_base, index=self._expr(index))
            case Member(base=base):
                return replace(expr, base=self._expr(base))
            case Un(operand=operand) | Step(operand=operand) | Conv(operand=operand):
                return replace(expr, operand=self._expr(operand))
            case Cond():
                return replace(expr, condition=self._expr(expr.condition))
            case Items(items=items):
                return replace(expr, items=tuple(map(self._expr, items)))
            case Unmodelled(parts=parts):
                return replace(expr, parts=tuple(map(self._expr, parts)))
        return expr

    def _any(self, *exprs: CExpr) -> bool:
        return any(id(e) in self._holding for e in exprs)

    def _variable(self, name: str, ctype: CType, init: CExpr | None, at: int) -> Ref:
        whole = replace(ctype, is_const=False)
        variable = Variable(name, whole, "local", at, init=init)
        self.made.append(variable)
        self.before.append(DeclStmt((variable,), at, at))
        return Ref(variable, whole, at)

    def _branches(self, expr: CExpr, condition: CExpr, then: CExpr, orelse: CExpr) -> CExpr:
        at = expr.at
        condition = self._expr(condition)
        place = self._variable("chosen", expr.ctype, None, at)
        outer, branches = self.before, []
        for value in (then, orelse):
            self.before = []
            new = self._expr(value)
            assignment = ExprStmt(Set("=", place, new, place.ctype, at), at, at)
            place.var.writes += 1
            branches.append(Compound((*self.before, assignment), at, at))
        self.before = outer
        self.before.append(IfStmt(condition, branches[0], branches[1], at, at))
        return place
