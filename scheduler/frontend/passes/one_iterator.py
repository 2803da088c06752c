"""Variables that advance by the same amount in every iteration of a loop, as functions of its iterator.

In `for (i = 0, j = n - 1; i < n; i++, j--)` j is `n - 1 - i`, `*p++` is `p[i]`, and `for (p = a; p < a + n; p++)`
counts elements. Where such a variable, or an iterator, is read behind the loop, it is set there. All this is so for a
loop that is read, and written, as a whole: for one that is not, what it was is kept (`Compound.kept`).
Long, because loops that count with a pointer are the same, over elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scheduler.frontend.analysis.distances import distance
from scheduler.frontend.analysis.exit_values import (
    Amounts,
    Dead,
    InductionVariable,
    exit_values,
    last_value,
    rounds,
    setting_behind,
)
from scheduler.frontend.analysis.induction import CanonicalInduction, changed_in, commas, count_of, inits_of
from scheduler.frontend.analysis.loop_invariant import alike, has_calls, is_loop_invariant, may_move
from scheduler.frontend.c_ast.arith import bits, is_integer
from scheduler.frontend.c_ast.clone import Cloner, Substituted
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CExpr,
    Compound,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    Lit,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Variable,
    all_expressions,
    statements,
    strip,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import LONG, as_type, counted_in, fold, plus, times
from scheduler.frontend.c_ast.jumps import own_jumps
from scheduler.frontend.c_ast.loop_header import step_by
from scheduler.frontend.c_ast.scalars import declared_inside, flatten, target_variable


def by_one_iterator(loop: ForStmt, dead: Dead, amounts: Amounts, start: Callable[[Variable], CExpr | None]) -> CStmt:
    """The loop, as one with a single iterator that nothing behind it reads, and what is set behind it.

    `start`: what a variable was set to right before the loop.
    """
    if loop.foreign or loop.condition is None:
        return loop
    body = flatten((loop.body,), True)
    if any(j.what in ("break", "goto") for j in own_jumps(body)) or any(
        isinstance(s, ReturnStmt) for s in statements(loop)
    ):
        return loop
    inits, increments = inits_of(loop.init), commas(loop.increment)
    if inits is None:
        return loop
    found = count_of(loop, inits, increments)
    if found is None:
        return loop
    count, increment, condition = found
    own = count.variable
    changed = changed_in(loop)
    if own.address_taken or own.storage not in ("local", "param") or changed.count(own) != 1 + (own in inits):
        return loop
    pointer = own.ctype.kind == "pointer"
    moved = induction_variables(loop, body, inits, increments, increment, count, condition, amounts, start)
    if moved is None:
        return loop
    used = any(isinstance(e, Ref) and e.var is own for e in subexpressions(count.start))
    live = not isinstance(loop.init, DeclStmt) and not dead(own)
    if pointer:
        return _by_elements(loop, body, count, increment, moved, live, dead, amounts, start)
    if not moved and not live and not used:
        return loop
    if bits(own.ctype.name) < 32:
        return loop
    fresh = replace(own, init=None) if live or used else own
    own_ref = Ref(fresh, own.ctype, loop.begin)
    shown = replace(count, variable=fresh)
    lines = rewritten_body(body, moved, shown, {own: own_ref}, loop.begin)
    tails = exit_values(moved, count, loop, dead, amounts)
    if tails is None or not lines:
        return loop
    if live:
        last = last_value(count, loop.begin)
        if last is None:
            return loop
        tails.append(setting_behind(own, last, loop.end))
    values = {own: own_ref}
    cloner = Cloner(values, None, 0)
    init, first = loop.init, inits.get(own, count.start)
    if fresh is not own:
        fresh.init = first
    if fresh is not own or isinstance(init, DeclStmt):
        init = DeclStmt((fresh,), loop.begin, loop.begin)
    elif len(inits) > 1:
        setting = Set("=", own_ref, as_type(first, own.ctype), own.ctype, loop.begin)
        init = ExprStmt(setting, loop.begin, loop.begin)
    written = replace(
        loop,
        init=init,
        condition=cloner.expr(condition),
        increment=None if increment is None else cloner.expr(increment),
        body=Compound(tuple(lines), loop.begin, loop.end),
    )
    return _unit(written, tails, loop, amounts)


def _unit(written: ForStmt, tails: list[CStmt], loop: ForStmt, amounts: Amounts) -> Compound:
    for tail in tails:
        if id(tail) in amounts.certain:
            amounts.certain[id(tail)] = (tail, written, amounts.certain[id(tail)][2])
    return Compound((written, *tails), loop.begin, loop.end, loop)


def induction_variables(
    loop: ForStmt,
    body: tuple[CStmt, ...],
    inits: dict[Variable, CExpr],
    increments: list[CExpr],
    increment: CExpr | None,
    count: CanonicalInduction,
    condition: CExpr,
    amounts: Amounts,
    begun: Callable[[Variable], CExpr | None],
) -> list[InductionVariable] | None:
    """What moves along. None where the header changes something that does not."""
    changed = changed_in(loop)
    inside = declared_inside(body)
    calls = has_calls(loop)
    continues = any(j.what == "continue" for j in own_jumps(body))
    found: list[InductionVariable] = []
    steps: list[tuple[CExpr, int, ExprStmt | None]] = [(e, len(body), None) for e in increments if e is not increment]
    if not continues:
        steps += [(strip(s.expr), k, s) for k, s in enumerate(body) if isinstance(s, ExprStmt)]
    start_fixed = is_loop_invariant(count.start, set(changed) - {count.variable}, calls)
    for expr, place, stmt in steps:
        variable = target_variable(expr)
        header = place == len(body)
        step = None if variable is None or not start_fixed else step_by(expr, variable)
        moves = (
            variable is not None
            and step is not None
            and variable is not count.variable
            and variable not in inside
            and may_move(variable)
            and changed.count(variable) == 1 + (variable in inits)
            and is_integer(step[0].ctype.name)
            and is_loop_invariant(step[0], set(changed), calls)
            and not any(isinstance(e, Ref) and e.var is variable for e in subexpressions(condition))
            and (
                variable not in inits
                or (
                    is_loop_invariant(inits[variable], set(changed), calls)
                    and alike(inits[variable].ctype, variable.ctype)
                )
            )
        )
        if not moves:
            if header:
                return None
            continue
        assert variable is not None and step is not None
        certain = None
        if stmt is not None and id(stmt) in amounts.certain:
            _, inner, amount = amounts.certain[id(stmt)]
            others = [s for s in body if s is not inner and s is not stmt]
            if not any(_names(variable, s) for s in others) and not _names_header(variable, inner):
                certain = amount
        base: CExpr | None = inits.get(variable)
        if base is None:
            base = begun(variable)
            if (
                base is None
                or not is_loop_invariant(base, set(changed), calls)
                or not alike(base.ctype, variable.ctype)
            ):
                base = Ref(variable, variable.ctype, loop.begin)
        found.append(InductionVariable(variable, base, step[0], step[1], place, certain))
    known = {m.variable for m in found} | {count.variable}
    if any(v not in known for v in inits):
        return None
    return found


def _names(variable: Variable, stmt: CStmt) -> bool:
    return any(isinstance(e, Ref) and e.var is variable for e in all_expressions(stmt))


def _names_header(variable: Variable, loop: ForStmt) -> bool:
    parts = [e for e in (loop.condition, loop.increment) if e is not None]
    named = any(isinstance(e, Ref) and e.var is variable for p in parts for e in subexpressions(p))
    return named or (loop.init is not None and _names(variable, loop.init))


def rewritten_body(
    body: tuple[CStmt, ...],
    moved: list[InductionVariable],
    count: CanonicalInduction,
    values: dict[Variable, CExpr],
    at: int,
) -> list[CStmt]:
    """The statements of the body without the steps, the variables replaced by what they are there."""
    result: list[CStmt] = []
    copies = Substituted()
    done = count.done(at)
    per = abs(count.step)
    for k, stmt in enumerate(body):
        if any(m.place == k for m in moved):
            continue
        mine = dict(values)
        for m in moved:
            amount = m.certain or m.amount
            value = _advanced(m, amount, done, per, at)
            if m.place < k:
                value = plus(value, amount, amount, m.variable.ctype, m.down, at)
            mine[m.variable] = value
        result.append(copies.stmt(stmt, mine))
    return result


def _advanced(m: InductionVariable, amount: CExpr, done: CExpr, per: int, at: int) -> CExpr:
    """base + amount * iterations, where the iterator has come as far as `done`, in steps of `per`."""
    by = fold(amount)
    if per > 1 and by is not None and by % per == 0:
        amount = Lit(str(by // per), by // per, INT, at)
    elif per > 1:
        done = Bin("/", done, as_type(Lit(str(per), per, INT, at), done.ctype), done.ctype, at)
    more = times(amount, done, counted_in(m.variable.ctype, m.amount), at)
    return plus(m.base, m.amount, more, m.variable.ctype, m.down, at)


def _by_elements(
    loop: ForStmt,
    body: tuple[CStmt, ...],
    count: CanonicalInduction,
    increment: CExpr | None,
    moved: list[InductionVariable],
    live: bool,
    dead: Dead,
    amounts: Amounts,
    begun: Callable[[Variable], CExpr | None],
) -> CStmt:
    """A loop that counts with a pointer, as one that counts elements."""
    pointer, at = count.variable, loop.begin
    changed = set(changed_in(loop)) - {pointer}
    if increment is None or count.step < 1 or count.op not in ("<", "<=", "!=") or count.limit is None:
        return loop
    calls = has_calls(loop)
    if not is_loop_invariant(count.start, changed, calls) or not is_loop_invariant(count.limit, changed, calls):
        return loop
    length = distance(count.start, count.limit)
    bare = strip(count.limit)
    if length is None and isinstance(bare, Ref) and (end := begun(bare.var)) is not None:
        length = distance(count.start, end)
    if length is None or not is_loop_invariant(length, {*changed, pointer}, calls):
        return loop
    if not may_move(pointer) or not alike(count.start.ctype, pointer.ctype):
        return loop
    element = Variable(f"{pointer.name}_at", LONG, "local", loop.begin)
    element.init = Lit("0", 0, INT, at)
    own = Ref(element, LONG, at)
    shown = CanonicalInduction(element, element.init, count.step, count.op, length)
    whole = Bin("+", count.start, own, replace(pointer.ctype, is_const=False), at)
    tails = exit_values(moved, shown, loop, dead, amounts)
    if tails is None:
        return loop
    lines = rewritten_body(body, moved, shown, {pointer: whole}, at)
    if not lines:
        return loop
    if live:
        trips = rounds(shown, at)
        if trips is None:
            return loop
        step = Lit(str(count.step), count.step, INT, at)
        more = times(step, trips[0], LONG, at)
        tails.append(
            setting_behind(pointer, Bin("+", count.start, more, replace(pointer.ctype, is_const=False), at), loop.end)
        )
    advance: CExpr = Step("++", own, True, LONG, at)
    if count.step > 1:
        advance = Set("+=", own, Lit(str(count.step), count.step, LONG, at), LONG, at)
    written = replace(
        loop,
        init=DeclStmt((element,), at, at),
        condition=Bin(count.op, own, as_type(length, LONG), INT, at),
        increment=advance,
        body=Compound(tuple(lines), loop.begin, loop.end),
    )
    return _unit(written, tails, loop, amounts)
