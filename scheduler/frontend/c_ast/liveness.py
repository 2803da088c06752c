"""How statements use a scalar: read first, written first, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal as OneOf

from scheduler.frontend.c_ast.csyntax import (
    LOOPS,
    Bin,
    CExpr,
    CFunction,
    Compound,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    JumpStmt,
    Leave,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Variable,
    all_expressions,
    inner_statements,
    is_loop,
    statements,
    subexpressions,
)

Use = OneOf["read", "kill", "none"]


def mentioned(stmt: CStmt) -> set[Variable]:
    """Every variable a statement names."""
    found = {e.var for e in all_expressions(stmt) if isinstance(e, Ref)}
    for inner in statements(stmt):
        if isinstance(inner, DeclStmt):
            found.update(inner.variables)
    return found


def occurs(variable: Variable, stmt: CStmt) -> bool:
    return any(isinstance(e, Ref) and e.var is variable for e in all_expressions(stmt))


def expression_use(variable: Variable, expr: CExpr) -> Use:
    """What evaluating the expression does first to the variable (`none` where it may do nothing)."""
    if isinstance(expr, Set) and isinstance(expr.left, Ref) and expr.left.var is variable:
        if expr.op != "=":
            return "read"
        inner = expression_use(variable, expr.right)
        return "read" if inner == "read" else "kill"
    if isinstance(expr, Set):
        right = expression_use(variable, expr.right)
        if right != "none":
            return right
        return expression_use(variable, expr.left)
    if isinstance(expr, Bin) and expr.op == ",":
        left = expression_use(variable, expr.left)
        return left if left != "none" else expression_use(variable, expr.right)
    if isinstance(expr, Ref):
        return "read" if expr.var is variable else "none"
    for node in subexpressions(expr):
        if isinstance(node, Ref) and node.var is variable:
            return "read"
    return "none"


def sequence_use(variable: Variable, body: Iterable[CStmt], inside_loop: bool, labels: bool = False) -> Use:
    """First use over a statement list; `inside_loop`: a break or continue ends at a loop in the list.

    `labels`: nothing that a goto leads to reads the variable.
    """
    for stmt in body:
        use = statement_use(variable, stmt, inside_loop, labels)
        if use != "none":
            return use
    return "none"


def statement_use(variable: Variable, stmt: CStmt, inside_loop: bool = False, labels: bool = False) -> Use:
    """`read`: its old value may be read. `kill`: it is overwritten on every path. `none`: neither is sure."""
    match stmt:
        case ExprStmt(expr=expr):
            return expression_use(variable, expr)
        case DeclStmt(variables=variables):
            for declared in variables:
                if declared.init is not None and expression_use(variable, declared.init) == "read":
                    return "read"
                if declared is variable:
                    return "kill"
            return "none"
        case Compound(body=body):
            return sequence_use(variable, body, inside_loop, labels)
        case IfStmt():
            use = expression_use(variable, stmt.condition)
            if use != "none":
                return use
            then = statement_use(variable, stmt.then, inside_loop, labels)
            orelse = "none" if stmt.orelse is None else statement_use(variable, stmt.orelse, inside_loop, labels)
            if "read" in (then, orelse):
                return "read"
            return "kill" if then == orelse == "kill" else "none"
        case ForStmt():
            if stmt.init is not None:
                use = statement_use(variable, stmt.init)
                if use != "none":
                    return use
            if stmt.condition is not None and expression_use(variable, stmt.condition) == "read":
                return "read"
            around = statement_use(variable, stmt.body, True, labels)
            if around == "none" and stmt.increment is not None:
                around = expression_use(variable, stmt.increment)
            return "read" if around == "read" else "none"
        case ReturnStmt(value=value):
            return "read" if value is not None and expression_use(variable, value) == "read" else "kill"
        case Leave(branch=branch):
            return statement_use(variable, branch, inside_loop, labels)
        case JumpStmt():
            return "kill" if (labels if stmt.what == "goto" else inside_loop) else "read"
        case OtherStmt():
            if stmt.what == "label" and labels:
                first = (expression_use(variable, expr) for expr in stmt.exprs)
                use = next((u for u in first if u != "none"), "none")
                return sequence_use(variable, stmt.body, inside_loop, labels) if use == "none" else use
            for expr in stmt.exprs:
                if any(isinstance(e, Ref) and e.var is variable for e in subexpressions(expr)):
                    return "read"
            if stmt.what in (*LOOPS, "switch", "case", "null", "pragma"):
                if stmt.what in ("switch", "case") and occurs(variable, stmt):
                    return "read"
                return "read" if sequence_use(variable, stmt.body, True, labels) == "read" else "none"
            return "read" if occurs(variable, stmt) else "none"


def dead_after(variable: Variable, frames: list[Frame], function: CFunction) -> bool:
    """No path from behind the innermost frame's point reads the variable before overwriting it."""
    if variable.storage not in ("local", "param") or variable.address_taken:
        return False
    if not function.has_goto:
        return _dead(variable, frames, False)
    if any(isinstance(s, OtherStmt) and s.what == "asm" for s in statements(function.body)):
        return False
    # Where all labels can be said to be dead as long as the others are, they are: no way from one leads to a read.
    places = list(_labels(function.body.body, None, []))
    return all(_dead(variable, place, True) for place in places) and _dead(variable, frames, True)


def _labels(body: tuple[CStmt, ...], owner: CStmt | None, frames: list[Frame]) -> Iterator[list[Frame]]:
    """The points right before the labels of a function."""
    for position, stmt in enumerate(body):
        if isinstance(stmt, OtherStmt) and stmt.what == "label":
            yield [*frames, Frame(owner, body, position, position - 1)]
        here = [*frames, Frame(owner, body, position, position)]
        if isinstance(stmt, Compound):
            yield from _labels(stmt.body, stmt, here)
        else:
            for inner in inner_statements(stmt):
                yield from _labels(inner.body if isinstance(inner, Compound) else (inner,), stmt, here)


def _dead(variable: Variable, frames: list[Frame], labels: bool) -> bool:
    """`labels`: of what gotos lead to that is taken for granted."""
    jumps: set[str] = set()  # that may have been taken past what is looked at
    for frame in reversed(frames):
        rest = frame.body[frame.last + 1 :]
        use = sequence_use(variable, rest, True, labels)
        if use == "read":
            return False
        jumps |= {what for stmt in rest for what in _jumps(stmt) if not labels or what != "goto"}
        if use == "kill" and not jumps:
            return True
        owner = frame.owner
        if owner is None or isinstance(owner, IfStmt | Compound):
            continue
        if isinstance(owner, ForStmt) or (isinstance(owner, OtherStmt) and owner.what in LOOPS):
            jumps.clear()
            around = (owner.increment, owner.condition) if isinstance(owner, ForStmt) else owner.exprs
            first: Use = "none"
            for expr in around:
                if expr is None:
                    continue
                first = expression_use(variable, expr)
                if first != "none":
                    break
            if first == "read":
                return False
            if first == "none" and sequence_use(variable, frame.body, True, labels) == "read":
                return False
        elif isinstance(owner, OtherStmt) and owner.what == "switch":
            jumps.discard("break")
        elif not (isinstance(owner, OtherStmt) and owner.what == "case") and occurs(variable, owner):
            return False
    return True


def _jumps(stmt: CStmt) -> set[str]:
    """The kinds of jumps that leave a statement: for what follows a loop or switch around it, or for the next round."""
    if isinstance(stmt, JumpStmt):
        return {stmt.what}
    if is_loop(stmt):
        return set()
    found = {what for inner in inner_statements(stmt) for what in _jumps(inner)}
    return found - {"break"} if isinstance(stmt, OtherStmt) and stmt.what == "switch" else found


@dataclass(slots=True)
class Frame:
    """A statement list on the way from the function body to a point, and where the point is in it."""

    owner: CStmt | None
    body: tuple[CStmt, ...]
    first: int
    last: int
