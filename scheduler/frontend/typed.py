"""Sums and products of C expressions with the types, and conversions, that C gives them."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.arith import bits, is_unsigned
from scheduler.frontend.csyntax import INT, Bin, CExpr, Conv, CType
from scheduler.frontend.fold import fold

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
