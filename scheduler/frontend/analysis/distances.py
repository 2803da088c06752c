"""How many elements lie between two pointers, where the text says it: from `a` to `a + n`."""

from __future__ import annotations

from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CExpr,
    Conv,
    CType,
    Index,
    Lit,
    Member,
    Ref,
    Un,
    Variable,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import fold, set_once

_LONG = CType("int", "long")
_DEPTH = 8


def distance(first: CExpr, last: CExpr) -> CExpr | None:
    """`last - first`, as a sum of what the text adds to the same pointer; None where that cannot be seen."""
    start, end = _taken_apart(first, _DEPTH), _taken_apart(last, _DEPTH)
    if start is None or end is None or not same(start[0], end[0]) or _element(first) != _element(last):
        return None
    if start[1] is None:
        return end[1] or Lit("0", 0, _LONG, last.at)
    if end[1] is None:
        return Un("-", start[1], _LONG, last.at)
    return Bin("-", end[1], start[1], _LONG, last.at)


def _element(expr: CExpr) -> str:
    element = expr.ctype.element
    return "" if element is None else element.name.replace("const ", "")


def _taken_apart(expr: CExpr, depth: int) -> tuple[CExpr, CExpr | None] | None:
    """(what a pointer is made of, how many elements are added to it)"""
    if depth == 0:
        return None
    if isinstance(expr, Conv):
        inner = _taken_apart(expr.operand, depth) if expr.operand.ctype.kind in ("pointer", "array") else None
        return inner if inner is not None and _element(expr) == _element(expr.operand) else None
    if isinstance(expr, Ref):
        variable = expr.var
        init = variable.init
        follow = variable.ctype.kind == "pointer" and variable.storage == "local" and set_once(variable)
        if follow and init is not None and _lasting(init) and _element(init) == _element(expr):
            return _taken_apart(init, depth - 1)
        return (expr, None) if variable.ctype.kind in ("pointer", "array") else None
    if isinstance(expr, Bin) and expr.op in ("+", "-") and expr.ctype.kind == "pointer":
        base, more = expr.left, expr.right
        if base.ctype.kind not in ("pointer", "array"):
            base, more = more, base
        return _moved(_taken_apart(base, depth - 1), more, expr.op)
    if isinstance(expr, Un) and expr.op == "&" and isinstance(expr.operand, Index):
        index = expr.operand
        return _moved(_taken_apart(index.base, depth - 1), index.index, "+")
    if isinstance(expr, Index) and expr.ctype.kind in ("array", "pointer"):
        return expr, None
    return None


def _moved(place: tuple[CExpr, CExpr | None] | None, more: CExpr, op: str) -> tuple[CExpr, CExpr | None] | None:
    if place is None:
        return None
    base, offset = place
    wide = more if more.ctype.name == "long" else Conv(more, False, _LONG, more.at)
    if fold(more) == 0:
        return place
    if offset is None:
        return base, wide if op == "+" else Un("-", wide, _LONG, more.at)
    return base, Bin(op, offset, wide, _LONG, more.at)


def _lasting(expr: CExpr) -> bool:
    """It has the same value wherever it can be written down."""
    for part in subexpressions(expr):
        if isinstance(part, Ref):
            if part.var.ctype.kind != "array" and not _never_set(part.var):
                return False
        elif not isinstance(part, Lit | Conv | Bin) and not (isinstance(part, Un) and part.op in ("-", "+")):
            return False
    return True


def _never_set(variable: Variable) -> bool:
    parameter = variable.storage == "param" and not variable.writes and not variable.address_taken
    return parameter or set_once(variable)


def same(one: CExpr, other: CExpr) -> bool:
    """Both are the same text, of variables nobody changes in between (the caller sees to that)."""
    match one, other:
        case (Ref(), Ref()):
            return one.var is other.var
        case (Lit(), Lit()):
            return one.value == other.value and one.ctype.name == other.ctype.name
        case (Index(), Index()):
            return same(one.base, other.base) and same(one.index, other.index)
        case (Bin(), Bin()):
            return one.op == other.op and same(one.left, other.left) and same(one.right, other.right)
        case (Conv(), Conv()):
            return one.ctype.name == other.ctype.name and same(one.operand, other.operand)
        case (Un(), Un()):
            return one.op == other.op and same(one.operand, other.operand)
        case (Member(), Member()):
            return one.name == other.name and one.arrow == other.arrow and same(one.base, other.base)
    return False
