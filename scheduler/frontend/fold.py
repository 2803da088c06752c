"""Folding of constant integer expressions, by C's rules."""

from __future__ import annotations

from scheduler.frontend.arith import is_integer, wrap
from scheduler.frontend.csyntax import Bin, CExpr, Cond, Conv, Lit, Ref, Un, Variable

Known = dict[Variable, int | None]  # values of variables that are set once, as far as they were asked for


def fold(expr: CExpr, known: Known | None = None) -> int | None:
    """The value of an integer constant expression; None for anything else (and for overflow traps).

    `known`: variables that are set once, to a constant, count as constants.
    """
    if not is_integer(expr.ctype.name):
        return None
    value = _fold(expr, known)
    return None if value is None else wrap(value, expr.ctype.name)


def known_value(variable: Variable, known: Known | None = None) -> int | None:
    """The value of an integer variable that is set once, to a constant."""
    known = {} if known is None else known
    if variable not in known:
        known[variable] = None  # what is set to itself has no value
        if variable.init is not None and set_once(variable):
            known[variable] = fold(variable.init, known)
    return known[variable]


def is_null(expr: CExpr) -> bool:
    """A null pointer constant: `NULL`, `0`, `(float *)0`."""
    while isinstance(expr, Conv) and expr.ctype.kind in ("pointer", "int"):
        expr = expr.operand
    return expr.ctype.kind == "int" and fold(expr) == 0


def set_once(variable: Variable) -> bool:
    """Initialized, and never assigned afterwards."""
    if variable.address_taken or variable.writes:
        return False
    if variable.storage == "global":
        return variable.internal or variable.ctype.is_const
    return variable.storage in ("static", "local")


def _fold(expr: CExpr, known: Known | None) -> int | None:
    if isinstance(expr, Lit):
        return expr.value if isinstance(expr.value, int) else None
    if isinstance(expr, Conv):
        if isinstance(expr.operand, Lit) and isinstance(expr.operand.value, float):
            return int(expr.operand.value) if abs(expr.operand.value) < 2**31 else None
        return fold(expr.operand, known)
    if isinstance(expr, Un):
        operand = fold(expr.operand, known)
        if operand is None:
            return None
        return {"-": -operand, "+": operand, "~": ~operand, "!": int(not operand)}.get(expr.op)
    if isinstance(expr, Cond):
        condition = fold(expr.condition, known)
        return None if condition is None else fold(expr.then if condition else expr.orelse, known)
    if isinstance(expr, Bin):
        left = fold(expr.left, known)
        right = fold(expr.right, known) if left is not None else None
        return None if left is None or right is None else _binary(expr.op, left, right)
    if isinstance(expr, Ref):
        variable = expr.var
        if variable.ctype.is_const and variable.init is not None and variable.storage in ("global", "static"):
            return fold(variable.init)
        return known_value(variable, known) if known is not None else None
    return None


def _binary(op: str, left: int, right: int) -> int | None:
    if op in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if op == "/" else left - quotient * right
    if op in ("<<", ">>"):
        if not 0 <= right < 64:
            return None
        return left << right if op == "<<" else left >> right
    table = {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "&": left & right,
        "|": left | right,
        "^": left ^ right,
        "<": int(left < right),
        ">": int(left > right),
        "<=": int(left <= right),
        ">=": int(left >= right),
        "==": int(left == right),
        "!=": int(left != right),
        "&&": int(bool(left) and bool(right)),
        "||": int(bool(left) or bool(right)),
    }
    return table.get(op)
