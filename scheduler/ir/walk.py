"""Traversals of the IR: loops around statements, accesses of a statement, substitution."""

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
    Cast,
    Conditional,
    Expr,
    Guard,
    If,
    Loop,
    LoopNest,
    Name,
    Node,
    Predicate,
    Read,
    Statement,
    Unary,
)


@dataclass(frozen=True, slots=True)
class AccessUse:
    """One access as a statement makes it. `must`: it happens at every instance of the statement."""

    access: Access
    is_write: bool
    must: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement with what stands around it, outermost first."""

    statement: Statement
    ancestors: tuple[Loop | Guard | Predicate, ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(a for a in self.ancestors if isinstance(a, Loop))


def placed_statements(nest: LoopNest) -> Iterator[Placed]:
    """Every statement in textual order."""

    def visit(nodes: tuple[Node, ...], around: tuple[Loop | Guard | Predicate, ...]) -> Iterator[Placed]:
        for node in nodes:
            if isinstance(node, Statement):
                yield Placed(node, around)
            else:
                yield from visit(node.body, (*around, node))

    return visit(nest.body, ())


def loops(nest: LoopNest) -> Iterator[Loop]:
    """Every loop, outer before inner, in textual order."""

    def visit(nodes: tuple[Node, ...]) -> Iterator[Loop]:
        for node in nodes:
            if isinstance(node, Loop):
                yield node
            if not isinstance(node, Statement):
                yield from visit(node.body)

    return visit(nest.body)


def opaque_parts(nest: LoopNest) -> int:
    """How many subscripts, bounds and conditions are not affine."""

    def conditions(actions: tuple[Action, ...]) -> int:
        branches = (a for a in actions if isinstance(a, If))
        return sum(1 + conditions(a.then) + conditions(a.orelse) for a in branches)

    count = sum(loop.is_opaque for loop in loops(nest))
    for placed in placed_statements(nest):
        body = placed.statement.body
        count += conditions(body) + sum(isinstance(a, Predicate) for a in placed.ancestors)
        count += sum(not use.access.is_affine for use in action_uses(body))
    return count


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct operands; the subscripts of a read are not operands (see `reads`)."""
    if isinstance(expr, Unary | Cast):
        return (expr.operand,)
    if isinstance(expr, Binary):
        return (expr.left, expr.right)
    if isinstance(expr, Call):
        return expr.arguments
    if isinstance(expr, Conditional):
        return (expr.condition, expr.then, expr.orelse)
    return ()


def subscript_reads(access: Access) -> Iterator[AccessUse]:
    """Array reads inside opaque subscripts of an access."""
    for subscript in access.subscripts:
        if not isinstance(subscript, Affine):
            yield from reads(subscript)


def reads(expr: Expr, must: bool = True) -> Iterator[AccessUse]:
    """Every array read in an expression; what stands behind `?:`, `&&` or `||` only may happen."""
    if isinstance(expr, Read):
        for inner in subscript_reads(expr.access):
            yield AccessUse(inner.access, False, must and inner.must)
        yield AccessUse(expr.access, False, must)
        return
    for position, child in enumerate(children(expr)):
        conditional = (isinstance(expr, Conditional) and position > 0) or (
            isinstance(expr, Binary) and expr.op in ("&&", "||") and position == 1
        )
        yield from reads(child, must and not conditional)


def assignments(actions: tuple[Action, ...]) -> Iterator[Assign]:
    """All assignments, also those under conditions."""
    for action in actions:
        if isinstance(action, Assign):
            yield action
        else:
            yield from assignments(action.then)
            yield from assignments(action.orelse)


def action_uses(actions: tuple[Action, ...], must: bool = True) -> Iterator[AccessUse]:
    """Every access of some actions, each after those that its subscripts and its value need."""
    for action in actions:
        if isinstance(action, Assign):
            yield from reads(action.value, must)
            for inner in subscript_reads(action.target):
                yield AccessUse(inner.access, False, must and inner.must)
            if action.op != "=":
                yield AccessUse(action.target, False, must)
            yield AccessUse(action.target, True, must)
        else:
            yield from reads(action.condition, must)
            yield from action_uses(action.then, False)
            yield from action_uses(action.orelse, False)


def bound_reads(loop: Loop) -> Iterator[AccessUse]:
    """Array reads of opaque bounds; every statement inside makes them."""
    for bound in (loop.start, loop.stop):
        if not isinstance(bound, tuple):
            yield from reads(bound)


def uses(placed: Placed) -> tuple[AccessUse, ...]:
    """All accesses of a statement: its own, and those of the opaque bounds and predicates around it.

    Under an opaque bound or predicate the statement may not run at all, so its own are may-accesses.
    """
    found: list[AccessUse] = []
    certain = True
    for ancestor in placed.ancestors:
        if isinstance(ancestor, Loop) and ancestor.is_opaque:
            found.extend(AccessUse(u.access, False, u.must and certain) for u in bound_reads(ancestor))
            certain = False
        elif isinstance(ancestor, Predicate):
            found.extend(AccessUse(u.access, False, u.must and certain) for u in reads(ancestor.condition))
            certain = False
    found.extend(action_uses(placed.statement.body, certain))
    return tuple(found)


def expression_names(expr: Expr | Affine) -> frozenset[str]:
    """Iterators and parameters an expression mentions, also inside subscripts."""
    if isinstance(expr, Affine):
        return expr.names()
    if isinstance(expr, Name):
        return frozenset((expr.name,))
    inner = expr.access.subscripts if isinstance(expr, Read) else children(expr)
    return frozenset().union(*(expression_names(e) for e in inner))


def bound_names(loop: Loop) -> frozenset[str]:
    """Iterators and parameters that a loop's bounds mention."""
    found: frozenset[str] = frozenset()
    for bound in (loop.start, loop.stop):
        for part in bound if isinstance(bound, tuple) else (bound,):
            found |= expression_names(part)
    return found


def counting_names(nest: LoopNest) -> frozenset[str]:
    """Parameters and iterators that generated code computes with in `long`, not just in the type they have."""
    placed = list(placed_statements(nest))
    affine = [c.affine for c in nest.assumptions]
    affine += [extent for array in nest.arrays for extent in array.shape if extent is not None]
    affine += [s for one in placed for use in uses(one) for s in use.access.subscripts if isinstance(s, Affine)]
    for ancestor in dict.fromkeys(a for one in placed for a in one.ancestors):
        if isinstance(ancestor, Loop):
            bounds = (b for b in (ancestor.start, ancestor.stop) if isinstance(b, tuple))
            affine += [part for bound in bounds for part in bound]
        elif isinstance(ancestor, Guard):
            affine += [c.affine for conjunction in ancestor.condition for c in conjunction]
    return frozenset(name for part in affine for name in part.names())
