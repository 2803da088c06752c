"""What variables that a loop moves, and its iterator, are behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler.frontend.analysis.induction import CanonicalInduction
from scheduler.frontend.c_ast.arith import is_integer
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CCall,
    CExpr,
    Cond,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    Lit,
    Ref,
    Set,
    Step,
    Un,
    Unmodelled,
    Variable,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import LONG, as_type, counted_in, fold, plus, promoted, times

Dead = Callable[[Variable], bool]


@dataclass(slots=True)
class Amounts:
    """What statements behind loops add: where the loop runs at all, the amount without that question."""

    certain: dict[int, tuple[CStmt, ForStmt, CExpr]] = field(default_factory=dict)  # by the identity of the statement


@dataclass(frozen=True, slots=True)
class InductionVariable:
    """A variable, what it is before the loop, what an iteration adds; `place`: the step's among the statements."""

    variable: Variable
    base: CExpr
    amount: CExpr
    down: bool
    place: int
    certain: CExpr | None = None  # the amount where the variable is used


def setting_behind(variable: Variable, value: CExpr, at: int) -> ExprStmt:
    place = Ref(variable, variable.ctype, at)
    return ExprStmt(Set("=", place, as_type(value, variable.ctype), variable.ctype, at), at, at)


def exit_values(
    moved: list[InductionVariable], count: CanonicalInduction, loop: ForStmt, dead: Dead, amounts: Amounts
) -> list[CStmt] | None:
    """What is added to the variables that are read behind the loop; None where that cannot be written down."""
    result: list[CStmt] = []
    for m in moved:
        own = isinstance(loop.init, DeclStmt) and m.variable in loop.init.variables
        if own or dead(m.variable):
            continue
        trips = rounds(count, loop.begin)
        if trips is None:
            return None
        at, kind = loop.end, counted_in(m.variable.ctype, m.amount)
        more = times(m.amount, trips[0], kind, at)
        if isinstance(m.base, Ref) and m.base.var is m.variable:
            target = Ref(m.variable, m.variable.ctype, at)
            op = "-=" if m.down else "+="
            tail = ExprStmt(Set(op, target, more, m.variable.ctype, at), at, at)
            amounts.certain[id(tail)] = (tail, loop, times(m.amount, trips[1], kind, at))
        else:
            tail = setting_behind(m.variable, plus(m.base, m.amount, more, m.variable.ctype, m.down, at), at)
        result.append(tail)
    return result


def rounds(count: CanonicalInduction, at: int) -> tuple[CExpr, CExpr] | None:
    """(the number of iterations, that number where it is not 0).

    Of a loop that takes the values that its header says (`scop.iterations`).
    """
    limit = count.limit
    if limit is None or count.variable.ctype.kind != "int" or not is_integer(limit.ctype.name):
        return None
    if any(isinstance(e, CCall | Set | Step | Unmodelled) for e in subexpressions(limit)):
        return None
    if any(isinstance(e, Ref) and e.var is count.variable for e in subexpressions(limit)):
        return None
    up = count.step > 0
    none = Lit("0", 0, LONG, at)
    test = Bin(count.op, as_type(count.start, limit.ctype), limit, INT, at)
    if count.wraps:  # from the start down to 0
        all_ = Bin("+", as_type(count.start, LONG), Lit("1", 1, LONG, at), LONG, at)
        return Cond(test, all_, none, LONG, at), all_
    low, high = (count.start, limit) if up else (limit, count.start)
    distance_ = Bin("-", as_type(high, LONG), as_type(low, LONG), LONG, at) if fold(low) != 0 else as_type(high, LONG)
    more = (1 if count.op in ("<=", ">=") else 0) + abs(count.step) - 1
    if more:
        distance_ = Bin("+", distance_, Lit(str(more), more, LONG, at), LONG, at)
    if abs(count.step) > 1:
        per = abs(count.step)
        distance_ = Bin("/", distance_, Lit(str(per), per, LONG, at), LONG, at)
    if count.op == "!=":
        return distance_, distance_
    return Cond(test, distance_, none, LONG, at), distance_


def last_value(count: CanonicalInduction, at: int) -> CExpr | None:
    """What the iterator is behind the loop."""
    trips = rounds(count, at)
    if trips is None:
        return None
    kind = promoted(count.variable.ctype)
    limit = count.limit
    assert limit is not None
    if abs(count.step) == 1 and isinstance(trips[0], Cond):
        one = Lit("1", 1, INT, at)
        end = limit
        if count.wraps:
            end = Un("-", as_type(one, kind), kind, at)
        elif count.op in ("<=", ">="):
            end = Bin("+" if count.step > 0 else "-", as_type(limit, kind), as_type(one, kind), kind, at)
        return Cond(trips[0].condition, as_type(end, kind), as_type(count.start, kind), kind, at)
    if count.op == "!=":
        return as_type(limit, kind)
    step = Lit(str(abs(count.step)), abs(count.step), INT, at)
    return Bin("+" if count.step > 0 else "-", as_type(count.start, kind), times(step, trips[0], kind, at), kind, at)
