"""Nodes of a nest with other names for loops and statements."""

from __future__ import annotations

from collections.abc import Mapping
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
    Constraint,
    Expr,
    Guard,
    Loop,
    Name,
    Node,
    Predicate,
    Read,
    Statement,
    Subscript,
    Unary,
)


def renamed_nodes(nodes: tuple[Node, ...], names: Mapping[str, str]) -> tuple[Node, ...]:
    """The nodes with loops and statements renamed, everywhere they are mentioned."""
    return tuple(_node(node, names, {old: Affine.of(new) for old, new in names.items()}) for node in nodes)


Affines = Mapping[str, Affine]


def _node(node: Node, names: Mapping[str, str], values: Affines) -> Node:
    match node:
        case Statement():
            return replace(node, name=names.get(node.name, node.name), body=_actions(node.body, names, values))
        case Loop():
            return replace(
                node,
                name=names.get(node.name, node.name),
                start=_bound(node.start, names, values),
                stop=_bound(node.stop, names, values),
                body=tuple(_node(child, names, values) for child in node.body),
            )
        case Guard():
            condition = tuple(tuple(_constraint(c, values) for c in conjunction) for conjunction in node.condition)
            return Guard(condition, tuple(_node(child, names, values) for child in node.body))
        case Predicate():
            body = tuple(_node(child, names, values) for child in node.body)
            return Predicate(_expr(node.condition, names, values), body)


def _constraint(constraint: Constraint, values: Affines) -> Constraint:
    return replace(constraint, affine=constraint.affine.substitute(values))


def _bound(bound: Bound, names: Mapping[str, str], values: Affines) -> Bound:
    if isinstance(bound, tuple):
        return tuple(part.substitute(values) for part in bound)
    return _expr(bound, names, values)


def _actions(actions: tuple[Action, ...], names: Mapping[str, str], values: Affines) -> tuple[Action, ...]:
    found: list[Action] = []
    for action in actions:
        if isinstance(action, Assign):
            target, value = _access(action.target, names, values), _expr(action.value, names, values)
            found.append(replace(action, target=target, value=value))
        else:
            condition = _expr(action.condition, names, values)
            then, orelse = (_actions(part, names, values) for part in (action.then, action.orelse))
            found.append(replace(action, condition=condition, then=then, orelse=orelse))
    return tuple(found)


def _access(access: Access, names: Mapping[str, str], values: Affines) -> Access:
    def one(subscript: Subscript) -> Subscript:
        return subscript.substitute(values) if isinstance(subscript, Affine) else _expr(subscript, names, values)

    return replace(access, subscripts=tuple(map(one, access.subscripts)))


def _expr(e: Expr, names: Mapping[str, str], values: Affines) -> Expr:
    match e:
        case Name():
            return replace(e, name=names.get(e.name, e.name))
        case Read():
            return replace(e, access=_access(e.access, names, values))
        case Unary() | Cast():
            return replace(e, operand=_expr(e.operand, names, values))
        case Binary():
            return replace(e, left=_expr(e.left, names, values), right=_expr(e.right, names, values))
        case Call():
            return replace(e, arguments=tuple(_expr(a, names, values) for a in e.arguments))
        case Conditional():
            condition, then, orelse = (_expr(part, names, values) for part in (e.condition, e.then, e.orelse))
            return Conditional(condition, then, orelse, e.ctype)
        case _:
            return e
