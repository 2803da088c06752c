"""Copies of syntax trees with variables replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scheduler.frontend.csyntax import (
    Bin,
    CCall,
    CExpr,
    Cond,
    Conv,
    Index,
    Items,
    Lit,
    Member,
    Ref,
    Set,
    Step,
    Strange,
    Un,
    Variable,
    subexpressions,
)

MAX_REPEATED = 12


def repeatable(expr: CExpr, most: int = MAX_REPEATED) -> bool:
    """Cheap enough to be computed at every use: a scalar, a constant, an element, a few sums and products."""
    for count, part in enumerate(subexpressions(expr)):
        if count >= most or not isinstance(part, Lit | Ref | Index | Conv | Bin | Un | Member | Cond):
            return False
        if isinstance(part, Bin) and most == MAX_REPEATED and part.op not in ("+", "-", "*"):
            return False
        if isinstance(part, Un) and part.op == "&":
            return False
    return True


def clone(expr: CExpr, values: Mapping[Variable, CExpr], at: int, depth: int) -> CExpr:
    """A copy at another place with variables replaced."""
    match expr:
        case Ref(var=var):
            return values.get(var) or replace(expr, at=at)
        case Index() | Bin() | Set():
            left, right = _pair(expr)
            new_left, new_right = clone(left, values, at, depth), clone(right, values, at, depth)
            if isinstance(expr, Index):
                return Index(new_left, new_right, expr.ctype, at)
            return replace(expr, left=new_left, right=new_right, at=at)
        case Member(base=base):
            return replace(expr, base=clone(base, values, at, depth), at=at)
        case Un(operand=operand) | Step(operand=operand) | Conv(operand=operand):
            return replace(expr, operand=clone(operand, values, at, depth), at=at)
        case CCall(arguments=arguments):
            return replace(expr, arguments=tuple(clone(a, values, at, depth) for a in arguments), at=at, depth=depth)
        case Items(items=items):
            return replace(expr, items=tuple(clone(a, values, at, depth) for a in items), at=at)
        case Strange(parts=parts):
            return replace(expr, parts=tuple(clone(a, values, at, depth) for a in parts), at=at)
        case Cond():
            condition, then, orelse = (clone(e, values, at, depth) for e in (expr.condition, expr.then, expr.orelse))
            return Cond(condition, then, orelse, expr.ctype, at)
        case Lit():
            return replace(expr, at=at)


def _pair(expr: Index | Bin | Set) -> tuple[CExpr, CExpr]:
    return (expr.base, expr.index) if isinstance(expr, Index) else (expr.left, expr.right)
