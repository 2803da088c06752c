"""Loops that advance by a variable (`for (it = 0; it < n; it += tile)`) as loops that count their iterations.

The iterator is then `0 + round * tile`. That is so where the variable is at least 1 (`ForStmt.positive`), which has to
be assumed and tested; with other values the loop does not end, or not as C allows it.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.analysis.exit_values import Amounts, Dead
from scheduler.frontend.analysis.induction import changed_in, inits_of, limit_of, start_before, take_start
from scheduler.frontend.analysis.loop_invariant import has_calls, is_loop_invariant
from scheduler.frontend.c_ast.arith import bits, is_unsigned
from scheduler.frontend.c_ast.clone import Substituted
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CExpr,
    CFunction,
    Compound,
    Cond,
    CStmt,
    CType,
    DeclStmt,
    ForStmt,
    Lit,
    Ref,
    ReturnStmt,
    Step,
    Variable,
    extents,
    is_loop,
    statements,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import LONG, as_type, fold
from scheduler.frontend.c_ast.jumps import own_jumps
from scheduler.frontend.c_ast.loop_header import step_by
from scheduler.frontend.c_ast.scalars import declared_inside, flatten, iterator_of, target_variable
from scheduler.frontend.passes.exits import breaks_on_errors
from scheduler.frontend.passes.normalize_loops import counted_loop, with_plain_header
from scheduler.frontend.passes.one_iterator import by_one_iterator
from scheduler.frontend.passes.opaque import opaque
from scheduler.frontend.passes.walk import FunctionPass


class SubstituteInductions(FunctionPass):
    """Loops with one iterator each, and loops inside loops that do not count as statements that stay as they are."""

    def __init__(self, function: CFunction, marked: frozenset[int]) -> None:
        super().__init__(function, marked)
        self.amounts = Amounts()
        declared = (*function.parameters, *declared_inside((function.body,)))
        sizes = (e for v in declared for extent in extents(v.ctype) for e in subexpressions(extent))
        self.sizes = frozenset(e.var for e in sizes if isinstance(e, Ref))  # of arrays: what changes them must be seen

    def rewrite(self, stmt: CStmt, before: list[CStmt], inside: bool) -> CStmt:
        if not is_loop(stmt):
            return stmt
        if (counted := counted_loop(stmt, before, self.marked)) is not None:
            loop, place = counted
            result = self._by_one_iterator(loop, before)
            if result is loop:
                return self._as_it_is(stmt, inside)
            if place is not None and place >= 0 and (variable := iterator_of(loop)) is not None:
                take_start(variable, before, place)
            return result
        if isinstance(stmt, ForStmt):
            if (rounds := by_iteration_number(stmt, self.dead)) is not None:
                return rounds
            if stmt.condition is not None and stmt.init is not None:
                result = self._by_one_iterator(stmt, before)
                if result is not stmt:
                    return result
                if stmt.begin not in self.marked and (plain := with_plain_header(stmt)) is not None:
                    first, loop = plain
                    parts = flatten((self._by_one_iterator(loop, [*before, *first]),), True)
                    return Compound((*first, *parts), stmt.begin, stmt.end, stmt)
        return self._as_it_is(stmt, inside)

    def _as_it_is(self, stmt: CStmt, inside: bool) -> CStmt:
        if isinstance(stmt, ForStmt) and inside and not stmt.foreign and not breaks_on_errors(stmt):
            return opaque(stmt) or stmt
        return stmt

    def _by_one_iterator(self, loop: ForStmt, before: list[CStmt]) -> CStmt:
        def start(variable: Variable) -> CExpr | None:
            found = start_before(variable, before, self.marked)
            return None if found is None else found[1]

        if loop.begin in self.marked or self.sizes.intersection(changed_in(loop)):
            return loop
        return by_one_iterator(loop, self.dead, self.amounts, start)


def by_iteration_number(loop: ForStmt, dead: Dead) -> CStmt | None:
    """The loop with an iterator that is 0, 1, 2, …; None where it is none that advances by a variable."""
    inits = inits_of(loop.init)
    if loop.foreign or loop.condition is None or loop.increment is None or inits is None or len(inits) > 1:
        return None
    own, stepped = target_variable(loop.increment), None
    if own is not None:
        stepped = step_by(loop.increment, own)
    if own is None or stepped is None or not _counts(own) or fold(stepped[0]) is not None:
        return None
    step, down = stepped
    changed = changed_in(loop)
    start, calls = inits.get(own), has_calls(loop)
    if start is None or changed.count(own) != 2 or not (isinstance(loop.init, DeclStmt) or dead(own)):
        return None
    op, limit = limit_of(loop.condition, own)
    if (
        limit is None
        or op[:1] != (">" if down else "<")
        or not all(_whole(e) and is_loop_invariant(e, set(changed), calls) for e in (start, step, limit))
    ):
        return None
    body = flatten((loop.body,), True)
    if any(True for _ in own_jumps(body)) or any(isinstance(s, ReturnStmt) for s in statements(loop)):
        return None
    at = loop.begin
    counter = Variable(f"{own.name}_round", LONG, "local", at)
    counter.init = Lit("0", 0, LONG, at)
    mine = Ref(counter, LONG, at)
    # Differences are made in the type of the comparison, so that it is seen whether they wrap.
    kind = LONG if not is_unsigned(limit.ctype.name) else CType("int", "unsigned long")
    wide = as_type(step, kind)
    first = as_type(as_type(start, own.ctype), kind)
    high, low = (first, limit) if down else (limit, first)
    distance = _sum("-", high, low, kind, at)
    more = Bin("-", wide, Lit("1", 1, kind, at), kind, at) if op in ("<", ">") else wide
    rounded: CExpr = Bin("/", Bin("+", distance, more, kind, at), wide, kind, at)
    if is_unsigned(kind.name) and fold(low) != 0:
        runs = Bin("<=", as_type(low, kind), as_type(high, kind), INT, at)
        rounded = Cond(runs, rounded, Lit("0", 0, kind, at), kind, at)
    moved = Bin("*", mine, as_type(step, LONG), LONG, at)
    place = moved if fold(start) == 0 and not down else _sum("-" if down else "+", start, moved, LONG, at)
    steps = Bin("*", as_type(rounded, LONG), as_type(step, LONG), LONG, at)
    behind = _sum("-" if down else "+", start, steps, LONG, at)
    copies = Substituted()
    lines = tuple(copies.stmt(stmt, {own: as_type(place, own.ctype)}) for stmt in body)
    written = replace(
        loop,
        init=DeclStmt((counter,), at, at),
        condition=Bin("<", mine, as_type(rounded, LONG), INT, at),
        increment=Step("++", mine, True, LONG, at),
        body=Compound(lines, loop.begin, loop.end),
        positive=step,
        left_at=as_type(behind, own.ctype),
    )
    return Compound((written,), loop.begin, loop.end, loop)


def _counts(variable: Variable) -> bool:
    kind = variable.ctype
    if kind.kind != "int" or kind.is_volatile or variable.address_taken or variable.storage not in ("local", "param"):
        return False
    return bits(kind.name) >= 32 and (bits(kind.name) == 64 or not is_unsigned(kind.name))


def _whole(expr: CExpr) -> bool:
    """An integer that `long` holds, as sizes are."""
    name = expr.ctype.name
    return expr.ctype.kind == "int" and name != "_Bool" and (bits(name) == 64 or not is_unsigned(name))


def _sum(op: str, left: CExpr, right: CExpr, kind: CType, at: int) -> CExpr:
    if fold(right) == 0:
        return as_type(left, kind)
    return Bin(op, as_type(left, kind), as_type(right, kind), kind, at)
