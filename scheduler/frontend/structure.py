"""Loops and jumps of a function written as the rest of the front end reads them, without changing what they do.

- `while`, `do` and `for (;;)` that count become `for` loops;
- `continue`, and `switch` without fall-through, become `if`s;
- a loop inside a loop that does not count, or that is left by `break`, becomes its start and a `while` (`for` in
  `OtherStmt.what`): one statement that stays as it is (`actions`).

Whatever cannot be rewritten stays, and is refused where it is read.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend import headers
from scheduler.frontend.csyntax import (
    LOOPS,
    Bin,
    CCall,
    CExpr,
    Compound,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    JumpStmt,
    OtherStmt,
    Ref,
    Set,
    Step,
    Strange,
    Variable,
    all_expressions,
    is_loop,
    statements,
    strip,
    subexpressions,
)
from scheduler.frontend.fold import fold
from scheduler.frontend.jumps import NEGATED, compound, continues, negated, own_jumps
from scheduler.frontend.scalar_uses import mentioned, sequence_use
from scheduler.frontend.scalars import flatten, stored_variables, target_variable
from scheduler.frontend.switches import branches

Marked = frozenset[int]
_MAX_REPEATED = 12  # statements that may be written twice where a `continue` skips them


def structured(body: Compound, marked: Marked) -> Compound:
    """The body of a function. `marked`: offsets of statements that belong to a pragma, which stay where they are."""
    return replace(body, body=_list(body.body, False, marked))


def _list(body: tuple[CStmt, ...], inside: bool, marked: Marked) -> tuple[CStmt, ...]:
    """`inside`: there is a loop around."""
    result: list[CStmt] = []
    for position, stmt in enumerate(body):
        stmt = _statement(stmt, inside, marked)
        if isinstance(stmt, ForStmt) or (isinstance(stmt, OtherStmt) and stmt.what in LOOPS):
            stmt = _loop(stmt, result, body[position + 1 :], inside, marked)
        result.append(stmt)
    return tuple(result)


def _statement(stmt: CStmt, inside: bool, marked: Marked) -> CStmt:
    """The statement with what is inside it rewritten."""
    match stmt:
        case Compound(body=body):
            return replace(stmt, body=_list(body, inside, marked))
        case IfStmt():
            orelse = None if stmt.orelse is None else _block(stmt.orelse, inside, marked)
            return replace(stmt, then=_block(stmt.then, inside, marked), orelse=orelse)
        case ForStmt():
            return replace(stmt, body=_without_continue(_block(stmt.body, True, marked), True))
        case OtherStmt(what="while" | "do"):
            body = tuple(_without_continue(_block(s, True, marked), False) for s in stmt.body)
            return replace(stmt, body=body)
        case OtherStmt(what="switch"):
            whole = replace(stmt, body=tuple(_block(s, inside, marked) for s in stmt.body))
            return branches(whole) or whole
        case OtherStmt():
            return replace(stmt, body=tuple(_block(s, inside, marked) for s in stmt.body))
    return stmt


def _block(stmt: CStmt, inside: bool, marked: Marked) -> CStmt:
    """A statement that is a body."""
    if isinstance(stmt, Compound):
        return _statement(stmt, inside, marked)
    found = _list((stmt,), inside, marked)
    return found[0] if len(found) == 1 else Compound(found, stmt.begin, stmt.end)


# ------------------------------------------------------------------------------------------ loops


def _loop(
    stmt: ForStmt | OtherStmt, before: list[CStmt], behind: tuple[CStmt, ...], inside: bool, marked: Marked
) -> CStmt:
    """A loop in a list; the statement that sets the iterator may be taken out of those `before`."""
    once = isinstance(stmt, OtherStmt) and stmt.what == "do" and fold(stmt.exprs[0]) == 0
    if once and isinstance(stmt, OtherStmt) and not any(True for _ in own_jumps(stmt.body)):
        return Compound(stmt.body, stmt.begin, stmt.end)
    counted = _counted(stmt, before, behind, marked)
    if counted is not None:
        return counted
    if isinstance(stmt, ForStmt) and inside and not stmt.foreign:
        return opaque(stmt) or stmt
    return stmt


def _counted(
    stmt: ForStmt | OtherStmt, before: list[CStmt], behind: tuple[CStmt, ...], marked: Marked
) -> ForStmt | None:
    """The loop as one with a complete header; None where it has one, or none can be found."""
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
    if increment is None:
        ahead = _step_ahead(condition) if bottom else None
        last = body[-1] if body else None
        if ahead is not None:
            condition, increment = ahead
        elif isinstance(last, ExprStmt):
            increment, body = strip(last.expr), body[:-1]
    variable = None if increment is None else target_variable(increment)
    in_header = isinstance(stmt, ForStmt) and stmt.increment is not None  # there a `continue` leads to it
    if any(j.what != "continue" or not in_header for j in own_jumps(body)):
        return None
    if variable is None or any(_sets(variable, s) for s in body):
        return None
    place = None
    if init is None:
        if sequence_use(variable, behind, False) == "read":
            return None
        found = _start(variable, before, marked)
        if found is None:
            return None
        place, value = found
        at = value.at
        init = ExprStmt(Set("=", Ref(variable, variable.ctype, at), value, variable.ctype, at), at, at)
    whole = Compound(tuple(body), stmt.begin, stmt.end)
    macro = isinstance(stmt, ForStmt) and stmt.macro
    loop = ForStmt(init, condition, increment, whole, stmt.begin, stmt.end, stmt.foreign, bottom, macro)
    if not headers.counts(loop):
        return None
    if place is not None:
        _take(variable, before, place)
    return loop


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
    return replace(test, left=step.operand), step


def _start(variable: Variable, before: list[CStmt], marked: Marked) -> tuple[int, CExpr] | None:
    """Where the variable is set before a loop, and to what, if that is still so at the loop."""
    changed: set[Variable] = set()
    for place in range(len(before) - 1, -1, -1):
        stmt = before[place]
        if stmt.begin in marked:
            return None
        value = _set_to(variable, stmt)
        if value is not None:
            parts = list(subexpressions(value))
            if any(isinstance(e, Set | Step | CCall | Strange) for e in parts):
                return None
            named = {e.var for e in parts if isinstance(e, Ref)}
            return None if named & changed or variable in named else (place, value)
        if not isinstance(stmt, ExprStmt | DeclStmt) or variable in mentioned(stmt):
            return None
        for expr in all_expressions(stmt):
            if isinstance(expr, CCall | Strange):
                return None
            if isinstance(expr, Set | Step):
                target = target_variable(expr)
                if target is None or target.address_taken:
                    return None
        changed |= stored_variables(stmt) | (set(stmt.variables) if isinstance(stmt, DeclStmt) else set())
    return None


def _set_to(variable: Variable, stmt: CStmt) -> CExpr | None:
    if isinstance(stmt, ExprStmt):
        expr = strip(stmt.expr)
        plain = isinstance(expr, Set) and expr.op == "=" and target_variable(expr) is variable
        return expr.right if plain and isinstance(expr, Set) else None
    if isinstance(stmt, DeclStmt) and len(stmt.variables) == 1 and stmt.variables[0] is variable:
        return variable.init
    return None


def _take(variable: Variable, before: list[CStmt], place: int) -> None:
    """The loop's header sets the variable from now on."""
    if isinstance(before[place], DeclStmt):
        variable.init = None
        variable.writes += 1
    else:
        del before[place]


def _sets(variable: Variable, stmt: CStmt) -> bool:
    return any(target_variable(e) is variable for e in all_expressions(stmt))


def opaque(loop: ForStmt) -> CStmt | None:
    """The start and a `while`, for a loop that does not count or is left in the middle; None for any other."""
    whole = _without_continue(loop.body, False)
    jumps = {s.what for s in own_jumps((whole,))}
    if headers.counts(_started(loop)) and "break" not in jumps:
        return None
    if loop.bottom or jumps - {"break"} or any(is_loop(s) for s in statements(whole)):
        return None
    body = [*flatten((whole,))]
    if loop.increment is not None:
        body.append(ExprStmt(loop.increment, loop.increment.at, loop.increment.at))
    conditions = () if loop.condition is None else (loop.condition,)
    inner = OtherStmt("for", conditions, (Compound(tuple(body), loop.begin, loop.end),), loop.begin, loop.end)
    return inner if loop.init is None else Compound((loop.init, inner), loop.begin, loop.end)


def _started(loop: ForStmt) -> ForStmt:
    """With a start, where only that is missing."""
    variable = None if loop.init is not None or loop.increment is None else target_variable(loop.increment)
    if variable is None:
        return loop
    own = Ref(variable, variable.ctype, loop.begin)
    return replace(loop, init=ExprStmt(Set("=", own, own, variable.ctype, loop.begin), loop.begin, loop.begin))


# --------------------------------------------------------------------------------------- continue


def _without_continue(body: CStmt, plain: bool) -> CStmt:
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
        if not any(here) and not _may_repeat(rest):
            return body
        then = _skipping(then if here[0] else (*then, *rest), False)
        orelse = _skipping(orelse if here[1] else (*orelse, *rest), False)
        end = rest[-1].end if rest else stmt.end
        if not then:
            return (*body[:position], IfStmt(negated(stmt.condition), compound(orelse, stmt), None, stmt.begin, end))
        other = compound(orelse, stmt) if orelse else None
        return (*body[:position], IfStmt(stmt.condition, compound(then, stmt), other, stmt.begin, end))
    return body


def _may_repeat(body: tuple[CStmt, ...]) -> bool:
    """It is little, and declares nothing."""
    parts = [s for stmt in body for s in statements(stmt)]
    return len(parts) <= _MAX_REPEATED and all(isinstance(s, ExprStmt | IfStmt | Compound | JumpStmt) for s in parts)
