"""Loops inside loops that do not count: what is inside them stays as it is, one statement with them.

That gives up the loops in there, so it is worth it only where a loop around can be run in parallel (`scop.detection`).
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast import loop_header
from scheduler.frontend.c_ast.csyntax import (
    LOOPS,
    Compound,
    CStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    OtherStmt,
    Ref,
    Set,
    Variable,
    all_expressions,
    is_loop,
    statements,
)
from scheduler.frontend.c_ast.jumps import own_jumps
from scheduler.frontend.c_ast.scalars import flatten, iterator_of, target_variable
from scheduler.frontend.passes.lower_control_flow import lower_continue


def with_opaque_statements(stmt: CStmt, known: dict[int, bool], inside: bool = False, kept: bool = False) -> CStmt:
    """The statement with loops as they are kept; itself where there are none.

    `known`: whether loops count, by `id`. `inside`: a loop is around, `kept`: one that does not count.
    """
    match stmt:
        case ForStmt():
            own = kept or (inside and not _counts(stmt, known))
            body = with_opaque_statements(stmt.body, known, True, own)
            loop = stmt if body is stmt.body else replace(stmt, body=body)
            return (opaque(loop, True) or loop) if own and not stmt.foreign else loop
        case OtherStmt(what=what, body=held):
            parts = tuple(
                with_opaque_statements(s, known, True, inside)
                if what in LOOPS
                else with_opaque_statements(s, known, inside, kept)
                for s in held
            )
            return stmt if _same(parts, held) else replace(stmt, body=parts)
        case Compound(body=held):
            parts = tuple(with_opaque_statements(s, known, inside, kept) for s in held)
            return stmt if _same(parts, held) else Compound(parts, stmt.begin, stmt.end)
        case IfStmt():
            then = with_opaque_statements(stmt.then, known, inside, kept)
            orelse = None if stmt.orelse is None else with_opaque_statements(stmt.orelse, known, inside, kept)
            return stmt if then is stmt.then and orelse is stmt.orelse else replace(stmt, then=then, orelse=orelse)
    return stmt


def _same(parts: tuple[CStmt, ...], others: tuple[CStmt, ...]) -> bool:
    return all(a is b for a, b in zip(parts, others, strict=True))


def _counts(loop: ForStmt, known: dict[int, bool]) -> bool:
    if id(loop) not in known:
        body = flatten((loop.body,), True)
        stays = loop_header.counts(loop) and not changes_iterator(loop)
        known[id(loop)] = stays and all(j.what != "break" for j in own_jumps(body))
    return known[id(loop)]


def opaque(loop: ForStmt, whole: bool = False) -> CStmt | None:
    """The start and a `while`, for a loop that does not count or is left in the middle; None for any other.

    `whole`: of any loop, with the loops inside it, which are kept already.
    """
    body = lower_continue(loop.body, False)
    jumps = {s.what for s in own_jumps((body,))}
    if not whole and loop_header.counts(_started(loop)) and "break" not in jumps and not changes_iterator(loop):
        return None
    inner = [s for s in statements(body) if is_loop(s)]
    if loop.bottom or jumps - {"break"} or (any(isinstance(s, ForStmt) for s in inner) if whole else inner):
        return None
    parts = [*flatten((body,), True)]
    if loop.increment is not None:
        parts.append(ExprStmt(loop.increment, loop.increment.at, loop.increment.at))
    conditions = () if loop.condition is None else (loop.condition,)
    kept = OtherStmt("for", conditions, (Compound(tuple(parts), loop.begin, loop.end),), loop.begin, loop.end)
    return kept if loop.init is None else Compound((loop.init, kept), loop.begin, loop.end)


def changes_iterator(loop: ForStmt) -> bool:
    """Not only its header sets what the loop counts with."""
    variable = iterator_of(loop)
    return variable is not None and sets(variable, loop.body)


def _started(loop: ForStmt) -> ForStmt:
    """With a start, where only that is missing."""
    variable = None if loop.init is not None or loop.increment is None else target_variable(loop.increment)
    if variable is None:
        return loop
    own = Ref(variable, variable.ctype, loop.begin)
    return replace(loop, init=ExprStmt(Set("=", own, own, variable.ctype, loop.begin), loop.begin, loop.begin))


def sets(variable: Variable, stmt: CStmt) -> bool:
    return any(target_variable(e) is variable for e in all_expressions(stmt))
