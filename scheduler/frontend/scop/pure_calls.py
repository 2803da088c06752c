"""Calls of small pure helpers, replaced by what they compute.

A helper becomes statements that run before (usually none) and one expression. Its parameters and
locals are fresh variables of the call; arguments that are cheap to repeat are put in directly.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast.clone import MAX_REPEATED, Cloner, repeatable
from scheduler.frontend.c_ast.csyntax import (
    CCall,
    CExpr,
    CFunction,
    Compound,
    Cond,
    CStmt,
    DeclStmt,
    ExprStmt,
    IfStmt,
    Leave,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Unmodelled,
    Variable,
    all_expressions,
)
from scheduler.frontend.c_ast.folding import explicit
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import declared_inside, flatten, returns, returns_always
from scheduler.frontend.scop.context import Context, Expansion

_MAX_DEPTH = 6
_MAX_EXPANSIONS = 2000
_MAX_ANYWHERE = 60  # where nothing can be computed ahead
_ADVICE = "write the body of the function in the loop, or make it a pure function of its arguments"


def expand(ctx: Context, call: CCall) -> Expansion | None:
    """What the call computes; None for a function without a body here. Raises Reject."""
    key = (id(call), ctx.reading.may_hoist)
    known = ctx.reading.expansions.get(key)
    if known is not None:
        return known[1]
    function = ctx.unit.functions.get(call.name)
    if function is None:
        return None
    function = ctx.exits.function(function)
    if function.oddity:
        raise Reject(call.at, f"{call.text}, which {function.oddity}", _ADVICE)
    if call.depth >= _MAX_DEPTH or len(ctx.reading.expansions) >= _MAX_EXPANSIONS:
        raise Reject(call.at, f"{call.text}, which calls itself or is too complex to inline", _ADVICE)
    try:
        expansion = _Inliner(ctx, call, function).run()
    except _Impure as problem:
        raise Reject(call.at, f"{call.text}, which {problem}", _ADVICE) from None
    ctx.reading.expansions[key] = (call, expansion)
    return expansion


def pure_expansion(ctx: Context, call: CCall) -> CExpr | None:
    """The expression a call stands for where no statements need to run before it."""
    try:
        found = expand(ctx, call)
    except Reject:
        return None
    return None if found is None or found.before else found.result


class _Impure(Exception):
    """Why a function cannot be inlined, as `which ...`."""


class _Inliner:
    def __init__(self, ctx: Context, call: CCall, function: CFunction) -> None:
        self.ctx = ctx
        self.call = call
        self.function = function
        self.at = call.at
        self.values: dict[Variable, CExpr] = {}
        self.before: list[CStmt] = []

    def run(self) -> Expansion:
        function, call = self.function, self.call
        if not function.result.is_scalar:
            raise _Impure("returns no number")
        if len(function.parameters) != len(call.arguments):
            raise _Impure("is called with other parameters than it has")
        body = flatten(function.body.body)
        assigned = self._check(body)
        for parameter, argument in zip(function.parameters, call.arguments, strict=True):
            self._bind(parameter, argument, parameter in assigned)
        before, result = self._returning(body)
        return Expansion((*self.before, *before), result)

    def _check(self, body: tuple[CStmt, ...]) -> set[Variable]:
        """No side effects; the locals and parameters that are assigned."""
        own = set(self.function.parameters)
        assigned: set[Variable] = set()
        for stmt in body:
            self._collect(stmt, own)
        hidden = {v.name for v in self.ctx.function.parameters} | {
            v.name for v in declared_inside((self.ctx.function.body,)) - self.ctx.scope.inside
        }
        for expr in all_expressions(self.function.body):
            if isinstance(expr, Set | Step):
                target = expr.left if isinstance(expr, Set) else expr.operand
                if not isinstance(target, Ref) or target.var not in own:
                    raise _Impure("has side effects")
                assigned.add(target.var)
            elif isinstance(expr, Ref) and expr.var not in own:
                if expr.var.name in hidden:
                    raise _Impure(f"uses the global '{expr.var.name}', hidden here by a variable of that name")
            elif isinstance(expr, Un) and expr.op == "&":
                raise _Impure("takes an address")
            elif isinstance(expr, Unmodelled):
                raise _Impure(f"uses {expr.what}")
        return assigned

    def _collect(self, stmt: CStmt, own: set[Variable]) -> None:
        match stmt:
            case DeclStmt(variables=variables):
                for variable in variables:
                    if variable.storage == "static":
                        raise _Impure(f"uses its static variable '{variable.name}'")
                    if not variable.ctype.is_scalar or variable.ctype.is_volatile:
                        raise _Impure(f"declares '{variable.name}', which is not a plain scalar")
                own.update(variables)
            case IfStmt():
                self._collect(stmt.then, own)
                if stmt.orelse is not None:
                    self._collect(stmt.orelse, own)
            case Compound(body=body):
                for inner in body:
                    self._collect(inner, own)
            case ExprStmt() | ReturnStmt() | OtherStmt(what="null") | Leave():
                pass
            case _:
                raise _Impure("has loops or jumps")

    # ---------------------------------------------------------------------------------- arguments

    def _bind(self, parameter: Variable, argument: CExpr, assigned: bool) -> None:
        if not parameter.ctype.is_scalar:
            if parameter.ctype.kind in ("pointer", "array") and not assigned:
                self.values[parameter] = argument
                return
            raise _Impure("takes a parameter that is not a number")
        most = MAX_REPEATED if self.ctx.reading.may_hoist else _MAX_ANYWHERE
        uses = sum(isinstance(e, Ref) and e.var is parameter for e in all_expressions(self.function.body))
        if not assigned and (uses == 1 or repeatable(argument, most)):  # nothing with effects is dropped or repeated
            self.values[parameter] = explicit(argument, parameter.ctype)
            return
        fresh = self._fresh(parameter)
        fresh.init = argument
        self.before.append(DeclStmt((fresh,), self.at, self.at))

    def _fresh(self, variable: Variable) -> Variable:
        fresh = Variable(variable.name, replace(variable.ctype, is_const=False), "local", self.at)
        self.values[variable] = Ref(fresh, fresh.ctype, self.at)
        self.ctx.scope.inside.add(fresh)
        return fresh

    # --------------------------------------------------------------------------------------- body

    def _returning(self, body: tuple[CStmt, ...]) -> tuple[tuple[CStmt, ...], CExpr]:
        """Statements, and the value a statement list returns."""
        before: list[CStmt] = []
        for position, stmt in enumerate(body):
            if isinstance(stmt, ReturnStmt):
                if stmt.value is None:
                    raise _Impure("returns no number")
                return tuple(before), explicit(self.expr(stmt.value), self.function.result)
            if isinstance(stmt, IfStmt) and returns(stmt):
                return self._choice(before, stmt, body[position + 1 :])
            before.extend(self.stmt(stmt))
        raise _Impure("does not return a value on every path")

    def _choice(self, before: list[CStmt], stmt: IfStmt, rest: tuple[CStmt, ...]) -> tuple[tuple[CStmt, ...], CExpr]:
        """`if (c) return a; rest`."""
        condition = self.expr(stmt.condition)
        then_body = flatten((stmt.then,))
        else_body = flatten((stmt.orelse,)) if stmt.orelse is not None else ()
        then_before, then = self._returning(then_body if returns_always(then_body) else (*then_body, *rest))
        else_before, orelse = self._returning(else_body if returns_always(else_body) else (*else_body, *rest))
        ctype = self.function.result
        if not then_before and not else_before:
            return tuple(before), Cond(condition, then, orelse, ctype, self.at)
        result = Variable(f"{self.function.name}_result", replace(ctype, is_const=False), "local", self.at)
        self.ctx.scope.inside.add(result)
        place = Ref(result, result.ctype, self.at)
        before.append(DeclStmt((result,), self.at, self.at))
        branches = []
        for statements, value in ((then_before, then), (else_before, orelse)):
            assignment = ExprStmt(Set("=", place, value, ctype, self.at), self.at, self.at)
            branches.append(Compound((*statements, assignment), self.at, self.at))
        before.append(IfStmt(condition, branches[0], branches[1], self.at, self.at))
        return tuple(before), place

    def stmt(self, stmt: CStmt) -> list[CStmt]:
        at = self.at
        match stmt:
            case DeclStmt(variables=variables):
                result: list[CStmt] = []
                for variable in variables:
                    init = None if variable.init is None else self.expr(variable.init)
                    fresh = self._fresh(variable)
                    fresh.init = init
                    result.append(DeclStmt((fresh,), at, at))
                return result
            case ExprStmt(expr=expr):
                return [ExprStmt(self.expr(expr), at, at)]
            case IfStmt(condition=condition, then=Leave(reason=reason) as leave):
                called = ", which ".join(f"calls '{name}'" for name in (*self.call.within, self.call.function))
                there = replace(leave, reason=f"{called}, which {reason}", begin=at, end=at)
                return [IfStmt(self.expr(condition), there, None, at, at)]
            case IfStmt():
                then = Compound(tuple(self.stmt(stmt.then)), at, at)
                orelse = None if stmt.orelse is None else Compound(tuple(self.stmt(stmt.orelse)), at, at)
                return [IfStmt(self.expr(stmt.condition), then, orelse, at, at)]
            case Compound(body=body):
                return [s for inner in body for s in self.stmt(inner)]
            case OtherStmt(what="null"):
                return []
        raise _Impure("has loops or jumps")

    def expr(self, expr: CExpr) -> CExpr:
        within = (*self.call.within, self.call.function)
        return Cloner(self.values, self.at, self.call.depth + 1, within=within).expr(expr)
