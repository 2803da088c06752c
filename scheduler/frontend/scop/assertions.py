"""Branches that end the program (assertions, mostly): that they are never taken is proved, or tested before the loops.

Where the test fails the original loops run, and end the program in the iteration that does.
"""

from __future__ import annotations

from scheduler.frontend.c_ast.csyntax import ASSERTIONS, Bin, CCall, CStmt, ExprStmt, IfStmt, strip
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import flatten, has_effect
from scheduler.frontend.scop.conditions import condition
from scheduler.frontend.scop.context import Context
from scheduler.frontend.scop.integers import NotAffine
from scheduler.ir.nest import Constraint

ASSERT_ADVICE = "compile with -DNDEBUG, or move the assertion in front of the loop"

_ENDS = ASSERTIONS | {"abort", "exit", "_exit", "_Exit", "quick_exit", "__builtin_trap", "__builtin_unreachable"}


def assured(ctx: Context, stmt: IfStmt) -> bool:
    """Whether a statement does nothing but end the program, and not even that under what is assumed.

    Raises Reject.
    """
    branches = (stmt.then, stmt.orelse)
    ending = [None if branch is None else _end(ctx, branch) for branch in branches]
    others = [b for b, ends in zip(branches, ending, strict=True) if not ends and b is not None]
    if not any(ending) or all(ending) or any(map(_has_effect, flatten(others))):
        return False
    assumed = len(ctx.assumed.facts.assumptions)
    try:
        wanted = condition(ctx, stmt.condition, not ending[0])
    except NotAffine:
        wanted = ()
    except Reject:
        call = ending[0] or ending[1]
        if call is None or call.name not in ASSERTIONS:
            raise
        raise Reject(call.at, f"{call.text}, which may end the program", ASSERT_ADVICE) from None
    for conjunction in wanted:
        if all(_required(ctx, constraint) for constraint in conjunction):
            return True
        del ctx.assumed.facts.assumptions[assumed:]
    del ctx.assumed.facts.assumptions[assumed:]
    return False


def _required(ctx: Context, constraint: Constraint) -> bool:
    sides = (constraint.affine, -constraint.affine) if constraint.kind == "==" else (constraint.affine,)
    return constraint.kind != "mod" and all(ctx.assumed.facts.require(side, ctx.domain) for side in sides)


def _has_effect(stmt: CStmt) -> bool:
    return not isinstance(stmt, ExprStmt) or has_effect(stmt.expr)


def _end(ctx: Context, branch: CStmt) -> CCall | None:
    """The call of a function that does not return that is its last statement."""
    last = flatten((branch,))[-1:]
    if not last or not isinstance(last[0], ExprStmt):
        return None
    expr = strip(last[0].expr)
    while isinstance(expr, Bin) and expr.op == ",":
        expr = strip(expr.left)
    ends = isinstance(expr, CCall) and expr.name in _ENDS and expr.name not in ctx.unit.functions
    return expr if ends and isinstance(expr, CCall) else None
