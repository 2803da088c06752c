"""Integer C expressions as polynomials and affine expressions, with C's wrap-around accounted for.

`poly` gives a polynomial that is congruent to the C value modulo 2^width, and equal to it where arithmetic does not
wrap around (`wraps`). `exact` gives the value itself, and where arithmetic that wraps or a narrowing conversion could
have changed it proves or assumes that it did not.

Long, because every operator of C has its own conditions.
"""

from __future__ import annotations

from scheduler.frontend.analysis.poly import Poly
from scheduler.frontend.analysis.prove import Domain, bounds_of
from scheduler.frontend.c_ast.arith import bits, is_integer, is_unsigned, value_range, wrap
from scheduler.frontend.c_ast.csyntax import Bin, CCall, CExpr, Conv, Lit, Member, Ref, Un, Variable, subexpressions
from scheduler.frontend.c_ast.folding import fold, known_value, set_once
from scheduler.frontend.scop import members, pure_calls
from scheduler.frontend.scop.context import Context
from scheduler.ir.affine import Affine, FloorDiv

_MAX_DIVISIONS = 4  # nested; isl needs a multiple of the time for each


class NotAffine(Exception):
    """The expression depends on data, or is not (piecewise) affine."""


def wraps(ctx: Context, ctype: str) -> bool:
    """Whether arithmetic in a type may wrap around; where that of a signed one is taken not to, it is noted."""
    if is_unsigned(ctype) or ctx.unit.dialect.wraps:
        return True
    ctx.assumed.trusting = True
    return False


def _may_wrap(ctx: Context, expr: CExpr) -> bool:
    """Whether the value may be another than that of the polynomial."""
    return not _plain(ctx, expr) and fold(expr) is None and wraps(ctx, expr.ctype.name)


def poly(ctx: Context, expr: CExpr) -> Poly:
    """Raises NotAffine."""
    ctx.work.spend(1, expr.at)
    if not is_integer(expr.ctype.name):
        raise NotAffine
    if not isinstance(expr, Ref):
        constant = fold(expr)
        if constant is not None:
            if is_unsigned(expr.ctype.name) and constant > value_range(expr.ctype.name)[1] // 2:
                constant -= value_range(expr.ctype.name)[1] + 1  # `i + (size_t)-1` is i - 1
            return Poly.of(Affine.constant(constant))
    match expr:
        case Ref():
            return _reference(ctx, expr)
        case Member():
            name = members.parameter(ctx, expr)
            if name is not None:
                return _parameter(ctx, name)
        case Conv():
            return _conversion(ctx, expr)
        case Un(op="-", operand=operand):
            return poly(ctx, operand).scale(-1)
        case Un(op="+", operand=operand):
            return poly(ctx, operand)
        case Un(op="~", operand=operand):
            return poly(ctx, operand).scale(-1) - Poly.of(Affine.constant(1))
        case Bin(op="+", left=left, right=right):
            return poly(ctx, left) + poly(ctx, right)
        case Bin(op="-", left=left, right=right):
            return poly(ctx, left) - poly(ctx, right)
        case Bin(op="*", left=left, right=right):
            factors = poly(ctx, left), poly(ctx, right)
            product = factors[0].multiply(factors[1], ctx.is_parameter_name)
            if product is None or product.affine is None:
                _want(ctx, *factors)
            if product is None:
                raise NotAffine
            return product
        case Bin(op="<<", left=left, right=right):
            shift = _number(ctx, right)
            if shift is not None and 0 <= shift < 31:
                return poly(ctx, left).scale(1 << shift)
        case Bin(op="/" | "%" | ">>" | "&"):
            return Poly.of(_division(ctx, expr))
        case CCall():
            inlined = pure_calls.pure_expansion(ctx, expr)
            if inlined is not None:
                return poly(ctx, inlined)
    raise NotAffine


def _reference(ctx: Context, expr: Ref) -> Poly:
    variable = expr.var
    active = ctx.active(variable)
    if active is not None:
        return Poly.of(Affine.of(active.name))
    substitution = ctx.accesses.substitutions.get(variable)
    if substitution is not None:
        if substitution.poly is None:
            raise NotAffine
        return substitution.poly
    constant = fold(expr)
    if constant is not None:
        return Poly.of(Affine.constant(constant))
    if (
        variable in ctx.region.written
        or variable in ctx.scope.inside
        or variable.ctype.is_volatile
        or variable.ctype.kind != "int"
    ):
        raise NotAffine
    derived = _derived(ctx, variable)
    return derived if derived is not None else _parameter(ctx, ctx.parameter(variable))


def _parameter(ctx: Context, name: str) -> Poly:
    number = ctx.assumed.numbers.get(name)
    return Poly.of(Affine.of(name) if number is None else Affine.constant(number))


def _want(ctx: Context, *factors: Poly) -> None:
    """Notes the parameters among these, as numbers of which the expression would be affine."""
    for factor in factors:
        if len(factor.terms) == 1 and len(names := factor.names()) == 1:
            ctx.assumed.wanted |= {name for name in names if ctx.is_parameter_name(name)}


def _number(ctx: Context, expr: CExpr) -> int | None:
    """The value of a constant, or of what is taken to be one."""
    number = fold(expr)
    if number is None:
        try:
            value = poly(ctx, expr)
        except NotAffine:
            return None
        number = value.constant
        if number is None:
            _want(ctx, value)
    return number


def _derived(ctx: Context, variable: Variable) -> Poly | None:
    """The `n / 2` of `int half = n / 2;` in front of the nest, where neither changes."""
    if variable in ctx.assumed.derived:
        return ctx.assumed.derived[variable]
    ctx.assumed.derived[variable] = None
    init = variable.init
    if (
        init is None
        or variable.owner
        or not set_once(variable)
        or variable.storage != "local"
        or known_value(variable) is not None
    ):
        return None
    names = [e for e in subexpressions(init) if isinstance(e, Ref)]
    if not names or any(not unchanging(ctx, e.var) for e in names):
        return None
    if any(not isinstance(e, Lit | Ref | Conv | Bin | Un) for e in subexpressions(init)):
        return None
    assumed = len(ctx.assumed.facts.assumptions)
    try:
        with ctx.within(Domain()):
            value = Poly.of(exact(ctx, init))
    except NotAffine:
        del ctx.assumed.facts.assumptions[assumed:]
        return None
    ctx.assumed.derived[variable] = value
    return value


def unchanging(ctx: Context, variable: Variable) -> bool:
    """A parameter never assigned, or a variable set once; known by its name everywhere in the function."""
    never = variable.storage == "param" and not variable.writes and not variable.address_taken
    return (never or set_once(variable)) and ctx.visible(variable)


def _conversion(ctx: Context, expr: Conv) -> Poly:
    source, target = expr.operand.ctype.name, expr.ctype.name
    if not is_integer(source) or target == "_Bool":
        raise NotAffine
    inner = poly(ctx, expr.operand)
    low, high = value_range(target)
    if is_unsigned(target):
        if bits(target) > bits(source) and _may_wrap(ctx, expr.operand):
            _in_range(ctx, inner, expr.operand)
        return inner
    source_low, source_high = value_range(source)
    if low <= source_low and source_high <= high:
        if (is_unsigned(source) or bits(target) > bits(source)) and _may_wrap(ctx, expr.operand):
            _in_range(ctx, inner, expr.operand)
        return inner
    if bits(target) == 64 and (inner.affine is None or _is_small(inner.affine)):
        return inner  # size_t to long: sizes stay below 2^63
    if inner.affine is None:
        _limit_product(ctx, expr.operand, high)
    else:
        limit(ctx, inner, low, high)
    return inner


def _plain(ctx: Context, expr: CExpr) -> bool:
    """A variable or literal, possibly widened: in the range of its type by itself."""
    while (
        isinstance(expr, Conv)
        and value_range(expr.ctype.name)[0] <= value_range(expr.operand.ctype.name)[0]
        and (value_range(expr.operand.ctype.name)[1] <= value_range(expr.ctype.name)[1])
    ):
        expr = expr.operand
    if isinstance(expr, Ref) and (set_to := ctx.accesses.substitutions.get(expr.var)) is not None:
        return set_to.exact
    return isinstance(expr, Ref | Lit | Member)


def _in_range(ctx: Context, value: Poly, expr: CExpr) -> None:
    """The value of an expression that may wrap around did not. Raises NotAffine."""
    if _plain(ctx, expr):
        return
    low, high = value_range(expr.ctype.name)
    if value.affine is None:
        _limit_product(ctx, expr, min(high, 2**62 - (low < 0)))
    else:
        stays(ctx, value.affine, expr.ctype.name)


def stays(ctx: Context, value: Affine, ctype: str) -> None:
    """Prove or assume that the value of an expression is in the range of its type. Raises NotAffine."""
    low, high = value_range(ctype)
    if high == 2**63 - 1:
        _limit_terms(ctx, value)
    else:
        limit(ctx, Poly.of(value), low, high)


def _limit_terms(ctx: Context, value: Affine) -> None:
    """Sums in 64 bits do not wrap: what is added is small enough, one by one. Raises NotAffine."""
    most = 2**62 // (abs(value.const) + sum(abs(c) for _, c in value.terms) or 1)
    for atom, _ in value.terms:
        for name in sorted(Affine.of(atom).names()):
            for side in (Affine.of(name), -Affine.of(name)):
                if not ctx.assumed.facts.require(side + most, ctx.domain):
                    raise NotAffine


def limit(ctx: Context, value: Poly, low: int, high: int) -> None:
    """Prove or assume low <= value <= high. Raises NotAffine."""
    affine = value.affine
    if affine is None:
        raise NotAffine
    ctx.work.spend(20, ctx.begin)
    below, above = bounds_of(affine, ctx.assumed.facts.ranges)
    if (below is None or below < low) and not ctx.assumed.facts.require(affine - low, ctx.domain):
        raise NotAffine
    if high >= 2**62 and _is_small(affine):  # numbers of 64 bits are tested to be no larger than 2**47
        return
    if (above is None or above > high) and not ctx.assumed.facts.require(-affine + high, ctx.domain):
        raise NotAffine


def _is_small(affine: Affine) -> bool:
    return abs(affine.const) < 2**61 and sum(abs(factor) for _, factor in affine.terms) < 2**13


def _limit_product(ctx: Context, expr: CExpr, high: int) -> None:
    """Sums and products of affine terms do not wrap: every term is at least 0 and small enough. Raises NotAffine."""
    leaves = _leaves(ctx, expr)
    limit = 2**31 if high >= 2**62 else 2**16
    while _largest(ctx, expr, limit) > high:
        limit -= max(1, limit // 64)
    for leaf in leaves:
        if not ctx.assumed.facts.require(leaf, ctx.domain):
            raise NotAffine
        if high < 2**62 and not ctx.assumed.facts.require(-leaf + limit, ctx.domain):
            raise NotAffine


def _leaves(ctx: Context, expr: CExpr) -> list[Affine]:
    """The affine terms a polynomial is made of by `+` and `*`."""
    affine = poly(ctx, expr).affine
    if affine is not None:
        return [affine]
    if isinstance(expr, Conv):
        return _leaves(ctx, expr.operand)
    if isinstance(expr, Bin) and (expr.op in ("+", "*") or (expr.op == "-" and not is_unsigned(expr.ctype.name))):
        return _leaves(ctx, expr.left) + _leaves(ctx, expr.right)
    raise NotAffine


def _largest(ctx: Context, expr: CExpr, limit: int) -> int:
    """The value of the expression with all its affine terms at `limit`."""
    affine = poly(ctx, expr).affine
    if affine is not None:
        return abs(affine.const) if affine.is_constant else limit
    if isinstance(expr, Conv):
        return _largest(ctx, expr.operand, limit)
    assert isinstance(expr, Bin)
    left, right = _largest(ctx, expr.left, limit), _largest(ctx, expr.right, limit)
    return max(left, right) if expr.op == "-" else left + right if expr.op == "+" else left * right


def exact(ctx: Context, expr: CExpr) -> Affine:
    """The value as an affine expression. Raises NotAffine."""
    value = poly(ctx, expr)
    affine = value.affine
    if affine is None:
        raise NotAffine
    if affine.is_constant:
        return Affine.constant(wrap(affine.const, expr.ctype.name))
    if _may_wrap(ctx, expr):
        _in_range(ctx, value, expr)
    return affine


def exact_poly(ctx: Context, expr: CExpr) -> Poly:
    """The value as a polynomial, for a subscript; 64-bit wrap-around cancels in an address."""
    value = poly(ctx, expr)
    if (bits(expr.ctype.name) < 64 or ctx.unit.dialect.traps) and _may_wrap(ctx, expr):
        _in_range(ctx, value, expr)
    return value


def _division(ctx: Context, expr: Bin) -> Affine:
    divisor = _number(ctx, expr.right)
    if divisor is None or divisor < 1:
        raise NotAffine
    numerator = exact(ctx, expr.left)
    if _levels(numerator) >= _MAX_DIVISIONS:
        raise NotAffine
    if expr.op == ">>":
        if divisor > 30:
            raise NotAffine
        return numerator.floordiv(1 << divisor)
    if expr.op == "&":
        if divisor & (divisor + 1):
            raise NotAffine
        return remainder(numerator, divisor + 1)
    if not ctx.assumed.facts.require(numerator, ctx.domain):
        raise NotAffine
    return numerator.floordiv(divisor) if expr.op == "/" else remainder(numerator, divisor)


def _levels(affine: Affine) -> int:
    """How deep divisions are nested."""
    return max((1 + _levels(atom.numerator) for atom, _ in affine.terms if isinstance(atom, FloorDiv)), default=0)


def remainder(numerator: Affine, divisor: int) -> Affine:
    return numerator - numerator.floordiv(divisor) * divisor
