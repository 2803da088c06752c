"""Minimum and maximum bounds, and affine conditions."""

from __future__ import annotations

from scheduler.frontend.analysis.poly import Poly
from scheduler.frontend.c_ast.arith import bits, is_integer, value_range
from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CCall,
    CExpr,
    Cond,
    Conv,
    Lit,
    Un,
    strip,
)
from scheduler.frontend.c_ast.folding import fold
from scheduler.frontend.scop import pure_calls
from scheduler.frontend.scop.context import Context
from scheduler.frontend.scop.integers import NotAffine, exact, limit, remainder, stays, wraps
from scheduler.frontend.scop.null_tests import is_test, tested
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Constraint

Dnf = tuple[tuple[Constraint, ...], ...]

_MAX_DNF = 8

# ----------------------------------------------------------------------------------------- bounds


def minmax(ctx: Context, expr: CExpr) -> tuple[str, tuple[Affine, ...]]:
    """("one" | "min" | "max", the expressions). Raises NotAffine."""
    if isinstance(expr, CCall):
        inlined = pure_calls.pure_expansion(ctx, expr)
        if inlined is not None:
            return minmax(ctx, inlined)
    if _has_choice(expr):
        if isinstance(expr, Cond):
            return _choice(ctx, expr)
        if isinstance(expr, Conv):
            return _converted_choice(ctx, expr)
        inner = expr
        if isinstance(inner, Bin) and inner.op in ("+", "-"):
            kind, left = minmax(ctx, inner.left)
            other, right = minmax(ctx, inner.right)
            if inner.op == "-":
                right = tuple(-a for a in right)
                other = {"min": "max", "max": "min"}.get(other, other)
            if kind != "one" and other != "one":
                raise NotAffine
            sums = tuple(a + b for a in left for b in right)
            if wraps(ctx, inner.ctype.name):
                for each in sums:
                    stays(ctx, each, inner.ctype.name)
            return (other if kind == "one" else kind), sums
        raise NotAffine
    return "one", (exact(ctx, expr),)


def _converted_choice(ctx: Context, expr: Conv) -> tuple[str, tuple[Affine, ...]]:
    source, target = expr.operand.ctype.name, expr.ctype.name
    if not is_integer(source) or not is_integer(target) or target == "_Bool":
        raise NotAffine
    kind, values = minmax(ctx, expr.operand)
    low, high = value_range(target)
    if low > value_range(source)[0] or (bits(target) < 64 and high < value_range(source)[1]):
        for value in values:
            limit(ctx, Poly.of(value), low, high)
    return kind, values


def _has_choice(expr: CExpr) -> bool:
    if isinstance(expr, Cond | CCall):
        return True
    if isinstance(expr, Conv):
        return _has_choice(expr.operand)
    return isinstance(expr, Bin) and expr.op in ("+", "-") and (_has_choice(expr.left) or _has_choice(expr.right))


def _choice(ctx: Context, expr: Cond) -> tuple[str, tuple[Affine, ...]]:
    """`a < b ? a : b` and its variants."""
    test = strip(expr.condition)
    if not isinstance(test, Bin) or test.op not in ("<", "<=", ">", ">="):
        raise NotAffine
    if fold(expr.orelse) == 0 and test.op == "<=":  # how much there is between two ends, if that is not known to be so
        if ctx.assumed.facts.require(exact(ctx, test.right) - exact(ctx, test.left), ctx.domain):
            return minmax(ctx, expr.then)
        raise NotAffine
    left, right = minmax(ctx, test.left), minmax(ctx, test.right)
    then, orelse = minmax(ctx, expr.then), minmax(ctx, expr.orelse)
    if (left, right) == (then, orelse):
        kind = "min" if test.op in ("<", "<=") else "max"
    elif (left, right) == (orelse, then):
        kind = "max" if test.op in ("<", "<=") else "min"
    else:
        raise NotAffine
    if any(k not in ("one", kind) for k, _ in (left, right)):
        raise NotAffine
    return kind, tuple(dict.fromkeys((*left[1], *right[1])))


# ------------------------------------------------------------------------------------- conditions


def condition(ctx: Context, expr: CExpr, holds: bool = True) -> Dnf:
    """An affine condition (or its negation) in disjunctive normal form. Raises NotAffine."""
    expr = strip(expr)
    if isinstance(expr, Bin) and expr.op in ("&&", "||"):
        left, decides = condition(ctx, expr.left, holds), (expr.op == "&&") == holds
        reached = left if decides else condition(ctx, expr.left, not holds)
        with ctx.within(ctx.domain.where(reached[0]) if len(reached) == 1 else ctx.domain.inexact()):
            right = condition(ctx, expr.right, holds)
        return _limited(tuple((*a, *b) for a in left for b in right) if decides else (*left, *right))
    expr = tested(ctx, expr)
    if is_test(ctx, expr):
        given = exact(ctx, expr)
        return ((Constraint(given - 1 if holds else -given),),)
    if isinstance(expr, CCall):
        inlined = pure_calls.pure_expansion(ctx, expr)
        if inlined is not None:
            return condition(ctx, inlined, holds)
    if isinstance(expr, Un) and expr.op == "!":
        return condition(ctx, expr.operand, not holds)
    if isinstance(expr, Bin) and expr.op in ("<", "<=", ">", ">=", "==", "!="):
        return _comparison(ctx, expr, holds)
    if not is_integer(expr.ctype.name):
        raise NotAffine
    if isinstance(expr, Bin) and expr.op in ("%", "&"):
        zero = Lit("0", 0, expr.ctype, expr.at)
        return _comparison(ctx, Bin("!=", expr, zero, expr.ctype, expr.at), holds)
    return _nonzero(exact(ctx, expr), holds)


def _limited(dnf: Dnf) -> Dnf:
    if len(dnf) > _MAX_DNF:
        raise NotAffine
    return dnf


def _nonzero(value: Affine, holds: bool) -> Dnf:
    if holds:
        return ((Constraint(value - 1),), (Constraint(-value - 1),))
    return ((Constraint(value, "=="),),)


_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _comparison(ctx: Context, expr: Bin, holds: bool) -> Dnf:
    op = expr.op if holds else _NEGATED[expr.op]
    if op in ("==", "!="):
        modular = _modular(ctx, expr, op)
        if modular is not None:
            return modular
        difference = exact(ctx, expr.left) - exact(ctx, expr.right)
        return _nonzero(difference, op == "!=")
    small, large = (expr.left, expr.right) if op in ("<", "<=") else (expr.right, expr.left)
    strict = 1 if op in ("<", ">") else 0
    (small_kind, smalls), (large_kind, larges) = minmax(ctx, small), minmax(ctx, large)
    conjunction = small_kind in ("one", "max") and large_kind in ("one", "min")
    disjunction = small_kind in ("one", "min") and large_kind in ("one", "max")
    constraints = tuple(Constraint(b - a - strict) for a in smalls for b in larges)
    if conjunction:
        return (constraints,)
    if disjunction:
        return tuple((c,) for c in constraints)
    raise NotAffine


def _modular(ctx: Context, expr: Bin, op: str) -> Dnf | None:
    """`x % k == r` and `x % k != r`, also for negative x."""
    left, residue = strip(expr.left), fold(expr.right)
    if not isinstance(left, Bin) or left.op not in ("%", "&") or residue is None:
        return None
    modulus = fold(left.right)
    if modulus is None or modulus < 1:
        return None
    if left.op == "&":
        if modulus & (modulus + 1):
            return None
        modulus += 1
    value = exact(ctx, left.left)
    if abs(residue) >= modulus or (left.op == "&" and residue < 0):
        return None
    shifted = value - residue
    shifted = shifted - shifted.const + shifted.const % modulus
    divisible = Constraint(shifted, "mod", modulus)
    sign = Constraint(value if residue > 0 else -value)
    certain = residue == 0 or left.op == "&" or (residue > 0 and ctx.assumed.facts.proves(value, ctx.domain))
    if op == "==":
        return ((divisible,),) if certain else ((divisible, sign),)
    different = (Constraint(remainder(shifted, modulus) - 1),)
    return (different,) if certain else (different, (Constraint(-sign.affine - 1),))
