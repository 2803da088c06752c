"""Expressions, actions and nodes with other accesses and names in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Assign,
    Binary,
    Bound,
    Call,
    Cast,
    Conditional,
    Expr,
    Loop,
    Name,
    Node,
    Predicate,
    Read,
    Statement,
    Unary,
)

Accesses = Callable[[Access], Access]
"""What becomes of an access, whose opaque subscripts have been mapped already."""
Names = Callable[[Name], Name]


def _same(name: Name) -> Name:
    return name


def map_operands(expr: Expr, mapped: Callable[[Expr], Expr]) -> Expr:
    """The expression with its direct operands replaced (`scheduler.ir.walk.children`)."""
    match expr:
        case Unary() | Cast():
            return replace(expr, operand=mapped(expr.operand))
        case Binary():
            return replace(expr, left=mapped(expr.left), right=mapped(expr.right))
        case Call():
            return replace(expr, arguments=tuple(map(mapped, expr.arguments)))
        case Conditional():
            condition, then, orelse = map(mapped, (expr.condition, expr.then, expr.orelse))
            return Conditional(condition, then, orelse, expr.ctype)
        case _:
            return expr


def map_expr(expr: Expr, accesses: Accesses, names: Names = _same) -> Expr:
    """The expression with every access and every name replaced, inner accesses first."""
    if isinstance(expr, Name):
        return names(expr)
    if isinstance(expr, Read):
        return replace(expr, access=map_access(expr.access, accesses, names))
    return map_operands(expr, lambda operand: map_expr(operand, accesses, names))


def map_access(access: Access, accesses: Accesses, names: Names = _same) -> Access:
    inner = tuple(s if isinstance(s, Affine) else map_expr(s, accesses, names) for s in access.subscripts)
    return accesses(replace(access, subscripts=inner))


def map_actions(actions: tuple[Action, ...], accesses: Accesses, names: Names = _same) -> tuple[Action, ...]:
    found: list[Action] = []
    for action in actions:
        if isinstance(action, Assign):
            target, value = map_access(action.target, accesses, names), map_expr(action.value, accesses, names)
            found.append(replace(action, target=target, value=value))
        else:
            then, orelse = (map_actions(part, accesses, names) for part in (action.then, action.orelse))
            condition = map_expr(action.condition, accesses, names)
            found.append(replace(action, condition=condition, then=then, orelse=orelse))
    return tuple(found)


def map_bound(bound: Bound, accesses: Accesses, names: Names = _same) -> Bound:
    """An opaque bound; affine ones stay as they are."""
    return bound if isinstance(bound, tuple) else map_expr(bound, accesses, names)


def map_nodes(nodes: tuple[Node, ...], accesses: Accesses) -> tuple[Node, ...]:
    """Loops, conditions and statements with every access replaced."""
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Statement):
            result.append(replace(node, body=map_actions(node.body, accesses)))
            continue
        if isinstance(node, Loop):
            node = replace(node, start=map_bound(node.start, accesses), stop=map_bound(node.stop, accesses))
        elif isinstance(node, Predicate):
            node = replace(node, condition=map_expr(node.condition, accesses))
        result.append(replace(node, body=map_nodes(node.body, accesses)))
    return tuple(result)
