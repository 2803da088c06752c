"""A statement's body as a sequence of operations in the order of evaluation (LOOPer's expression sequence)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Assign,
    Binary,
    Call,
    Cast,
    Conditional,
    Expr,
    Literal,
    LoopNest,
    Name,
    Read,
    Unary,
)
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import children

# Part of what trained weights mean: append only, and raise FEATURE_VERSION.
OPERATIONS = (
    *("other", "store", "read", "gather", "literal", "name", "cast", "if", "?:"),
    *("neg", "+u", "!", "~", "+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&&", "||"),
    *("&", "|", "^", "<<", ">>", "sqrt", "pow", "fma", "rounding", "minmax", "elementary"),
)
TYPES = ("other", "bool", "integer8", "integer16", "integer32", "integer64", "floating32", "floating64", "floating80")

_OPERATION = {name: number for number, name in enumerate(OPERATIONS)}
_TYPE = {name: number for number, name in enumerate(TYPES)}
_CALLS = {"sqrt": "sqrt", "pow": "pow", "fma": "fma"}
_CALLS |= dict.fromkeys(("floor", "ceil", "round", "trunc", "rint", "nearbyint", "copysign"), "rounding")
_CALLS |= dict.fromkeys(("fmin", "fmax", "fdim", "fabs", "abs", "labs", "llabs"), "minmax")

Token = tuple[int, int]  # numbers of an operation and of its type


def statement_operations(nest: LoopNest, conditions: Iterable[Expr], body: tuple[Action, ...]) -> list[Token]:
    """The conditions around a statement, then its actions, operands before operators."""
    found: list[Token] = []
    for condition in conditions:
        found.extend(_expression(condition))
        found.append((_OPERATION["if"], 0))
    found.extend(_actions(nest, body))
    return found


def _actions(nest: LoopNest, actions: tuple[Action, ...]) -> Iterator[Token]:
    for action in actions:
        if isinstance(action, Assign):
            kind = _type(nest.array(action.target.array).ctype)
            yield from _expression(action.value)
            yield from _subscripts(action.target)
            if action.op != "=":
                yield _OPERATION["read" if action.target.is_affine else "gather"], kind
                yield _OPERATION.get(action.op[:-1], 0), kind
            yield _OPERATION["store"], kind
        else:
            yield from _expression(action.condition)
            yield _OPERATION["if"], 0
            yield from _actions(nest, action.then)
            yield from _actions(nest, action.orelse)


def _subscripts(access: Access) -> Iterator[Token]:
    for subscript in access.subscripts:
        if not isinstance(subscript, Affine):
            yield from _expression(subscript)


def _expression(expr: Expr) -> Iterator[Token]:
    for child in children(expr):
        yield from _expression(child)
    if isinstance(expr, Read):
        yield from _subscripts(expr.access)
    yield _OPERATION[_operation(expr)], _type(expr.ctype)


def _type(ctype: str) -> int:
    scalar = scalar_type(ctype)
    if scalar is None:
        return 0
    return _TYPE["bool"] if scalar.kind == "bool" else _TYPE.get(f"{scalar.kind}{scalar.bits}", 0)


def _operation(expr: Expr) -> str:
    match expr:
        case Read():
            return "read" if expr.access.is_affine else "gather"
        case Literal():
            return "literal"
        case Name():
            return "name"
        case Cast():
            return "cast"
        case Conditional():
            return "?:"
        case Unary():
            return {"-": "neg", "+": "+u"}.get(expr.op, expr.op)
        case Binary():
            return expr.op if expr.op in _OPERATION else "other"
        case Call():
            return _CALLS.get(expr.function, _CALLS.get(expr.function.removesuffix("f"), "elementary"))
