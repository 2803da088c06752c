"""Where the jumps of a loop's body lead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CExpr,
    Compound,
    CStmt,
    IfStmt,
    JumpStmt,
    OtherStmt,
    Un,
    inner_statements,
    is_loop,
    strip,
)
from scheduler.frontend.c_ast.scalars import flatten

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def own_jumps(body: tuple[CStmt, ...] | list[CStmt]) -> Iterator[JumpStmt]:
    """`break`, `continue` and `goto` that belong to the loop around a body."""
    for stmt in body:
        if isinstance(stmt, JumpStmt):
            yield stmt
        elif is_loop(stmt) or (isinstance(stmt, OtherStmt) and stmt.what == "switch"):
            inside = own_jumps(inner_statements(stmt))
            switch = isinstance(stmt, OtherStmt) and stmt.what == "switch"
            yield from (j for j in inside if j.what == "goto" or (switch and j.what == "continue"))
        else:
            yield from own_jumps(inner_statements(stmt))


def compound(body: tuple[CStmt, ...], place: CStmt) -> Compound:
    return Compound(body, body[0].begin if body else place.begin, body[-1].end if body else place.end)


def continues(body: tuple[CStmt, ...]) -> bool:
    """Every path through the list ends the iteration."""
    last = body[-1] if body else None
    if isinstance(last, IfStmt) and last.orelse is not None:
        return continues(flatten((last.then,))) and continues(flatten((last.orelse,)))
    return isinstance(last, JumpStmt) and last.what == "continue"


def negated(condition: CExpr) -> CExpr:
    bare = strip(condition)
    if isinstance(bare, Un) and bare.op == "!":
        return bare.operand
    if isinstance(bare, Bin) and bare.op in ("&&", "||"):
        op = "||" if bare.op == "&&" else "&&"
        return replace(bare, op=op, left=negated(bare.left), right=negated(bare.right))
    if isinstance(bare, Bin) and bare.op in NEGATED and bare.left.ctype.kind == bare.right.ctype.kind == "int":
        return replace(bare, op=NEGATED[bare.op])
    return Un("!", condition, INT, condition.at)
