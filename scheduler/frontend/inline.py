"""Calls of small pure helpers, replaced by what they compute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scheduler.frontend import values
from scheduler.frontend.context import Context, Refuse
from scheduler.frontend.csyntax import (
    CCall,
    CExpr,
    CFunction,
    Lit,
    Ref,
    ReturnStmt,
    Variable,
    subexpressions,
)
from scheduler.ir.nest import Cast, Expr, Literal, Name, Read

_MAX_DEPTH = 8


@contextmanager
def conditional(ctx: Context) -> Iterator[None]:
    """While operands are read that C evaluates only sometimes: nothing may be computed ahead of them."""
    saved, ctx.may_hoist = ctx.may_hoist, False
    try:
        yield
    finally:
        ctx.may_hoist = saved


def call(ctx: Context, expr: CCall) -> Expr:
    """Raises Refuse."""
    function = ctx.unit.functions.get(expr.name)
    if function is None:
        raise Refuse(
            expr.at,
            f"calls '{expr.name}', whose body is not known or which has side effects",
            "move the call out of the loop, or make it a static inline function of one expression",
        )
    if ctx.inline_depth >= _MAX_DEPTH or len(function.parameters) != len(expr.arguments):
        raise Refuse(expr.at, f"the call of '{expr.name}' cannot be inlined", "write its body in the loop")
    body = function.body.body
    if len(body) == 1 and isinstance(body[0], ReturnStmt) and body[0].value is not None:
        return _expression(ctx, expr, function, body[0].value)
    raise Refuse(expr.at, f"calls '{expr.name}', which is not a single expression", "make it one return expression")


def _expression(ctx: Context, expr: CCall, function: CFunction, result: CExpr) -> Expr:
    saved = dict(ctx.bindings)
    bound: dict[Variable, Expr] = {}
    for parameter, argument in zip(function.parameters, expr.arguments, strict=True):
        if not parameter.ctype.is_scalar:
            raise Refuse(expr.at, f"passes an array to '{expr.name}'", "write the body of the function in the loop")
        uses = sum(isinstance(e, Ref) and e.var is parameter for e in subexpressions(result))
        converted = values.value(ctx, argument)
        if not isinstance(converted, Literal | Name | Read | Cast) and uses > 1:
            converted = _bind(ctx, expr, parameter, converted)
        bound[parameter] = converted
    ctx.bindings.update(bound)
    ctx.inline_depth += 1
    try:
        return values.value(ctx, result)
    except Refuse as refusal:
        raise Refuse(expr.at, f"calls '{expr.name}', which {refusal.reason}", refusal.advice) from None
    finally:
        ctx.inline_depth -= 1
        ctx.bindings = saved


def _bind(ctx: Context, expr: CCall, parameter: Variable, converted: Expr) -> Expr:
    raise Refuse(expr.at, f"passes an expression to '{expr.name}' that it uses more than once", "use a temporary")


__all__ = ["Lit", "call", "conditional"]
