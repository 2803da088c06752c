"""Tests of pointers against NULL: of one that a nest does not change, an integer that it does not change either."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast.csyntax import INT, Bin, CCall, CExpr, Cond, Conv, Lit, Member, Ref, Un, Variable, strip
from scheduler.frontend.c_ast.folding import is_null
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.scop.context import ZERO, Context
from scheduler.frontend.scop.members import path_of, stand_in
from scheduler.ir.nest import not_null


def tested(ctx: Context, expr: CExpr) -> CExpr:
    """The expression with an integer, 0 or 1, in place of each pointer whose truth it looks at. Raises Reject."""
    match expr:
        case _ if _is_pointer(expr) and not isinstance(expr, CCall):
            return _given(ctx, expr)
        case Un(op="!", operand=operand) if _is_pointer(operand):
            return _not(_given(ctx, operand))
        case Bin(op="==" | "!=" as op, left=left, right=right) if _is_pointer(left) or _is_pointer(right):
            if is_null(left) or is_null(right):
                given = _given(ctx, left if is_null(right) else right)
                return _not(given) if op == "==" else given
        case Bin(op="&&" | "||", left=left, right=right) if _is_pointer(left) or _is_pointer(right):
            first = _given(ctx, left) if _is_pointer(left) else left
            with ctx.within(ctx.domain.inexact()):  # the right one is looked at only where the left one says so
                second = _given(ctx, right) if _is_pointer(right) else right
            return replace(expr, left=first, right=second)
        case Cond(condition=condition) if (new := tested(ctx, condition)) is not condition:
            return replace(expr, condition=new)
        case Conv(operand=operand) if expr.ctype.name == "_Bool" and _is_pointer(operand):
            return replace(expr, operand=_given(ctx, operand))
    return expr


def _not(given: CExpr) -> CExpr:
    if isinstance(given, Lit):
        return Lit("0", 0, INT, given.at) if given.value else Lit("1", 1, INT, given.at)
    return Un("!", given, INT, given.at)


def is_test(ctx: Context, expr: CExpr) -> bool:
    """Whether it is such an integer."""
    return isinstance(expr, Ref) and any(expr.var is variable for variable in ctx.assumed.tests.values())


def _is_pointer(expr: CExpr) -> bool:
    return expr.ctype.kind in ("pointer", "array") or (isinstance(expr, Un) and expr.op == "&")


def _given(ctx: Context, expr: CExpr) -> CExpr:
    """Whether a pointer is not NULL. Raises Reject."""
    if is_null(expr):
        return Lit("0", 0, INT, expr.at)
    pointer = strip(expr)
    while isinstance(pointer, Conv) and pointer.ctype.kind == "pointer":
        pointer = strip(pointer.operand)
    root = path_of(ctx, pointer)
    if isinstance(pointer, Ref) and (found := ctx.accesses.substitutions.get(pointer.var)) and (aim := found.pointer):
        root = aim.root if aim.inside is None and len(aim.indices) == 1 and aim.indices[0] is ZERO else None
    if _is_object(pointer) or (root is not None and not root.path and _is_array(root.variable)):
        return Lit("1", 1, INT, expr.at)
    variable = None if root is None else ctx.assumed.tests.get(root)
    if variable is None and root is not None:
        variable = stand_in(ctx, root, INT, f"{root.text}_given", not_null(root.text))
    if variable is None or root is None:
        raise Reject(expr.at, "looks whether a pointer that may change is NULL", "look at it in front of the loop")
    ctx.assumed.tests[root] = variable
    ctx.parameter(variable, used=False)
    ctx.assumed.facts.ranges[variable.name] = (0, 1)
    ctx.parameter(variable)
    return Ref(variable, INT, expr.at)


def _is_object(expr: CExpr) -> bool:
    """An array that is declared, or the address of a variable."""
    if isinstance(expr, Un) and expr.op == "&":
        whole = expr.operand
        while isinstance(whole, Member) and not whole.arrow:
            whole = whole.base
        return isinstance(whole, Ref) and _has_address(whole.var)
    if isinstance(expr, Lit):
        return expr.value is None  # a string
    return isinstance(expr, Ref) and _is_array(expr.var)


def _is_array(variable: Variable) -> bool:
    return variable.ctype.kind == "array" and variable.storage != "param" and _has_address(variable)


def _has_address(variable: Variable) -> bool:
    """Which is never NULL; that of a weak symbol may be."""
    return variable.storage != "global" or variable.internal
