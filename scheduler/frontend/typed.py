"""Sums and products of C expressions with the types, and conversions, that C gives them."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.arith import bits
from scheduler.frontend.csyntax import INT, Bin, CExpr, Conv, CType
from scheduler.frontend.fold import fold

LONG = CType("int", "long")


def promoted(ctype: CType) -> CType:
    """The type of `i + 1`."""
    return INT if bits(ctype.name) < 32 else replace(ctype, is_const=False)


def counted_in(ctype: CType) -> CType:
    """The type to count in, of what is added to such a variable."""
    return LONG if ctype.kind == "pointer" else replace(ctype, is_const=False)


def times(amount: CExpr, done: CExpr, ctype: CType, at: int) -> CExpr:
    if fold(amount) == 1:
        return as_type(done, ctype)
    return Bin("*", as_type(amount, ctype), as_type(done, ctype), ctype, at)


def plus(base: CExpr, more: CExpr, ctype: CType, down: bool, at: int) -> CExpr:
    if ctype.kind == "pointer":
        return Bin("-" if down else "+", base, as_type(more, LONG), replace(ctype, is_const=False), at)
    own = counted_in(ctype)
    return Bin("-" if down else "+", as_type(base, own), as_type(more, own), own, at)


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
