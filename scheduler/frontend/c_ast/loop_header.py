"""What the header of a `for` counts with, as it is written."""

from __future__ import annotations

from scheduler.frontend.c_ast.arith import bits, is_integer
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CExpr,
    Conv,
    DeclStmt,
    ExprStmt,
    ForStmt,
    Lit,
    Ref,
    Set,
    Step,
    Variable,
    strip,
)
from scheduler.frontend.c_ast.folding import fold
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import target_variable

FLIP = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


NO_STEP = "the loop does not advance by a constant"


STEP_ADVICE = "write it as for (i = start; i < stop; i += constant)"


def counts(loop: ForStmt) -> bool:
    """Whether a header looks like one that counts, whatever its bounds are."""
    try:
        variable, _ = start_of(loop)
        step = step_of(loop, variable)
    except Reject:
        return False
    if loop.condition is None:
        return False
    if step is None:
        return decrement_test(loop.condition, variable) is not None
    tests = [strip(test) for test in conjuncts(loop.condition)]
    return all(
        isinstance(t, Bin) and t.op in FLIP and any(around(side, variable) is not None for side in (t.left, t.right))
        for t in tests
    )


def start_of(loop: ForStmt) -> tuple[Variable, CExpr]:
    init = loop.init
    if isinstance(init, DeclStmt) and len(init.variables) == 1 and init.variables[0].init is not None:
        return init.variables[0], init.variables[0].init
    assignment = init.expr if isinstance(init, ExprStmt) else None
    if isinstance(assignment, Set) and assignment.op == "=" and isinstance(assignment.left, Ref):
        return assignment.left.var, assignment.right
    if init is None:
        raise Reject(loop.begin, "the loop header does not set its iterator", STEP_ADVICE)
    raise Reject(loop.begin, "the loop header sets more than one variable", "keep one iterator in the header")


def step_of(loop: ForStmt, variable: Variable) -> int | None:
    """What the header adds to the variable in each iteration; None where it does nothing. Raises Reject."""
    increment = loop.increment
    if increment is None:
        return None
    if target_variable(increment) is not variable:
        raise Reject(increment.at, "the loop increment does not change just its iterator", STEP_ADVICE)
    found = step_by(increment, variable)
    amount = None if found is None else fold(found[0])
    if found is None or not amount:
        raise Reject(increment.at, NO_STEP, STEP_ADVICE)
    half = 2 ** (bits(variable.ctype.name) - 1) if is_integer(variable.ctype.name) else 2**63
    return ((-amount if found[1] else amount) + half) % (2 * half) - half  # `i += (size_t)-1` is i -= 1


def step_by(expr: CExpr, variable: Variable) -> tuple[CExpr, bool] | None:
    """(what is added or taken, whether it is taken) of `v += c` and its like."""
    if isinstance(expr, Step):
        return Lit("1", 1, INT, expr.at), expr.op == "--"
    if isinstance(expr, Set) and expr.op in ("+=", "-="):
        return expr.right, expr.op == "-="
    if isinstance(expr, Set) and expr.op == "=":
        right = strip(expr.right)
        if isinstance(right, Bin) and right.op in ("+", "-"):
            left, other = strip(right.left), right.right
            if right.op == "+" and not (isinstance(left, Ref) and left.var is variable):
                left, other = strip(right.right), right.left
            if isinstance(left, Ref) and left.var is variable:
                return other, right.op == "-"
    return None


def conjuncts(expr: CExpr) -> tuple[CExpr, ...]:
    expr = strip(expr)
    if isinstance(expr, Bin) and expr.op == "&&":
        return (*conjuncts(expr.left), *conjuncts(expr.right))
    return (expr,)


def decrement_test(condition: CExpr, variable: Variable) -> Step | None:
    """The `i--` of `i-- > 0`, `i-- != 0` or plain `i--` as a loop condition."""
    step = counting_test(condition)
    return step if step is not None and target_variable(step) is variable else None


def counting_test(condition: CExpr) -> Step | None:
    """As `decrement_test`, of any variable."""
    expr = strip(condition)
    if isinstance(expr, Bin) and expr.op in (">", "!=") and fold(expr.right) == 0:
        expr = strip(expr.left)
    return expr if isinstance(expr, Step) and expr.op == "--" and not expr.prefix else None


def around(own: CExpr, variable: Variable) -> list[Conv | Bin] | None:
    """What is done to a variable for a comparison, innermost first: conversions and constants that are added, or taken.

    None for an expression that is something else.
    """
    found: list[Conv | Bin] = []
    while isinstance(own, Conv) or (isinstance(own, Bin) and own.op in ("+", "-") and fold(own.right) is not None):
        found.append(own)
        own = own.operand if isinstance(own, Conv) else own.left
    return found[::-1] if isinstance(own, Ref) and own.var is variable else None
