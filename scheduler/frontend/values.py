"""C expressions to expression trees that evaluate to the same bits."""

from __future__ import annotations

from scheduler.frontend import body, inline, places
from scheduler.frontend.arith import is_float, is_integer, literal_text, value_range
from scheduler.frontend.context import Context, Refuse
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
)
from scheduler.frontend.fold import fold
from scheduler.ir.nest import Binary, Call, Cast, Conditional, Expr, Literal, Name, Unary
from scheduler.ir.types import FUNCTIONS, common_type, promoted

_COMPARE = ("<", ">", "<=", ">=", "==", "!=")
_ARITHMETIC = ("+", "-", "*", "/", "%", "&", "|", "^")


def value(ctx: Context, expr: CExpr) -> Expr:
    """Raises Refuse."""
    ctx.work.spend(1, expr.at)
    ctype = expr.ctype.name
    match expr:
        case Lit():
            if expr.value is None:
                raise Refuse(expr.at, "uses a string", "move it out of the loop")
            _scalar(expr)
            return literal(expr)
        case Ref():
            return _reference(ctx, expr)
        case Index() | Member() | Un(op="*"):
            return places.read(ctx, expr)
        case Un(op="-" | "+" | "~", operand=operand):
            _scalar(expr)
            return Unary(expr.op, value(ctx, _promoted(operand)), ctype)  # type: ignore[arg-type]
        case Un(op="!", operand=operand):
            _scalar(operand)
            return Unary("!", value(ctx, operand), ctype)
        case Bin():
            return _binary(ctx, expr)
        case Cond():
            _scalar(expr)
            condition = value(ctx, expr.condition)
            left, right = _balanced(expr.then, expr.orelse)
            with ctx.conditional():
                return Conditional(condition, value(ctx, left), value(ctx, right), ctype)
        case Conv():
            return _conversion(ctx, expr)
        case CCall():
            return _call(ctx, expr)
        case Set() | Step():
            raise Refuse(expr.at, "changes a variable inside an expression", "make the assignment a statement of its own")
        case Strange():
            raise Refuse(expr.at, f"uses {expr.what}", "write it in plain C")
        case Un() | Items():
            raise Refuse(expr.at, "uses an address as a value", "index arrays with integers")
    raise AssertionError(expr)


def literal(expr: Lit) -> Expr:
    """A literal node; negative constants are the negation of one."""
    ctype = expr.ctype.name
    if isinstance(expr.value, int) and expr.value < 0:
        if expr.value == value_range(ctype)[0]:
            below = Literal(literal_text(-expr.value - 1, ctype), ctype)
            return Binary("-", Unary("-", below, ctype), Literal("1", "int"), ctype)
        return Unary("-", Literal(literal_text(-expr.value, ctype), ctype), ctype)
    return Literal(expr.text, ctype)


def _scalar(expr: CExpr) -> None:
    if not expr.ctype.is_scalar:
        raise Refuse(expr.at, f"uses a value of type '{expr.ctype.name}'", "use int, float or double")


def _reference(ctx: Context, expr: Ref) -> Expr:
    variable = expr.var
    active = ctx.active(variable)
    if active is not None:
        return Name(active.name, active.ctype)
    substitution = ctx.substitutions.get(variable)
    if substitution is not None and substitution.expr is not None:
        return substitution.expr
    if variable.ctype.is_volatile:
        raise Refuse(expr.at, f"'{variable.name}' is volatile", "copy it to an ordinary variable outside the loop")
    _scalar(expr)
    if variable.ctype.kind == "int" and variable not in ctx.written and variable not in ctx.inside:
        constant = fold(expr)
        if constant is not None:
            return literal(Lit(literal_text(constant, expr.ctype.name), constant, expr.ctype, expr.at))
        return Name(ctx.parameter(variable, used=False), variable.ctype.name)
    return places.read(ctx, expr)


def _promoted(operand: CExpr) -> CExpr:
    """Without a conversion that C's integer promotion makes anyway."""
    if isinstance(operand, Conv) and not operand.explicit:
        inner = operand.operand
        if is_integer(inner.ctype.name) and promoted(inner.ctype.name) == operand.ctype.name:
            return inner
    return operand


def _bare(expr: CExpr) -> CExpr:
    """Without one implied conversion around it."""
    return expr.operand if isinstance(expr, Conv) and not expr.explicit else expr


def _balanced(left: CExpr, right: CExpr) -> tuple[CExpr, CExpr]:
    """Both operands without conversions that the usual arithmetic conversions make anyway."""
    bare_left, bare_right = _bare(left), _bare(right)
    wanted = left.ctype.name
    if right.ctype.name == wanted:
        for a, b in ((bare_left, bare_right), (bare_left, right), (left, bare_right)):
            if a.ctype.is_scalar and b.ctype.is_scalar and common_type(a.ctype.name, b.ctype.name) == wanted:
                return a, b
    return left, right


def _binary(ctx: Context, expr: Bin) -> Expr:
    op = expr.op
    if op == ",":
        raise Refuse(expr.at, "uses the comma operator", "make it two statements")
    _scalar(expr)
    _scalar(expr.left)
    _scalar(expr.right)
    if op in ("&&", "||"):
        left = value(ctx, expr.left)
        with ctx.conditional():
            return Binary(op, left, value(ctx, expr.right), expr.ctype.name)
    if op in ("<<", ">>"):
        a, b = _promoted(expr.left), _promoted(expr.right)
    elif op in _ARITHMETIC or op in _COMPARE:
        a, b = _balanced(expr.left, expr.right)
    else:
        raise Refuse(expr.at, f"uses the operator '{op}'", "write it in plain C")
    return Binary(op, value(ctx, a), value(ctx, b), expr.ctype.name)


def _conversion(ctx: Context, expr: Conv) -> Expr:
    _scalar(expr)
    operand = expr.operand
    if not operand.ctype.is_scalar:
        raise Refuse(expr.at, f"converts a value of type '{operand.ctype.name}'", "use int, float or double")
    if isinstance(operand, Lit) and isinstance(operand.value, int) and not expr.explicit and abs(operand.value) < 2**24:
        target = expr.ctype.name
        if is_float(target):
            return Literal(f"{operand.value}.0" + ("f" if target == "float" else ""), target)
    return Cast(expr.ctype.name, value(ctx, operand))


def assigned(ctx: Context, expr: CExpr) -> Expr:
    """The right side of `=`: the assignment converts to the target's type by itself."""
    if isinstance(expr, Conv) and not expr.explicit and expr.operand.ctype.is_scalar:
        return value(ctx, expr.operand)
    return value(ctx, expr)


def updated(ctx: Context, op: str, target: str, expr: CExpr) -> Expr:
    """The right side of a compound assignment."""
    if isinstance(expr, Conv) and not expr.explicit and expr.operand.ctype.is_scalar:
        inner = expr.operand
        same = promoted(inner.ctype.name) == expr.ctype.name if op in ("<<=", ">>=") else (
            common_type(target, inner.ctype.name) == common_type(target, expr.ctype.name)
        )
        if same:
            return value(ctx, inner)
    return value(ctx, expr)


def _call(ctx: Context, expr: CCall) -> Expr:
    name = expr.name.removeprefix("__builtin_")
    if name in ("inf", "inff", "huge_val", "huge_valf"):
        return Literal("1e999f" if name.endswith("f") and name != "inf" else "1e999", expr.ctype.name)
    expansion = inline.expand(ctx, expr)
    if expansion is None:
        if name in FUNCTIONS and expr.ctype.is_scalar:
            return Call(name, tuple(value(ctx, a) for a in expr.arguments), expr.ctype.name)
        raise Refuse(
            expr.at,
            f"calls '{expr.name}', which may have side effects",
            "move the call out of the loop; of library functions only pure mathematical ones can be tuned",
        )
    if expansion.before:
        if not ctx.may_hoist:
            raise Refuse(expr.at, f"calls '{expr.name}' where only an expression can stand", "call it in a statement before")
        ctx.hoisted.extend(body.actions(ctx, expansion.before))
    return value(ctx, expansion.result)
