"""Pointers to structures that a function follows on its way to a statement: there they can be followed, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler.frontend.c_ast.csyntax import (
    RECORD_COPY,
    RECORD_VALUE,
    Bin,
    CCall,
    CExpr,
    CFunction,
    Compound,
    Cond,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Member,
    OtherStmt,
    Ref,
    Un,
    Unmodelled,
    Variable,
    operands,
    own_expressions,
    strip,
    whole_expressions,
)

_ENDS = re.compile(r"free|realloc|delete|destroy|release|close|unmap", re.IGNORECASE)


def dereferenced_before(function: CFunction, offset: int) -> frozenset[Variable]:
    """Parameters and local variables, pointers that are never changed, of which every way from the function's begin
    to the statement at the offset reads or writes a member; none that may have been freed by then.
    """
    if function.has_goto or not function.begin <= offset < function.end:
        return frozenset()
    found = {v for expr in _before(function.body, offset) for v in _followed(expr)}
    ended = {
        argument.var
        for expr in whole_expressions(function.body)
        if isinstance(expr, CCall) and _ENDS.search(expr.name)
        for argument in map(strip, expr.arguments)
        if isinstance(argument, Ref)
    }
    return frozenset(
        v for v in found - ended if v.storage in ("param", "local") and v.writes == 0 and not v.address_taken
    )


def _before(stmt: CStmt, offset: int) -> Iterator[CExpr]:
    """What is evaluated whenever control comes from the begin of a statement to the offset in it."""
    if isinstance(stmt, Compound):
        for inner in stmt.body:
            if inner.begin <= offset < inner.end:
                yield from _before(inner, offset)
                return
            if inner.end <= offset:
                yield from _always(inner)
    elif isinstance(stmt, IfStmt):
        yield stmt.condition
        for branch in (stmt.then, stmt.orelse):
            if branch is not None and branch.begin <= offset < branch.end:
                yield from _before(branch, offset)
    elif isinstance(stmt, ForStmt) and stmt.begin < offset and not stmt.foreign:
        yield from _entered(stmt)
        yield from _before(stmt.body, offset)


def _entered(loop: ForStmt) -> Iterator[CExpr]:
    if loop.init is not None:
        yield from _always(loop.init)
    if loop.condition is not None and not loop.bottom:
        yield loop.condition


def _always(stmt: CStmt) -> Iterator[CExpr]:
    """What is evaluated whenever a statement ends and the next one begins."""
    match stmt:
        case ExprStmt() | DeclStmt():
            yield from own_expressions(stmt)
        case IfStmt(condition=condition):
            yield condition
        case ForStmt():
            yield from _entered(stmt)
        case OtherStmt(what="while", exprs=exprs):
            yield from exprs
        case Compound(body=body):
            for inner in body:
                yield from _always(inner)
        case _:
            return


def _followed(expr: CExpr) -> Iterator[Variable]:
    """Pointers of whose structures a member is read or written whenever the expression is evaluated."""
    if isinstance(expr, Unmodelled) and expr.what not in (RECORD_VALUE, RECORD_COPY):
        return
    if isinstance(expr, Bin) and expr.op in ("&&", "||"):
        yield from _followed(expr.left)
    elif isinstance(expr, Cond):
        yield from _followed(expr.condition)
    elif isinstance(expr, Un) and expr.op == "&":
        return
    else:
        if isinstance(expr, Member) and expr.arrow:
            base = strip(expr.base)
            if isinstance(base, Ref) and expr.ctype.kind != "array":
                yield base.var
        for operand in operands(expr):
            yield from _followed(operand)
