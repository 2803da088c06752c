"""`continue` as `if`s."""

from __future__ import annotations

from scheduler.frontend.csyntax import Compound, CStmt, ExprStmt, IfStmt, JumpStmt, statements
from scheduler.frontend.jumps import compound, continues, negated, own_jumps
from scheduler.frontend.scalars import flatten

_MAX_REPEATED = 12  # statements that may be written twice where a `continue` skips them


def without_continue(body: CStmt, plain: bool) -> CStmt:
    """The body of a loop; what a `continue` skips goes into the other branch.

    `plain`: not where `if (…) continue;` stands in the body itself, which `bodies.nodes` reads.
    """
    if not any(j.what == "continue" for j in own_jumps((body,))):
        return body
    return Compound(_skipping(flatten((body,)), plain), body.begin, body.end)


def _skipping(body: tuple[CStmt, ...], plain: bool) -> tuple[CStmt, ...]:
    """A statement list behind which nothing is left to do in the iteration."""
    for position, stmt in enumerate(body):
        if isinstance(stmt, JumpStmt) and stmt.what == "continue":
            return body[:position]
        if not isinstance(stmt, IfStmt) or not any(j.what == "continue" for j in own_jumps((stmt,))):
            continue
        then = flatten((stmt.then,))
        orelse = () if stmt.orelse is None else flatten((stmt.orelse,))
        rest = body[position + 1 :]
        if plain and not orelse and len(then) == 1 and continues(then):
            return (*body[: position + 1], *_skipping(rest, True))
        here = continues(then), continues(orelse)
        if not any(here) and not may_repeat(rest):
            return body
        then = _skipping(then if here[0] else (*then, *rest), False)
        orelse = _skipping(orelse if here[1] else (*orelse, *rest), False)
        end = rest[-1].end if rest else stmt.end
        if not then:
            return (*body[:position], IfStmt(negated(stmt.condition), compound(orelse, stmt), None, stmt.begin, end))
        other = compound(orelse, stmt) if orelse else None
        return (*body[:position], IfStmt(stmt.condition, compound(then, stmt), other, stmt.begin, end))
    return body


def may_repeat(body: tuple[CStmt, ...]) -> bool:
    """It is little, and declares nothing."""
    parts = [s for stmt in body for s in statements(stmt)]
    return len(parts) <= _MAX_REPEATED and all(isinstance(s, ExprStmt | IfStmt | Compound | JumpStmt) for s in parts)
