"""Constant folding of integer expressions, and sums and products with the types and conversions that C gives them."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast.arith import bits, is_integer, is_unsigned, wrap
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CExpr,
    Cond,
    Conv,
    CType,
    Lit,
    Ref,
    Un,
    Variable,
)

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


LONG = CType("int", "long")


def promoted(ctype: CType) -> CType:
    """The type of `i + 1`."""
    return INT if bits(ctype.name) < 32 else replace(ctype, is_const=False)


def counted_in(ctype: CType, amount: CExpr) -> CType:
    """The type to compute in what a variable of a type is after `amount` was added to it again and again.

    Where C adds in an unsigned type it is one, as the sum of all may leave the range of a signed one.
    """
    if ctype.kind == "pointer":
        return LONG
    added = max(bits(ctype.name), 32)
    wraps = is_unsigned(amount.ctype.name) and bits(amount.ctype.name) >= added
    if not wraps and not (is_unsigned(ctype.name) and bits(ctype.name) == 16):  # whose products are of `int`
        return replace(ctype, is_const=False)
    return CType("int", "unsigned long" if added == 64 else "unsigned int")


def times(amount: CExpr, done: CExpr, ctype: CType, at: int) -> CExpr:
    if fold(amount) == 1:
        return as_type(done, ctype)
    return Bin("*", as_type(amount, ctype), as_type(done, ctype), ctype, at)


def plus(base: CExpr, amount: CExpr, more: CExpr, ctype: CType, down: bool, at: int) -> CExpr:
    """A variable of a type after `more` was added, or taken, in steps of `amount`."""
    if ctype.kind == "pointer":
        return Bin("-" if down else "+", base, as_type(more, LONG), replace(ctype, is_const=False), at)
    kind = counted_in(ctype, amount)
    total = Bin("-" if down else "+", as_type(base, kind), as_type(more, kind), kind, at)
    return as_type(total, replace(ctype, is_const=False))


def difference(high: CExpr, low: CExpr, at: int) -> CExpr:
    """`high - low`, as C computes it, the same or wider."""
    if fold(low) == 0:
        return high
    wide = promoted(high.ctype)
    if high.ctype.name != low.ctype.name:
        wide = LONG if bits(high.ctype.name) == 64 or bits(low.ctype.name) == 64 else _wider(high.ctype, low.ctype)
    return Bin("-", as_type(high, wide), as_type(low, wide), wide, at)


def _wider(one: CType, other: CType) -> CType:
    return INT if all(c.name == "int" or bits(c.name) < 32 for c in (one, other)) else LONG


def as_type(expr: CExpr, ctype: CType) -> CExpr:
    bare = expr
    return bare if bare.ctype.name == ctype.name else Conv(bare, False, ctype, expr.at)


def explicit(expr: CExpr, ctype: CType) -> CExpr:
    """A conversion that the surroundings must not drop."""
    if isinstance(expr, Conv) and not expr.explicit:
        return replace(expr, explicit=True)
    if expr.ctype.name != ctype.name and expr.ctype.is_scalar:
        return Conv(expr, True, ctype, expr.at)
    return expr
