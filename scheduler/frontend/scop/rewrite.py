"""Loop trees rebuilt: with accesses and names replaced, and with long bodies as few statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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
    Guard,
    Literal,
    Loop,
    LoopNest,
    Name,
    Node,
    Predicate,
    Read,
    Statement,
    Storage,
    Unary,
)
from scheduler.ir.walk import assignments, children, reads


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


_LEAST = 6  # assignments to temporaries: fewer can be moved by themselves


def grouped(nest: LoopNest) -> LoopNest:
    """The same nest, with statements that stand beside each other put together where many of them set temporaries."""
    temporaries = {
        array.name: array.scope for array in nest.arrays if array.storage is Storage.PRIVATE and not array.shape
    }
    if len(temporaries) < _LEAST:
        return nest
    body = _nodes(nest.body, temporaries, "")
    return nest if body == nest.body else replace(nest, body=_numbered(body, [0]))


def _nodes(nodes: tuple[Node, ...], temporaries: dict[str, str | None], inside: str) -> tuple[Node, ...]:
    result: list[Node] = []
    run: list[Statement] = []

    def end() -> None:
        while run and not _is_temporary(run[-1], temporaries, inside):
            behind.append(run.pop())
        many = sum(_is_temporary(s, temporaries, inside) for s in run) >= _LEAST
        result.extend([_together(run)] if many else run)
        result.extend(reversed(behind))
        run.clear()
        behind.clear()

    behind: list[Statement] = []
    for node in nodes:
        if isinstance(node, Statement) and _may_join(node, temporaries, inside):
            run.append(node)
            continue
        end()
        if isinstance(node, Statement):
            result.append(node)
        else:
            loop = node.name if isinstance(node, Loop) else inside
            result.append(replace(node, body=_nodes(node.body, temporaries, loop)))
    end()
    return tuple(result)


def _is_temporary(statement: Statement, temporaries: dict[str, str | None], inside: str) -> bool:
    """It only sets scalars of one iteration of the loop around."""
    return all(temporaries.get(a.target.array, "") == inside for a in assignments(statement.body))


def _may_join(statement: Statement, temporaries: dict[str, str | None], inside: str) -> bool:
    """It sets temporaries, or stores an element that it does not read, and that is another one in each iteration."""
    if not inside:
        return False
    if _is_temporary(statement, temporaries, inside):
        return True
    (action, *more) = statement.body
    if more or not isinstance(action, Assign) or action.op != "=" or not action.target.subscripts:
        return False
    target = action.target
    moves = any(isinstance(s, Affine) and inside in s.names() for s in target.subscripts)
    return moves and all(use.access.array != target.array for use in reads(action.value))


def _together(run: list[Statement]) -> Statement:
    first, last = run[0].span, run[-1].span
    span = first
    if first is not None and last is not None:
        span = replace(first, begin=min(first.begin, last.begin), end=max(first.end, last.end))
    return Statement(run[0].name, tuple(action for statement in run for action in statement.body), span)


def _numbered(nodes: tuple[Node, ...], count: list[int]) -> tuple[Node, ...]:
    """With statements named S0, S1, … in textual order."""
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Statement):
            result.append(replace(node, name=f"S{count[0]}"))
            count[0] += 1
        else:
            result.append(replace(node, body=_numbered(node.body, count)))
    return tuple(result)
