"""What a nest uses the values of its arrays for: which of them must not be replaced by random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Assign,
    Binary,
    Call,
    Conditional,
    Expr,
    If,
    Literal,
    Loop,
    LoopNest,
    Predicate,
    Read,
)
from scheduler.ir.types import is_floating
from scheduler.ir.walk import children, loops, placed_statements, reads

_DIVISIONS = ("/", "%", "/=", "%=")
_SHIFTS = ("<<", ">>", "<<=", ">>=")
# Functions that are undefined or infinite somewhere.
_PARTIAL = frozenset(
    name + suffix
    for name in (
        *("sqrt", "log", "log2", "log10", "log1p", "pow", "acos"),
        *("asin", "acosh", "atanh", "fmod", "remainder", "tan"),
    )
    for suffix in ("", "f")
)


@dataclass(frozen=True, slots=True)
class Roles:
    """`index`: values reach a subscript or a loop bound. `control`: values reach a condition, a divisor of
    integers or a shift. `partial`: a division or a function that is not defined everywhere is computed."""

    index: frozenset[str]
    control: frozenset[str]
    partial: bool


@dataclass(frozen=True, slots=True)
class _Flow:
    """An assignment, and the conditions under which it happens."""

    assign: Assign
    conditions: tuple[Expr, ...]


def roles(nest: LoopNest) -> Roles:
    """What the arrays of a nest are used for, also by way of other arrays and scalars."""
    index: set[str] = set()
    control: set[str] = set()
    partial = False
    flows = tuple(_flows(nest))
    expressions: list[Expr] = [b for loop in loops(nest) for b in (loop.start, loop.stop) if not isinstance(b, tuple)]
    for bound in expressions:
        index |= _names(bound)
    for flow in flows:
        expressions += [*flow.conditions, flow.assign.value, *_opaque(flow.assign.target)]
        for subscript in _opaque(flow.assign.target):
            index |= _names(subscript)
        for condition in flow.conditions:
            control |= _names(condition)
        if flow.assign.op in (*_DIVISIONS, *_SHIFTS):
            control |= _names(flow.assign.value)
            partial |= flow.assign.op == "/=" and not isinstance(flow.assign.value, Literal)
    for expression in expressions:
        for part in _parts(expression):
            if isinstance(part, Read):
                for subscript in _opaque(part.access):
                    index |= _names(subscript)
            elif isinstance(part, Conditional):
                control |= _names(part.condition)
            elif isinstance(part, Binary) and part.op in (*_DIVISIONS, *_SHIFTS):
                control |= _names(part.right)
                partial |= part.op == "/" and not isinstance(part.right, Literal) and is_floating(part.ctype)
            elif isinstance(part, Call):
                partial |= part.function in _PARTIAL
    return Roles(_closure(index, flows), _closure(control, flows), partial)


def _closure(found: set[str], flows: tuple[_Flow, ...]) -> frozenset[str]:
    """With everything that is assigned to them."""
    while True:
        before = len(found)
        for flow in flows:
            if flow.assign.target.array in found:
                found = found.union(_names(flow.assign.value), *(_names(c) for c in flow.conditions))
        if len(found) == before:
            return frozenset(found)


def _flows(nest: LoopNest) -> Iterator[_Flow]:
    def visit(actions: tuple[Action, ...], conditions: tuple[Expr, ...]) -> Iterator[_Flow]:
        for action in actions:
            if isinstance(action, If):
                yield from visit(action.then, (*conditions, action.condition))
                yield from visit(action.orelse, (*conditions, action.condition))
            else:
                yield _Flow(action, conditions)

    for placed in placed_statements(nest):
        conditions = tuple(a.condition for a in placed.ancestors if isinstance(a, Predicate))
        yield from visit(placed.statement.body, conditions)


def _parts(expression: Expr) -> Iterator[Expr]:
    """Every expression inside, opaque subscripts too."""
    yield expression
    inner = _opaque(expression.access) if isinstance(expression, Read) else children(expression)
    for part in inner:
        yield from _parts(part)


def _opaque(access: Access) -> tuple[Expr, ...]:
    return tuple(s for s in access.subscripts if not isinstance(s, Affine))


def opaque_subscripts(nest: LoopNest) -> Iterator[tuple[Access, int, Expr]]:
    """(access, dimension, expression) of every subscript that depends on data."""
    expressions: list[Expr] = []
    for loop in loops(nest):
        expressions += bounds(loop)
    for flow in _flows(nest):
        expressions += [*flow.conditions, flow.assign.value, Read(flow.assign.target, "")]
    for expression in expressions:
        for part in _parts(expression):
            if isinstance(part, Read):
                for dimension, subscript in enumerate(part.access.subscripts):
                    if not isinstance(subscript, Affine):
                        yield part.access, dimension, subscript


def bounds(loop: Loop) -> tuple[Expr, ...]:
    """The opaque bounds of a loop."""
    return tuple(b for b in (loop.start, loop.stop) if not isinstance(b, tuple))


def assignments(nest: LoopNest) -> Iterator[Assign]:
    """Every assignment of the nest."""
    return (flow.assign for flow in _flows(nest))


def _names(expression: Expr) -> frozenset[str]:
    return frozenset(use.access.array for use in reads(expression))
