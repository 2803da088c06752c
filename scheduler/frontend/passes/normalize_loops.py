"""Loops that count as `for` loops with a complete header: `while`, `do` and `for (;;)` that do.

Whatever cannot be rewritten stays, and is refused where it is read.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.analysis.induction import assignments, commas, start_before, take_start
from scheduler.frontend.c_ast import loop_header
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CExpr,
    Compound,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    JumpStmt,
    Lit,
    OtherStmt,
    Ref,
    Set,
    Step,
    Variable,
    is_loop,
    strip,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import as_type, fold, promoted
from scheduler.frontend.c_ast.jumps import NEGATED, negated, own_jumps
from scheduler.frontend.c_ast.scalars import flatten, iterator_of, target_variable
from scheduler.frontend.passes.opaque import sets
from scheduler.frontend.passes.walk import FunctionPass


class NormalizeLoops(FunctionPass):
    """Loops that count as `for` loops with a complete header, where nobody misses what is taken out for that."""

    def rewrite(self, stmt: CStmt, before: list[CStmt], inside: bool) -> CStmt:
        if not is_loop(stmt):
            return stmt
        stmt = _asking(stmt)
        found = counted_loop(stmt, before, self.marked)
        if found is None:
            return stmt
        loop, place = found
        variable = iterator_of(loop)
        if variable is not None and (place is None or (place >= 0 and not self.dead(variable))):
            return stmt  # it has no start of its own, or what the iterator is behind it is read
        if variable is not None and place is not None and place >= 0:
            take_start(variable, before, place)
        return loop


def _asking(stmt: ForStmt | OtherStmt) -> ForStmt | OtherStmt:
    """`i != 0` where the condition of a loop is `i`."""
    tests = stmt.exprs if isinstance(stmt, OtherStmt) else (stmt.condition,)
    test = tests[0] if len(tests) == 1 else None
    if not isinstance(test, Ref) or test.ctype.kind != "int" or test.ctype.name == "_Bool":
        return stmt
    zero = as_type(Lit("0", 0, INT, test.at), promoted(test.ctype))
    asked = Bin("!=", as_type(test, promoted(test.ctype)), zero, INT, test.at)
    return replace(stmt, condition=asked) if isinstance(stmt, ForStmt) else replace(stmt, exprs=(asked,))


def counted_loop(
    stmt: ForStmt | OtherStmt, before: list[CStmt], marked: frozenset[int]
) -> tuple[ForStmt, int | None] | None:
    """The loop as one with a complete header, and where before it the iterator is set: -1 for in its header, None for
    nowhere (it starts at what it is).

    None where the loop has a complete header, or none can be found.
    """
    if isinstance(stmt, ForStmt):
        condition, increment, init, bottom = stmt.condition, stmt.increment, stmt.init, False
        body = list(flatten((stmt.body,)))
        if stmt.foreign or (condition is not None and increment is not None and init is not None):
            return None
    else:
        condition, increment, init, bottom = stmt.exprs[0], None, None, stmt.what == "do"
        body = list(flatten(stmt.body))
    if condition is None or (fold(condition) or 0) != 0:
        if not bottom and body and (left := _leaves(body[0])) is not None:
            condition, body = negated(left), body[1:]
        elif increment is None and body and (left := _leaves(body[-1])) is not None:
            condition, body, bottom = negated(left), body[:-1], True
        else:
            return None
    counting = None if bottom or increment is not None else loop_header.counting_test(condition)
    first = None  # what the first test adds to the start
    if increment is None and counting is None:
        ahead = _step_ahead(condition)
        last = body[-1] if body else None
        if ahead is not None:
            condition, increment = ahead
            first = None if bottom else increment
        elif isinstance(last, ExprStmt):
            increment, body = strip(last.expr), body[:-1]
    if isinstance(increment, Bin) and init is None and not any(True for _ in own_jumps(body)):
        increment, others = _alone(increment, condition)
        body += [ExprStmt(other, stmt.begin, stmt.end) for other in others]
    step = increment if increment is not None else counting
    variable = None if step is None else target_variable(step)
    in_header = isinstance(stmt, ForStmt) and stmt.increment is not None  # there a `continue` leads to it
    if any(j.what != "continue" or not in_header for j in own_jumps(body)):
        return None
    if variable is None or any(sets(variable, s) for s in body):
        return None
    place: int | None = -1
    if init is None:
        found = start_before(variable, before, marked)
        place, value = found or (None, Ref(variable, variable.ctype, stmt.begin))
        at = value.at
        if isinstance(first, Step):
            kind, one = promoted(variable.ctype), Lit("1", 1, INT, at)
            value = Bin(first.op[0], as_type(value, kind), as_type(one, kind), kind, at)
        init = ExprStmt(Set("=", Ref(variable, variable.ctype, at), value, variable.ctype, at), at, at)
    all_of_it = isinstance(stmt, ForStmt) and tuple(body) == flatten((stmt.body,))
    text = stmt.body if isinstance(stmt, ForStmt) and all_of_it else stmt
    whole = Compound(tuple(body), text.begin, text.end)
    macro = isinstance(stmt, ForStmt) and stmt.macro
    loop = ForStmt(init, condition, increment, whole, stmt.begin, stmt.end, stmt.foreign, bottom, macro)
    return (loop, place) if loop_header.counts(loop) else None


def with_plain_header(loop: ForStmt) -> tuple[list[CStmt], ForStmt] | None:
    """What the header does besides counting, as statements: (those in front of the loop, the loop).

    `for (i = 0, sum = 0.0; i < n; i++, x += dx) …` is `sum = 0.0; for (i = 0; i < n; i++) { … x += dx; }`. None where
    there is nothing, where it depends on what the loop counts with, or where a `continue` leads to it.
    """
    steps, condition = commas(loop.increment), loop.condition
    if loop.foreign or loop.macro or condition is None:
        return None
    tested = {e.var for e in subexpressions(condition) if isinstance(e, Ref)}
    counting = [e for e in steps if target_variable(e) in tested]
    own = target_variable(counting[0]) if len(counting) == 1 else None
    if own is None or any(mentions(own, e) for e in steps if e is not counting[0]):
        return None
    behind = [ExprStmt(e, loop.end, loop.end) for e in steps if e is not counting[0]]
    if behind and any(True for _ in own_jumps((loop.body,))):
        return None
    found = _started(loop, own)
    if found is None or not (found[0] or behind):
        return None
    before, init = found
    body = Compound((*flatten((loop.body,)), *behind), loop.body.begin, loop.body.end) if behind else loop.body
    return before, replace(loop, init=init, increment=counting[0], body=body)


def _started(loop: ForStmt, own: Variable) -> tuple[list[CStmt], CStmt | None] | None:
    """What the header sets in front of the loop, and where it starts its iterator; None where these depend on it."""
    init, at = loop.init, loop.begin
    if isinstance(init, DeclStmt) and own in init.variables:
        place = init.variables.index(own)
        first, rest = init.variables[:place], init.variables[place + 1 :]
        behind = [v.init for v in rest if v.init is not None]
        if own.init is None or any(mentions(own, e) for e in behind) or any(mentions(v, own.init) for v in rest):
            return None
        others = (*first, *rest)
        return [DeclStmt(others, at, at)] if others else [], replace(init, variables=(own,))
    if not isinstance(init, ExprStmt):
        return None
    parts = assignments(init.expr)
    mine = [k for k, e in enumerate(parts) if target_variable(e) is own]
    if len(mine) != 1 or not all(isinstance(e, Set) for e in parts):
        return None
    start = parts[mine[0]]
    assert isinstance(start, Set)
    later = parts[mine[0] + 1 :]
    if start.op != "=" or any(mentions(own, e) for e in parts if e is not start):
        return None
    if any((v := target_variable(e)) is None or mentions(v, start.right) for e in later):
        return None
    return [ExprStmt(e, at, at) for e in parts if e is not start], ExprStmt(start, init.begin, init.end)


def mentions(variable: Variable, expr: CExpr) -> bool:
    return any(isinstance(e, Ref) and e.var is variable for e in subexpressions(expr))


def _alone(increment: CExpr, condition: CExpr) -> tuple[CExpr, list[CExpr]]:
    """The step of what the condition tests, and the others beside it, which do not look at that."""
    steps = commas(increment)
    tested = {e.var for e in subexpressions(condition) if isinstance(e, Ref)}
    own = [step for step in steps if target_variable(step) in tested]
    others = [step for step in steps if step not in own]
    if len(own) != 1 or any(
        isinstance(e, Ref) and e.var is target_variable(own[0]) for other in others for e in subexpressions(other)
    ):
        return increment, []
    return own[0], others


def _leaves(stmt: CStmt) -> CExpr | None:
    """The condition of `if (…) break;`"""
    if isinstance(stmt, IfStmt) and stmt.orelse is None:
        then = flatten((stmt.then,))
        if len(then) == 1 and isinstance(then[0], JumpStmt) and then[0].what == "break":
            return stmt.condition
    return None


def _step_ahead(condition: CExpr) -> tuple[CExpr, CExpr] | None:
    """(`i < n`, `++i`) of `++i < n`."""
    test = strip(condition)
    step = strip(test.left) if isinstance(test, Bin) and test.op in NEGATED else None
    if not isinstance(test, Bin) or not isinstance(step, Step) or not step.prefix or not isinstance(step.operand, Ref):
        return None
    return replace(test, left=as_type(step.operand, test.left.ctype)), step
