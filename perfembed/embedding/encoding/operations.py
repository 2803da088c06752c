"""What one instance of a statement computes, however it is spelled: `a = b + a` counts like `a += b`."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.ir.nest import (
    Access,
    Action,
    Assign,
    Binary,
    Call,
    Cast,
    Conditional,
    Expr,
    If,
    Literal,
    LoopNest,
    Read,
    Unary,
)
from scheduler.ir.types import COMPARISONS, LOGICAL, common_type, is_floating, scalar_type
from scheduler.ir.walk import action_uses, children, reads

_INLINED = frozenset(
    (
        *("fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "fmin", "fmax", "copysign", "fma"),
        *("fabsf", "floorf", "ceilf", "truncf", "rintf", "nearbyintf", "fminf", "fmaxf", "copysignf", "fmaf"),
        *("abs", "labs", "llabs"),
    )
)
_EXTREME = frozenset(("fmin", "fmax", "fminf", "fmaxf"))
_INTEGER = {
    "+": "integer_add",
    "-": "integer_add",
    "*": "integer_multiply",
    "/": "integer_divide",
    "%": "integer_divide",
}
_FLOATING = {"+": "add", "-": "add", "*": "multiply", "/": "divide"}
_KINDS = {"+": "sum", "-": "sum", "*": "product", "/": "product", "&": "bitwise", "|": "bitwise", "^": "bitwise"}


def operations(nest: LoopNest, body: tuple[Action, ...]) -> dict[str, float]:
    """How many operations of each kind of `schema.OPERATIONS`; both sides of a condition count in full."""
    found: dict[str, float] = {}
    for kind in _actions(nest, body):
        found[kind] = found.get(kind, 0.0) + 1.0
    return found


def single_precision(nest: LoopNest, body: tuple[Action, ...]) -> bool:
    """Whether everything floating that the body touches is `float`, and something is."""
    types = {nest.array(use.access.array).ctype for use in action_uses(body)}
    return "float" in types and not any(is_floating(t) for t in types - {"float"})


def is_conditional(actions: tuple[Action, ...]) -> bool:
    return any(isinstance(action, If) for action in actions)


def reductions(actions: tuple[Action, ...]) -> dict[Access, str]:
    """What is updated from its own old value by an operation of any order -> its kind of `schema.REDUCTIONS`."""
    found: dict[Access, str] = {}
    for action in actions:
        if isinstance(action, Assign):
            kind = _reduction(action)
            if kind is not None:
                found[action.target] = kind
        elif not action.orelse and len(action.then) == 1 and isinstance(only := action.then[0], Assign):
            compared = isinstance(action.condition, Binary) and action.condition.op in ("<", ">", "<=", ">=")
            if compared and only.op == "=" and _mentions(action.condition, only.target):
                found[only.target] = "extreme"  # if (x > m) m = x;
            else:
                found |= reductions(action.then)
        else:
            found |= reductions(action.then) | reductions(action.orelse)
    return found


def _reduction(action: Assign) -> str | None:
    if action.op != "=":
        return _KINDS.get(action.op[:-1])
    value = _bare(action.value)
    if isinstance(value, Call) and value.function in _EXTREME:
        return "extreme" if any(_is_read(a, action.target) for a in value.arguments) else None
    if isinstance(value, Conditional):
        sides = (value.then, value.orelse)
        return "extreme" if any(_is_read(s, action.target) for s in sides) else None
    if not isinstance(value, Binary) or value.op not in _KINDS:
        return None
    family = {"+": "+-", "-": "+-", "*": "*/", "/": "*/"}.get(value.op, value.op)
    own = [positive for leaf, positive in _leaves(value, family, True) if _is_read(leaf, action.target)]
    mentions = sum(use.access == action.target for use in reads(value))
    return _KINDS[value.op] if own == [True] and mentions == 1 else None


def _leaves(expr: Expr, family: str, positive: bool) -> Iterator[tuple[Expr, bool]]:
    """The operands of a chain of operators of one family; False for those subtracted or divided by."""
    bare = _bare(expr)
    if isinstance(bare, Binary) and bare.op in family:
        yield from _leaves(bare.left, family, positive)
        yield from _leaves(bare.right, family, positive if bare.op not in "-/" else not positive)
    else:
        yield bare, positive


def _bare(expr: Expr) -> Expr:
    while isinstance(expr, Cast):
        expr = expr.operand
    return expr


def _is_read(expr: Expr, access: Access) -> bool:
    bare = _bare(expr)
    return isinstance(bare, Read) and bare.access == access


def _mentions(expr: Expr, access: Access) -> bool:
    return any(use.access == access for use in reads(expr))


# ------------------------------------------------------------------------------------ counting


def _actions(nest: LoopNest, actions: tuple[Action, ...]) -> Iterator[str]:
    for action in actions:
        if isinstance(action, If):
            yield "select"
            yield from _expression(action.condition)
            yield from _actions(nest, action.then)
            yield from _actions(nest, action.orelse)
            continue
        yield from _expression(action.value)
        target, value = nest.array(action.target.array).ctype, _type(action.value)
        if action.op == "=":
            if not isinstance(action.value, Cast | Literal) and _changes(value, target):
                yield "convert"
            continue
        computed = common_type(target, value)
        yield _binary(action.op[:-1], computed)
        yield from ("convert" for _ in range(2 * _changes(target, computed)))  # there and back
        if not isinstance(action.value, Literal) and _changes(value, computed):
            yield "convert"


def _expression(e: Expr) -> Iterator[str]:
    for child in children(e):
        yield from _expression(child)
    if isinstance(e, Conditional):
        yield "select"
    elif isinstance(e, Binary):
        if e.op in LOGICAL:
            yield "logic"
            return
        left, right = _type(e.left), _type(e.right)
        computed = common_type(left, right)
        for side, ctype in ((e.left, left), (e.right, right)):
            if not isinstance(side, Literal) and _changes(ctype, computed):
                yield "convert"
        yield "compare" if e.op in COMPARISONS else _binary(e.op, computed)
    elif isinstance(e, Call):
        yield "root" if e.function in ("sqrt", "sqrtf") else "simple" if e.function in _INLINED else "call"
    elif isinstance(e, Cast) and not isinstance(e.operand, Literal):
        if _changes(_type(e.operand), e.ctype):
            yield "convert"
    elif isinstance(e, Unary) and e.op != "+" and not isinstance(e.operand, Literal):
        yield "logic" if e.op == "!" else "simple" if is_floating(e.ctype) else "integer_add" if e.op == "-" else "bits"


def _binary(op: str, ctype: str) -> str:
    return _FLOATING.get(op, "simple") if is_floating(ctype) else _INTEGER.get(op, "bits")


def _type(e: Expr) -> str:
    return e.ctype


def _changes(old: str, new: str) -> bool:
    """Whether a conversion takes an instruction: from or to floating point, or between its widths."""
    return old != new and (is_floating(old) or is_floating(new)) and scalar_type(old) != scalar_type(new)
