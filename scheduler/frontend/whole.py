"""Loops inside loops that do not count: what is inside them stays as it is, one statement with them.

That gives up the loops in there, so it is worth it only where a loop around can be run in parallel (`extract`).
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend import headers
from scheduler.frontend.csyntax import LOOPS, Compound, CStmt, ForStmt, IfStmt, OtherStmt
from scheduler.frontend.jumps import own_jumps
from scheduler.frontend.scalars import flatten
from scheduler.frontend.structure import changes_iterator, opaque


def taken_whole(stmt: CStmt, inside: bool = False, kept: bool = False) -> CStmt:
    """The statement with loops as they are kept; itself where there are none. `inside`: a loop is around, `kept`: one
    that does not count."""
    match stmt:
        case ForStmt():
            own = kept or (inside and not _counts(stmt))
            body = taken_whole(stmt.body, True, own)
            loop = stmt if body is stmt.body else replace(stmt, body=body)
            return (opaque(loop, True) or loop) if own and not stmt.foreign else loop
        case OtherStmt(what=what, body=held):
            parts = tuple(taken_whole(s, True, inside) if what in LOOPS else taken_whole(s, inside, kept) for s in held)
            return stmt if _same(parts, held) else replace(stmt, body=parts)
        case Compound(body=held):
            parts = tuple(taken_whole(s, inside, kept) for s in held)
            return stmt if _same(parts, held) else Compound(parts, stmt.begin, stmt.end)
        case IfStmt():
            then = taken_whole(stmt.then, inside, kept)
            orelse = None if stmt.orelse is None else taken_whole(stmt.orelse, inside, kept)
            return stmt if then is stmt.then and orelse is stmt.orelse else replace(stmt, then=then, orelse=orelse)
    return stmt


def _same(parts: tuple[CStmt, ...], others: tuple[CStmt, ...]) -> bool:
    return all(a is b for a, b in zip(parts, others, strict=True))


def _counts(loop: ForStmt) -> bool:
    body = flatten((loop.body,), True)
    return headers.counts(loop) and not changes_iterator(loop) and all(j.what != "break" for j in own_jumps(body))
