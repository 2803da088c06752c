"""A function as it can stand inside a loop: what returns out of its loops leaves them by `break`, and loops that are
left in the middle are one statement.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

from scheduler.frontend.c_ast.csyntax import (
    INT,
    CFunction,
    Compound,
    CStmt,
    CType,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Items,
    JumpStmt,
    Lit,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Variable,
    inner_statements,
    is_loop,
    statements,
)
from scheduler.frontend.c_ast.folding import fold
from scheduler.frontend.c_ast.jumps import own_jumps
from scheduler.frontend.c_ast.scalars import flatten
from scheduler.frontend.passes.opaque import opaque


def inlinable(function: CFunction) -> tuple[CStmt, ...]:
    """The statements of a function; where a loop still holds a `return`, nothing could be done about it."""
    body = function.body.body
    if any(is_loop(s) for s in statements(function.body)):
        left = _Left(function.name)
        with contextlib.suppress(_Unclear):
            body = left.list_(body, False)
        body = _closed_loops(body)
    return flatten(body)


def _closed_loops(body: tuple[CStmt, ...]) -> tuple[CStmt, ...]:
    """Statements that come to stand inside a loop, with loops that do not count or are left as one statement each."""
    return tuple(map(_closed, body))


def _closed(stmt: CStmt) -> CStmt:
    match stmt:
        case Compound(body=body):
            return replace(stmt, body=_closed_loops(body))
        case IfStmt():
            orelse = None if stmt.orelse is None else _closed(stmt.orelse)
            return replace(stmt, then=_closed(stmt.then), orelse=orelse)
        case ForStmt():
            loop = replace(stmt, body=_closed(stmt.body))
            return (None if stmt.foreign else opaque(loop)) or loop
        case OtherStmt():
            return replace(stmt, body=_closed_loops(stmt.body))
    return stmt


class _Unclear(Exception):
    """It is not clear what a `break` would leave."""


class _Left:
    def __init__(self, name: str) -> None:
        self.name = name
        self.places: tuple[Ref, ...] = ()  # for what is returned
        self.single = True
        self.done: Ref | None = None

    def list_(self, body: tuple[CStmt, ...], inside: bool) -> tuple[CStmt, ...]:
        return tuple(s for stmt in body for s in self._stmt(stmt, inside))

    def _block(self, stmt: CStmt, inside: bool) -> CStmt:
        found = self._stmt(stmt, inside)
        return found[0] if len(found) == 1 else Compound(tuple(found), stmt.begin, stmt.end)

    def _stmt(self, stmt: CStmt, inside: bool) -> list[CStmt]:
        """`inside`: of a loop; the `return`s there become `break`s."""
        match stmt:
            case Compound(body=body):
                return [replace(stmt, body=self.list_(body, inside))]
            case IfStmt():
                orelse = None if stmt.orelse is None else self._block(stmt.orelse, inside)
                return [replace(stmt, then=self._block(stmt.then, inside), orelse=orelse)]
            case ReturnStmt() if inside:
                return self._leaving(stmt)
            case ForStmt() | OtherStmt() if is_loop(stmt) and _returns(stmt):
                return self._loop(stmt, inside)
            case OtherStmt() if _returns(stmt):
                raise _Unclear
        return [stmt]

    def _loop(self, stmt: ForStmt | OtherStmt, inside: bool) -> list[CStmt]:
        at, begin = stmt.begin, stmt.begin
        if not inside:
            self.places, self.done = (), Ref(Variable("left", INT, "local", at, init=_number(0, at), writes=1), INT, at)
        new: CStmt
        if isinstance(stmt, ForStmt):
            if stmt.bottom or stmt.foreign:
                raise _Unclear
            new = replace(stmt, body=self._block(stmt.body, True))
        else:
            new = replace(stmt, body=tuple(self._block(s, True) for s in stmt.body))
        assert self.done is not None
        if inside:
            return [new, IfStmt(self.done, JumpStmt("break", begin, begin), None, begin, begin)]
        values = self.places
        whole = CType("record", "")
        value = None if not values else values[0] if self.single else Items(values, whole, at)
        after: CStmt = ReturnStmt(value, begin, begin)
        if not _is_endless(stmt):
            after = IfStmt(self.done, after, None, begin, begin)
        declared = (self.done.var, *(place.var for place in values))
        return [*(DeclStmt((v,), at, at) for v in declared), new, after]

    def _leaving(self, stmt: ReturnStmt) -> list[CStmt]:
        begin, end, value = stmt.begin, stmt.end, stmt.value
        self.single = not isinstance(value, Items)
        given = () if value is None else value.items if isinstance(value, Items) else (value,)
        if not self.places:
            plain = [replace(v.ctype, is_const=False) for v in given]
            made = (Variable(f"{self.name}_left", t, "local", begin, writes=1) for t in plain)
            self.places = tuple(Ref(v, v.ctype, begin) for v in made)
        types = [p.ctype.name for p in self.places]
        if types != [v.ctype.name for v in given] or not all(v.ctype.is_scalar for v in given):
            raise _Unclear
        assert self.done is not None
        sets = [Set("=", p, v, p.ctype, begin) for p, v in zip(self.places, given, strict=True)]
        sets.append(Set("=", self.done, _number(1, begin), INT, begin))
        return [*(ExprStmt(s, begin, end) for s in sets), JumpStmt("break", begin, end)]


def _returns(stmt: CStmt) -> bool:
    return any(isinstance(s, ReturnStmt) for s in statements(stmt))


def _is_endless(loop: ForStmt | OtherStmt) -> bool:
    """Nothing but a `return` leaves it."""
    condition = loop.condition if isinstance(loop, ForStmt) else (loop.exprs or (None,))[0]
    breaks = any(j.what != "continue" for j in own_jumps(inner_statements(loop)))
    return not breaks and (condition is None or bool(fold(condition)))


def _number(value: int, at: int) -> Lit:
    return Lit(str(value), value, INT, at)
