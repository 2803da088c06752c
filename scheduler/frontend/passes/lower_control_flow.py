"""`continue` and `switch` as `if`s; what a case falls through into is written twice where it is little."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CCall,
    CExpr,
    Compound,
    Conv,
    CStmt,
    CType,
    ExprStmt,
    ForStmt,
    IfStmt,
    JumpStmt,
    OtherStmt,
    ReturnStmt,
    Set,
    Step,
    Unmodelled,
    statements,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import fold
from scheduler.frontend.c_ast.jumps import compound, continues, negated, own_jumps
from scheduler.frontend.c_ast.scalars import flatten
from scheduler.frontend.passes.walk import FunctionPass

_MAX_REPEATED = 12  # statements that may be written twice where a `continue` skips them


class LowerControlFlow(FunctionPass):
    """`continue`, `switch` and loops that run once."""

    def rewrite(self, stmt: CStmt, before: list[CStmt], inside: bool) -> CStmt:
        match stmt:
            case ForStmt():
                return replace(stmt, body=lower_continue(stmt.body, True))
            case OtherStmt(what="while" | "do" as what):
                body = tuple(lower_continue(s, False) for s in stmt.body)
                if what == "do" and fold(stmt.exprs[0]) == 0 and not any(True for _ in own_jumps(body)):
                    return Compound(body, stmt.begin, stmt.end)
                return replace(stmt, body=body)
            case OtherStmt(what="switch"):
                return lower_switch(stmt) or stmt
        return stmt


def lower_continue(body: CStmt, plain: bool) -> CStmt:
    """The body of a loop; what a `continue` skips goes into the other branch.

    `plain`: not where `if (…) continue;` stands in the body itself, which `scop.body` reads.
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


def lower_switch(stmt: OtherStmt) -> CStmt | None:
    """A `switch` as `if`s; None where that cannot be."""
    value = stmt.exprs[0] if len(stmt.exprs) == 1 else None
    if value is None or any(isinstance(e, Set | Step | CCall | Unmodelled) for e in subexpressions(value)):
        return None
    groups: list[tuple[list[CExpr | None], list[CStmt]]] = []
    for part in flatten(stmt.body):
        inner, new = part, True
        while isinstance(inner, OtherStmt) and inner.what == "case":
            if len(inner.exprs) > 1 or len(inner.body) != 1:
                return None
            if new:
                groups.append(([], []))
                new = False
            groups[-1][0].append(inner.exprs[0] if inner.exprs else None)
            inner = inner.body[0]
        if not groups:
            return None
        groups[-1][1].extend(flatten((inner,)))
    merged = _closed(groups)
    if merged is None:
        return None
    result: CStmt | None = None
    for labels, body in reversed(merged):
        if None in labels:
            result = compound(tuple(body), stmt)
    for labels, body in reversed(merged):
        if None in labels:
            continue
        test: CExpr | None = None
        for label in labels:
            assert label is not None
            one = Bin("==", value, _as(label, value.ctype), INT, label.at)
            test = one if test is None else Bin("||", test, one, INT, label.at)
        assert test is not None
        result = IfStmt(test, compound(tuple(body), stmt), result, stmt.begin, stmt.end)
    return result or Compound((), stmt.begin, stmt.end)


def _closed(
    groups: list[tuple[list[CExpr | None], list[CStmt]]],
) -> list[tuple[list[CExpr | None], list[CStmt]]] | None:
    """The cases with labels of the same body together and `break` left out; None where one leaves in another way.

    A case that runs into the next gets a copy of that one's body.
    """
    merged: list[tuple[list[CExpr | None], list[CStmt]]] = []
    labels: list[CExpr | None] = []
    for number, (own, written) in enumerate(groups):
        body = written
        labels = [*labels, *own]
        if not body and number + 1 < len(groups):
            continue
        for _, more in groups[number + 1 :]:
            if not _runs_on(body):
                break
            if not may_repeat(tuple(more)):
                return None
            body = [*body, *more]
        last = body[-1] if body else None
        if isinstance(last, JumpStmt) and last.what == "break":
            body = body[:-1]
        if any(j.what == "break" for j in own_jumps(body)) or any(_is_case(s) for b in body for s in statements(b)):
            return None
        merged.append((labels, body))
        labels = []
    return merged


def _runs_on(body: list[CStmt]) -> bool:
    last = body[-1] if body else None
    leaves = isinstance(last, ReturnStmt) or (isinstance(last, JumpStmt) and last.what == "break")
    return not leaves and not continues(tuple(body))


def _is_case(stmt: CStmt) -> bool:
    return isinstance(stmt, OtherStmt) and stmt.what == "case"


def _as(expr: CExpr, ctype: CType) -> CExpr:
    return expr if expr.ctype.name == ctype.name else Conv(expr, False, ctype, expr.at)
