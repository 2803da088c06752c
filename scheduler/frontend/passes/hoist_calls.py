"""Calls that return structures, each in a declaration of its own: `struct v t = f(a);`.

What holds such a call then uses the variable, so that `sroa` makes local variables of what is returned, set once.
Calls are moved in front of a statement only where no order that C allows makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CCall,
    CExpr,
    CFunction,
    Compound,
    Conv,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Index,
    JumpStmt,
    Lit,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Unit,
    Unmodelled,
    Variable,
    all_expressions,
    own_expressions,
    statements,
    strip,
    subexpressions,
)
from scheduler.frontend.c_ast.jumps import negated
from scheduler.frontend.passes.a_normal_form import ANormalForm


def hoist_calls(unit: Unit, returned: Callable[[CExpr], bool]) -> set[Variable]:
    """Rewrites the functions of a unit; the variables that are declared with the result of a call, and nothing else.

    `returned`: a call of a function whose members are told apart.
    """
    apart = _HoistCalls(unit, returned)
    for function in unit.functions.values():
        if any(map(returned, all_expressions(function.body))):
            function.body = replace(function.body, body=apart.list_(function.body.body))
    return apart.received


class _HoistCalls:
    def __init__(self, unit: Unit, returned: Callable[[CExpr], bool]) -> None:
        self.unit = unit
        self.returned = returned
        self.marked = {d.target for d in unit.source.directives if d.text.startswith("#pragma")}
        self.received: set[Variable] = set()
        self._quiet: dict[str, bool] = {}

    # --------------------------------------------------------------------------------- statements

    def list_(self, body: tuple[CStmt, ...]) -> tuple[CStmt, ...]:
        return tuple(s for stmt in body for s in self._stmt(stmt))

    def _block(self, stmt: CStmt) -> CStmt:
        found = self._stmt(stmt)
        return found[0] if len(found) == 1 else Compound(tuple(found), stmt.begin, stmt.end)

    def _stmt(self, stmt: CStmt) -> list[CStmt]:
        match stmt:
            case Compound(body=body):
                return [replace(stmt, body=self.list_(body))]
            case IfStmt():
                orelse = None if stmt.orelse is None else self._block(stmt.orelse)
                stmt = replace(stmt, then=self._block(stmt.then), orelse=orelse)
            case ForStmt(body=body):
                return [replace(stmt, body=self._block(body))]
            case OtherStmt(body=body):
                stmt = replace(stmt, body=tuple(map(self._block, body)))
        if stmt.begin in self.marked or not self._may_move(stmt):
            return [stmt]
        match stmt:
            case ExprStmt(expr=expr):
                return self._placed(stmt, *self._spread(expr))
            case DeclStmt():
                return self._declared(stmt)
            case ReturnStmt(value=value) if value is not None:
                before, new = self._spread(value)
                return [*before, replace(stmt, value=new)]
            case IfStmt(condition=condition):
                before, new = self._spread(condition)
                return [*before, replace(stmt, condition=new)]
            case OtherStmt(what="switch", exprs=(expr,)):
                before, new = self._spread(expr)
                return [*before, replace(stmt, exprs=(new,))]
            case OtherStmt(what="while", exprs=(expr,), body=body):
                before, new = self._spread(expr)
                at = expr.at
                leave = IfStmt(negated(new), JumpStmt("break", at, at), None, at, at)
                whole = Compound((*before, leave, *body), stmt.begin, stmt.end)
                return [replace(stmt, exprs=(Lit("1", 1, INT, at),), body=(whole,))]
        return [stmt]

    def _placed(self, stmt: ExprStmt, before: list[CStmt], new: CExpr) -> list[CStmt]:
        bare = strip(new)
        while isinstance(bare, Conv) and bare.ctype.kind == "void":
            bare = strip(bare.operand)
        unused = isinstance(bare, Ref) and bare.var in self.received
        return before if unused else [*before, replace(stmt, expr=new)]

    def _spread(self, expr: CExpr) -> tuple[list[CStmt], CExpr]:
        spread = ANormalForm(self.returned, True)
        new = spread.run(expr)
        self.received |= {v for v in spread.made if v.init is not None}
        return spread.before, new

    def _declared(self, stmt: DeclStmt) -> list[CStmt]:
        result: list[CStmt] = []
        for variable in stmt.variables:
            init = variable.init
            if init is not None and any(map(self.returned, subexpressions(init))):
                bare = strip(init)
                if isinstance(bare, CCall) and self.returned(bare) and bare.ctype.name == variable.ctype.name:
                    spread = ANormalForm(self.returned, True)
                    variable.init = spread.arguments(bare)
                    self.received |= {*(v for v in spread.made if v.init is not None), variable}
                    result += spread.before
                else:
                    before, variable.init = self._spread(init)
                    result += before
            result.append(DeclStmt((variable,), stmt.begin, stmt.end))
        return result

    # -------------------------------------------------------------------------------------- order

    def _may_move(self, stmt: CStmt) -> bool:
        """It holds such calls, and it makes no difference that they come first."""
        exprs = own_expressions(stmt)
        if not any(self.returned(e) for expr in exprs for e in subexpressions(expr)):
            return False
        if isinstance(stmt, DeclStmt):
            return all(v.storage == "local" and self._in_any_order(v.init) for v in stmt.variables)
        return all(map(self._in_any_order, exprs))

    def _in_any_order(self, whole: CExpr | None) -> bool:
        if whole is None:
            return True
        expr = strip(whole)
        while isinstance(expr, Conv) and expr.ctype.kind == "void":
            expr = strip(expr.operand)
        outside: tuple[CExpr, ...] = (expr,)
        if isinstance(expr, Set):
            outside = (expr.left, expr.right)
            last = strip(expr.right)
            alone = expr.op == "=" and isinstance(last, CCall) and _lasts(expr.left)
        else:
            last, alone = expr, True
        if alone and isinstance(last, CCall) and self.returned(last):
            outside = (*(outside[:1] if isinstance(expr, Set) else ()), *last.arguments)
        return all(self._is_quiet_node(e) for part in outside for e in subexpressions(part))

    def _is_quiet_node(self, expr: CExpr) -> bool:
        if isinstance(expr, CCall):
            function = self.unit.functions.get(expr.name)
            if function is None:
                return expr.is_pure
            return self._is_quiet(function)
        if isinstance(expr, Unmodelled):
            return expr.what == "a compound literal"
        if isinstance(expr, Set | Step) or expr.ctype.is_volatile:
            return False
        return not (isinstance(expr, Bin) and expr.op == ",")

    def _is_quiet(self, function: CFunction) -> bool:
        """It changes nothing but variables of its own."""
        known = self._quiet.get(function.name)
        if known is None:
            self._quiet[function.name] = False  # one that calls itself
            known = self._quiet[function.name] = self._changes_nothing(function)
        return known

    def _changes_nothing(self, function: CFunction) -> bool:
        own = {*function.parameters}
        for stmt in statements(function.body):
            if isinstance(stmt, DeclStmt):
                if any(v.storage != "local" for v in stmt.variables):
                    return False
                own.update(stmt.variables)
            if isinstance(stmt, OtherStmt) and stmt.what == "asm":
                return False
        for expr in all_expressions(function.body):
            if isinstance(expr, Set | Step):
                target = expr.left if isinstance(expr, Set) else expr.operand
                while (isinstance(target, Member) and not target.arrow) or (
                    isinstance(target, Index) and target.base.ctype.kind == "array"
                ):
                    target = target.base
                if not isinstance(target, Ref) or target.var not in own or target.var.ctype.is_volatile:
                    return False
                if target.var.storage == "param" and target.var.ctype.kind == "array":
                    return False
            elif isinstance(expr, Bin) and expr.op == ",":
                continue
            elif not self._is_quiet_node(expr):
                return False
        return True


def _lasts(place: CExpr) -> bool:
    """No call can change which object an expression designates."""
    place = expr = strip(place)
    while not isinstance(expr, Ref):
        if isinstance(expr, Index):
            if not all(map(_is_own, subexpressions(expr.index))):
                return False
            below = expr.base
        elif isinstance(expr, Member):
            below = expr.base
        elif isinstance(expr, Un) and expr.op == "*":
            below = expr.operand
        else:
            return False
        expr = strip(below)
        if expr.ctype.kind == "pointer" and not _is_own(expr):
            return False
    return True


def _is_own(expr: CExpr) -> bool:
    """Of an expression without its operands: no call changes what it gives."""
    if isinstance(expr, Ref):
        return expr.var.storage in ("local", "param") and not expr.var.address_taken and not expr.ctype.is_volatile
    return isinstance(expr, Lit | Conv) or (isinstance(expr, Bin) and expr.op != ",")
