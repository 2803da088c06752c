"""Rebuilding a loop tree with its accesses and names replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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
    Guard,
    Literal,
    Loop,
    Name,
    Node,
    Predicate,
    Read,
    Statement,
    Unary,
)
from scheduler.ir.walk import children


@dataclass(slots=True)
class Rewriter:
    """`access` maps every access (before its subscripts are looked at), `name` every iterator or parameter value."""

    access: Callable[[Access], Access]
    name: Callable[[Name], Expr]
    statements: int = 0

    def expr(self, expr: Expr) -> Expr:
        match expr:
            case Literal():
                return expr
            case Name():
                return self.name(expr)
            case Read():
                return Read(self.access(expr.access), expr.ctype)
            case Unary() | Cast():
                return replace(expr, operand=self.expr(expr.operand))
            case Binary():
                return replace(expr, left=self.expr(expr.left), right=self.expr(expr.right))
            case Call():
                return replace(expr, arguments=tuple(self.expr(a) for a in expr.arguments))
            case Conditional():
                return Conditional(self.expr(expr.condition), self.expr(expr.then), self.expr(expr.orelse), expr.ctype)

    def actions(self, actions: tuple[Action, ...]) -> tuple[Action, ...]:
        result: list[Action] = []
        for action in actions:
            if isinstance(action, Assign):
                result.append(Assign(self.access(action.target), action.op, self.expr(action.value)))
            else:
                condition = self.expr(action.condition)
                then, orelse = self.actions(action.then), self.actions(action.orelse)
                result.append(replace(action, condition=condition, then=then, orelse=orelse))
        return tuple(result)

    def bound(self, bound: Bound) -> Bound:
        return bound if isinstance(bound, tuple) else self.expr(bound)

    def nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The same nodes; statements are numbered in textual order."""
        result: list[Node] = []
        for node in nodes:
            match node:
                case Loop():
                    start, stop = self.bound(node.start), self.bound(node.stop)
                    result.append(replace(node, start=start, stop=stop, body=self.nodes(node.body)))
                case Guard():
                    result.append(replace(node, body=self.nodes(node.body)))
                case Predicate():
                    result.append(Predicate(self.expr(node.condition), self.nodes(node.body)))
                case Statement():
                    self.statements += 1
                    result.append(replace(node, name=f"S{self.statements - 1}", body=self.actions(node.body)))
        return tuple(result)


def expression_size(expr: Expr, most: int) -> int:
    """Number of nodes, counted up to `most` + 1."""
    count = 0
    stack: list[Expr] = [expr]
    while stack and count <= most:
        node = stack.pop()
        count += 1
        stack.extend(children(node))
    return count
