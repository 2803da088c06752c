"""Loops and jumps of a function written as the rest of the front end reads them, without changing what they do.

- `while`, `do` and `for (;;)` that count become `for` loops;
- `continue` and `switch` become `if`s;
- a loop inside a loop that does not count, or that is left by `break`, becomes its start and a `while` (`for` in
  `OtherStmt.what`): one statement that stays as it is (`scop.actions`).

Whatever cannot be rewritten stays, and is refused where it is read.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.analysis.exit_values import Amounts
from scheduler.frontend.analysis.induction import changed_in, start_before, take_start
from scheduler.frontend.c_ast import loop_header
from scheduler.frontend.c_ast.csyntax import (
    INT,
    LOOPS,
    Bin,
    CExpr,
    CFunction,
    Compound,
    CStmt,
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
    extents,
    strip,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import as_type, fold, promoted
from scheduler.frontend.c_ast.jumps import NEGATED, negated, own_jumps
from scheduler.frontend.c_ast.liveness import Frame, dead_after
from scheduler.frontend.c_ast.scalars import declared_inside, flatten, iterator_of, target_variable
from scheduler.frontend.passes.hoist_side_effects import apart
from scheduler.frontend.passes.lower_control_flow import lower_continue, lower_switch
from scheduler.frontend.passes.opaque import opaque, sets
from scheduler.frontend.passes.substitute_inductions import substitute_inductions
from scheduler.frontend.passes.symbolic_steps import by_iteration_number

Marked = frozenset[int]


def normalize_loops(function: CFunction, marked: Marked) -> Compound:
    """The body of a function. `marked`: offsets of statements that belong to a pragma, which stay where they are."""
    body = function.body
    return replace(body, body=_NormalizeLoops(function, marked).list_(body.body, None, False))


class _NormalizeLoops:
    """`frames`: where in the function, as it was, the statement stands that is looked at."""

    def __init__(self, function: CFunction, marked: Marked) -> None:
        self.function = function
        self.marked = marked
        self.frames: list[Frame] = []
        self.amounts = Amounts()
        declared = (*function.parameters, *declared_inside((function.body,)))
        sizes = (e for v in declared for extent in extents(v.ctype) for e in subexpressions(extent))
        self.sizes = frozenset(e.var for e in sizes if isinstance(e, Ref))  # of arrays: what changes them must be seen

    def list_(self, body: tuple[CStmt, ...], owner: CStmt | None, inside: bool) -> tuple[CStmt, ...]:
        """`inside`: there is a loop around."""
        result: list[CStmt] = []
        for position, whole in enumerate(body):
            self.frames.append(Frame(owner, body, position, position))
            for stmt in (whole,) if whole.begin in self.marked else apart(whole):
                stmt = self.statement(stmt, inside)
                if isinstance(stmt, ForStmt) or (isinstance(stmt, OtherStmt) and stmt.what in LOOPS):
                    stmt = self.loop(stmt, result, inside)
                result.append(stmt)
            self.frames.pop()
        return tuple(result)

    def statement(self, stmt: CStmt, inside: bool) -> CStmt:
        """The statement with what is inside it rewritten."""
        match stmt:
            case Compound(body=body):
                return replace(stmt, body=self.list_(body, stmt, inside))
            case IfStmt():
                orelse = None if stmt.orelse is None else self.block(stmt.orelse, stmt, inside)
                return replace(stmt, then=self.block(stmt.then, stmt, inside), orelse=orelse)
            case ForStmt():
                return replace(stmt, body=lower_continue(self.block(stmt.body, stmt, True), True))
            case OtherStmt(what="while" | "do"):
                body = tuple(lower_continue(self.block(s, stmt, True), False) for s in stmt.body)
                return replace(stmt, body=body)
            case OtherStmt(what="switch"):
                whole = replace(stmt, body=tuple(self.block(s, stmt, inside) for s in stmt.body))
                return lower_switch(whole) or whole
            case OtherStmt():
                return replace(stmt, body=tuple(self.block(s, stmt, inside) for s in stmt.body))
        return stmt

    def block(self, stmt: CStmt, owner: CStmt, inside: bool) -> CStmt:
        """A statement that is a body."""
        if isinstance(stmt, Compound):
            return replace(stmt, body=self.list_(stmt.body, owner, inside))
        found = self.list_((stmt,), owner, inside)
        return found[0] if len(found) == 1 else Compound(found, stmt.begin, stmt.end)

    def loop(self, stmt: ForStmt | OtherStmt, before: list[CStmt], inside: bool) -> CStmt:
        """A loop in a list; the statement that sets the iterator may be taken out of those `before`."""
        stmt = _asking(stmt)
        once = isinstance(stmt, OtherStmt) and stmt.what == "do" and fold(stmt.exprs[0]) == 0
        if once and isinstance(stmt, OtherStmt) and not any(True for _ in own_jumps(stmt.body)):
            return Compound(stmt.body, stmt.begin, stmt.end)
        counted = _counted(stmt, before, self.marked)
        if counted is not None:
            found, place = counted
            result, variable = self.moving(found, before), iterator_of(found)
            taken = place is not None and place >= 0
            if result is found and variable is not None and (place is None or (taken and not self.dead(variable))):
                return self.as_it_is(stmt, inside)  # it has no start of its own, or nobody sets the iterator behind it
            if taken and variable is not None and place is not None:
                take_start(variable, before, place)
            return result
        if isinstance(stmt, ForStmt) and (rounds := by_iteration_number(stmt, self.dead)) is not None:
            return rounds
        if isinstance(stmt, ForStmt) and stmt.condition is not None and stmt.init is not None:
            result = self.moving(stmt, before)
            if result is not stmt:
                return result
        return self.as_it_is(stmt, inside)

    def as_it_is(self, stmt: ForStmt | OtherStmt, inside: bool) -> CStmt:
        if isinstance(stmt, ForStmt) and inside and not stmt.foreign:
            return opaque(stmt) or stmt
        return stmt

    def moving(self, loop: ForStmt, before: list[CStmt]) -> CStmt:
        def start(variable: Variable) -> CExpr | None:
            found = start_before(variable, before, self.marked)
            return None if found is None else found[1]

        if loop.begin in self.marked or self.sizes.intersection(changed_in(loop)):
            return loop
        return substitute_inductions(loop, self.dead, self.amounts, start)

    def dead(self, variable: Variable) -> bool:
        return dead_after(variable, self.frames, self.function)


# ------------------------------------------------------------------------------------------ loops


def _asking(stmt: ForStmt | OtherStmt) -> ForStmt | OtherStmt:
    """`i != 0` where the condition of a loop is `i`."""
    tests = stmt.exprs if isinstance(stmt, OtherStmt) else (stmt.condition,)
    test = tests[0] if len(tests) == 1 else None
    if not isinstance(test, Ref) or test.ctype.kind != "int" or test.ctype.name == "_Bool":
        return stmt
    zero = as_type(Lit("0", 0, INT, test.at), promoted(test.ctype))
    asked = Bin("!=", as_type(test, promoted(test.ctype)), zero, INT, test.at)
    return replace(stmt, condition=asked) if isinstance(stmt, ForStmt) else replace(stmt, exprs=(asked,))


def _counted(stmt: ForStmt | OtherStmt, before: list[CStmt], marked: Marked) -> tuple[ForStmt, int | None] | None:
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
    whole = Compound(tuple(body), stmt.begin, stmt.end)
    macro = isinstance(stmt, ForStmt) and stmt.macro
    loop = ForStmt(init, condition, increment, whole, stmt.begin, stmt.end, stmt.foreign, bottom, macro)
    return (loop, place) if loop_header.counts(loop) else None


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
