"""Minimum and maximum bounds, affine conditions, and tests of pointers against NULL."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.analysis.poly import Poly
from scheduler.frontend.c_ast.arith import bits, is_integer, value_range
from scheduler.frontend.c_ast.csyntax import INT, Bin, CCall, CExpr, Cond, Conv, Lit, Member, Ref, Un, Variable, strip
from scheduler.frontend.c_ast.folding import fold, is_null
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.scop import pure_calls
from scheduler.frontend.scop.context import ZERO, Context
from scheduler.frontend.scop.integers import NotAffine, exact, limit, remainder, stays, wraps
from scheduler.frontend.scop.members import path_of, stand_in
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Constraint, not_null

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
    expr = tested(ctx, strip(expr))
    if is_test(ctx, expr):
        given = exact(ctx, expr)
        return ((Constraint(given - 1 if holds else -given),),)
    if isinstance(expr, CCall):
        inlined = pure_calls.pure_expansion(ctx, expr)
        if inlined is not None:
            return condition(ctx, inlined, holds)
    if isinstance(expr, Un) and expr.op == "!":
        return condition(ctx, expr.operand, not holds)
    if isinstance(expr, Bin):
        if expr.op in ("&&", "||"):
            left, right = condition(ctx, expr.left, holds), condition(ctx, expr.right, holds)
            if (expr.op == "&&") == holds:
                return _limited(tuple((*a, *b) for a in left for b in right))
            return _limited((*left, *right))
        if expr.op in ("<", "<=", ">", ">=", "==", "!="):
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
        case Bin(op="&&" | "||", left=left, right=right):
            first, second = (_given(ctx, e) if _is_pointer(e) else e for e in (left, right))
            return expr if first is left and second is right else replace(expr, left=first, right=second)
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
