"""Loops whose iterations exchange buffers (`tmp = a; a = b; b = tmp;`) as loops over rounds that bring them back.

Where k iterations bring every buffer back to the name that it had, a round is k copies of the body, in which each name
is replaced by what it had in front of the loop: nothing is exchanged in them. What the rounds leave of the iterations
runs as it was written behind them (`scheduler.frontend.model.Remainder`), and with it the exchanges, so that all names
mean then what they mean behind the original loop.

A buffer is named by a pointer variable, by a member of a structure (`g->cur`) or an element of a table (`u[0]`), or by
an integer (`buf[cur]`), whose values are followed as far as they are constants, `1 - cur` or `cur ^ 1`.
Long, because what may stand in such a loop depends on how its buffers are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import gcd, lcm

from scheduler.frontend.analysis.induction import CanonicalInduction, commas, count_of, inits_of
from scheduler.frontend.c_ast.clone import Cloner
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CCall,
    CExpr,
    Compound,
    Cond,
    CStmt,
    CType,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Index,
    Leave,
    Lit,
    Member,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Unit,
    Variable,
    all_expressions,
    statements,
    strip,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import LONG, as_type, fold
from scheduler.frontend.c_ast.jumps import own_jumps
from scheduler.frontend.c_ast.liveness import mentioned, sequence_use
from scheduler.frontend.c_ast.scalars import (
    declared_inside,
    flatten,
    target_variable,
    written_variables,
)
from scheduler.frontend.passes.inline_calls import Calls, Values

_CHARS = ("char", "signed char", "unsigned char")
_MAX_FACTOR = 4  # iterations of a round
_MAX_LOOPS = 12  # in a round

Place = tuple[Variable, tuple[str, ...]]  # a variable, or a member that a path leads to from one


@dataclass(frozen=True, slots=True)
class Held:
    """What a place holds: what another one (or it) held in front of the loop, `number - that`, or `that ^ number`."""

    place: Place
    op: str = ""
    number: int = 0


Value = Held | int


@dataclass(frozen=True, slots=True)
class Rounds:
    """`written`: the loop over rounds of `factor` iterations of `loop`, in its copies; `number`: how many, which
    `scop.remainders` computes; `known`: what variables are in front of the loop, in C;
    `exchanged`: those that buffers are named by; `dead`: those that nobody reads behind the loop, which it sets."""

    loop: ForStmt
    count: CanonicalInduction
    factor: int
    number: Variable
    copies: tuple[tuple[CStmt, ...], ...]
    written: ForStmt
    known: tuple[tuple[str, str], ...]
    exchanged: frozenset[Variable]
    dead: tuple[str, ...] = ()


@dataclass(slots=True)
class _Body:
    """The statements of a loop, and what is followed of them."""

    stmts: tuple[CStmt, ...]
    shown: dict[Place, CExpr] = field(default_factory=dict)  # how each place is written
    targets: set[Place] = field(default_factory=set)  # what the loop sets
    temporary: set[Place] = field(default_factory=set)  # what it declares for that


def by_rounds(
    loop: ForStmt, calls: Calls, known: Callable[[Variable], int | None], dead: Callable[[Variable], bool]
) -> Rounds | None:
    """The loop as one over rounds; None where its iterations do not exchange buffers, or something else as well.

    `known`: a constant that a variable is set to in front of the loop. `dead`: nobody reads a variable behind it.
    """
    if loop.foreign or loop.bottom or loop.macro or loop.positive is not None or loop.condition is None:
        return None
    body = _Body(flatten((loop.body,), True))
    if any(True for _ in own_jumps(body.stmts)) or any(isinstance(s, ReturnStmt | Leave) for s in statements(loop)):
        return None
    inits = inits_of(loop.init)
    found = None if not inits else count_of(loop, inits, commas(loop.increment))
    if found is None or len(inits or {}) != 1 or found[0].wraps:
        return None
    count, own = found[0], found[0].variable
    if (
        own.ctype.kind != "int"
        or own.address_taken
        or any(target_variable(e) is own for e in all_expressions(loop.body))
    ):
        return None
    phases = _Phases.of(body, count)
    if not _follow(loop, body):
        body = _Body(body.stmts)
    elif not _steady(loop, body, calls.unit):
        return None
    first: dict[Place, Value] = {}
    for place, shown in body.shown.items():
        number = known(place[0]) if shown.ctype.kind == "int" and place in body.targets else None
        first[place] = Held(place) if number is None else number
    carried = _carried(body)
    state, factor = dict(first), 0
    while factor == 0 or factor % phases.period or any(state[place] != first[place] for place in carried):
        if factor == _MAX_FACTOR or not all(_moved(body, stmt, state) for stmt in body.stmts):
            return None
        factor += 1
    temporary = body.targets - carried - body.temporary
    if factor < 2 or any(path or not dead(variable) for variable, path in temporary):
        return None
    if factor * sum(isinstance(s, ForStmt) for s in statements(loop.body)) > _MAX_LOOPS:
        return None
    made = _unrolled(loop, count, body, first, factor, phases, calls)
    return replace(made, dead=tuple(sorted({variable.whole.name for variable, _ in temporary})))


def goes_on(kept: ForStmt, rounds: Rounds, behind: tuple[CStmt, ...]) -> bool:
    """Whether the loop as it was written can go on where the rounds end.

    `behind`: what was added to the loop that was read. A variable that the loop moves along, and that is a function of
    the iterator in what was read, has another value then.
    """
    steps = [target_variable(e) for e in commas(kept.increment)]
    if any(v is None or v.name != rounds.count.variable.name for v in steps):
        return False
    moved = written_variables((kept.body,)).keys() - written_variables((rounds.loop.body,)).keys()
    moved -= declared_inside((kept.body,))
    after = {v for e in (e for s in behind for e in all_expressions(s)) if (v := target_variable(e)) is not None}
    return not any(v in after or sequence_use(v, flatten((kept.body,)), True) != "kill" for v in moved)


@dataclass(frozen=True, slots=True)
class _Phases:
    """Which of its buffers an iteration uses, where its number says that: `buf[t % 2]`, `t % 2 ? a : b`.

    `numbers`: by the identities of remainders, their divisor and what they are in the first iteration.
    """

    numbers: Mapping[int, tuple[int, int]]
    step: int
    period: int = 1

    @staticmethod
    def of(body: _Body, count: CanonicalInduction) -> _Phases:
        """Looks only where such a remainder picks a buffer, or one of several loops."""
        start = fold(count.start)
        if (
            start is None
            or count.step < 1
            or not any(isinstance(i, ForStmt) for s in body.stmts for i in statements(s))
        ):
            return _Phases({}, 1)
        found: dict[int, tuple[int, int]] = {}
        picks = False
        for stmt in body.stmts:
            for expr in all_expressions(stmt):
                if (phase := _phase(expr, count.variable)) is not None and phase[0] + start >= 0:
                    found[id(expr)] = phase[1], phase[0] + start
                picks = picks or _picks(expr, count.variable)
            if isinstance(stmt, IfStmt) and any(isinstance(s, ForStmt) for s in statements(stmt)):
                picks = picks or any(_phase(e, count.variable) is not None for e in subexpressions(stmt.condition))
            for variable in stmt.variables if isinstance(stmt, DeclStmt) else ():
                picks = picks or (
                    variable.init is not None and _phase(strip(variable.init), count.variable) is not None
                )
        period = lcm(*(divisor // gcd(divisor, count.step) for divisor, _ in found.values()))
        return _Phases(found, count.step, period) if picks and period <= _MAX_FACTOR else _Phases({}, 1)

    def at(self, k: int, expr: CExpr) -> Lit | None:
        """What a remainder is in the iterations number k of all rounds."""
        if (found := self.numbers.get(id(expr))) is None:
            return None
        number = (found[1] + k * self.step) % found[0]
        return Lit(str(number), number, expr.ctype, expr.at)


def _phase(expr: CExpr, own: Variable) -> tuple[int, int] | None:
    """(c, m) of `(t + c) % m`; `t & 1` is `t % 2`."""
    if not isinstance(expr, Bin) or expr.op not in ("%", "&"):
        return None
    number, divisor, more = strip(expr.left), fold(expr.right), 0
    if expr.op == "&":
        divisor = 2 if divisor == 1 else None
    if isinstance(number, Bin) and number.op == "+" and (added := fold(number.right)) is not None:
        number, more = strip(number.left), added
    if not isinstance(number, Ref) or number.var is not own or divisor is None or divisor < 2:
        return None
    if more and expr.left.ctype.name.startswith("unsigned") and divisor & (divisor - 1):
        return None  # where the sum wraps around, the remainder is another one
    return more, divisor


def _picks(expr: CExpr, own: Variable) -> bool:
    """Whether an array, or a row of several, is picked by such a remainder."""
    if isinstance(expr, Index):
        whole = expr.ctype.kind in ("array", "pointer")
        return whole and any(_phase(e, own) is not None for e in subexpressions(expr.index))
    if isinstance(expr, Cond):
        return expr.ctype.kind == "pointer" and any(_phase(e, own) is not None for e in subexpressions(expr.condition))
    return False


# ------------------------------------------------------------------------------------- what is followed


def _place(expr: CExpr) -> Place | None:
    """The variable, or the member or element of what a variable is or leads to."""
    expr = strip(expr)
    if isinstance(expr, Ref):
        return expr.var, ()
    if isinstance(expr, Member):
        base = _place(expr.base)
        return None if base is None else (base[0], (*base[1], ("->" if expr.arrow else ".") + expr.name))
    if isinstance(expr, Index):
        base, index = _place(expr.base), strip(expr.index)
        fixed = isinstance(index, Lit) and isinstance(index.value, int)
        return None if base is None or not fixed else (base[0], (*base[1], f"[{fold(index)}]"))
    return None


def _sets(stmt: CStmt) -> list[Set]:
    """The assignments that a statement is made of; none where it is something else."""
    parts = commas(stmt.expr) if isinstance(stmt, ExprStmt) else []
    found = [part for part in parts if isinstance(part, Set)]
    return found if len(found) == len(parts) else []


def _follow(loop: ForStmt, body: _Body) -> bool:
    """Notes which places are set to each other in the body, and never in another way; whether there are any."""
    tops: set[int] = set()
    for stmt in body.stmts:
        for each in _sets(stmt):
            tops.add(id(each))
            _note(body, each.left, _place(each.right), each.right)
        for variable in stmt.variables if isinstance(stmt, DeclStmt) else ():
            if variable.init is not None:
                _note(body, Ref(variable, variable.ctype, variable.offset), _place(variable.init), variable.init)
    elsewhere = {
        place
        for e in all_expressions(loop)
        if isinstance(e, Set | Step) and id(e) not in tops
        if (place := _place(e.left if isinstance(e, Set) else e.operand)) is not None
    }
    while True:
        state: dict[Place, Value] = {place: Held(place) for place in body.shown}
        wrong = body.shown.keys() & elsewhere
        wrong |= {p for p in body.targets if any(_evaluated(e, state) is None for e in _settings(body, p))}
        if not wrong:
            break
        body.targets -= wrong
        for place in wrong:
            del body.shown[place]
    declared = declared_inside(body.stmts)
    body.temporary = {place for place in body.targets if place[0] in declared}
    return bool(body.targets - body.temporary)


def _note(body: _Body, left: CExpr, source: Place | None, right: CExpr) -> None:
    target = _place(left)
    if target is None or not _may_name(left):
        return
    if left.ctype.kind == "pointer":
        if source is None or not _alike(left, strip(right)):
            return
        body.shown.setdefault(source, strip(right))
    body.shown.setdefault(target, left)
    body.targets.add(target)


def _may_name(expr: CExpr) -> bool:
    if expr.ctype.kind == "pointer":
        return not expr.ctype.is_volatile and not (isinstance(expr, Ref) and expr.var.oddity)
    own = isinstance(expr, Ref) and expr.var.storage in ("local", "param") and not expr.var.address_taken
    return own and expr.ctype.kind == "int" and expr.ctype.name in ("int", "long") and not expr.ctype.is_volatile


def _alike(one: CExpr, other: CExpr) -> bool:
    a, b = _declared(one).element, _declared(other).element
    return a is not None and b is not None and other.ctype.kind == "pointer" and _same_type(a, b)


def _declared(expr: CExpr) -> CType:
    """With the extents of variable length arrays, which only the types of variables have."""
    return expr.var.ctype if isinstance(expr, Ref) else expr.ctype


def _same_type(one: CType, other: CType) -> bool:
    if one.name != other.name or _extent(one) != _extent(other):
        return False
    if one.element is None or other.element is None:
        return one.element is other.element
    return _same_type(one.element, other.element)


def _extent(ctype: CType) -> object:
    """Equal only for extents that are known to be equal."""
    if ctype.kind != "array" or isinstance(ctype.extent, int):
        return ctype.extent
    own = None if ctype.extent is None else strip(ctype.extent)
    return own.var if isinstance(own, Ref) and not own.var.writes and not own.var.address_taken else object()


def _settings(body: _Body, place: Place) -> Iterator[CExpr]:
    for stmt in body.stmts:
        for each in _sets(stmt):
            if _place(each.left) == place:
                yield _right(each)
        if isinstance(stmt, DeclStmt):
            yield from (v.init for v in stmt.variables if (v, ()) == place and v.init is not None)


def _right(each: Set) -> CExpr:
    """`v ^ 1` of `v ^= 1`."""
    if each.op == "=":
        return each.right
    return Bin(each.op[:-1], each.left, each.right, each.left.ctype, each.at)


def _evaluated(expr: CExpr, state: dict[Place, Value]) -> Value | None:
    """What an expression is, where that can be followed."""
    expr = strip(expr)
    if (number := fold(expr)) is not None:
        return number
    place = _place(expr)
    if place is not None:
        return state.get(place)
    if not isinstance(expr, Bin):
        return None
    left, right = _evaluated(expr.left, state), _evaluated(expr.right, state)
    if isinstance(left, int) and isinstance(right, int):
        one, other = Lit("", left, expr.left.ctype, expr.at), Lit("", right, expr.right.ctype, expr.at)
        return fold(replace(expr, left=one, right=other))
    if expr.op == "-" and isinstance(left, int) and isinstance(right, Held):
        return _done(right, "-", left)
    if expr.op == "^" and isinstance(left, Held) and isinstance(right, int):
        return _done(left, "^", right)
    if expr.op == "^" and isinstance(left, int) and isinstance(right, Held):
        return _done(right, "^", left)
    return None


def _done(held: Held, op: str, number: int) -> Held | None:
    """Each undoes itself; several of them are not followed."""
    if not held.op:
        return Held(held.place, op, number)
    return Held(held.place) if (held.op, held.number) == (op, number) else None


def _unqualified(ctype: CType) -> str:
    """`double *` of a `double *const`, as which a member of a `const` structure is read."""
    words = ctype.name
    while (less := words.removesuffix("const").removesuffix("restrict").rstrip()) != words and less.endswith("*"):
        words = less
    return words


def _called(stmt: CStmt, unit: Unit) -> list[CExpr]:
    """The expressions of the functions that are called, and of those that they call."""
    found: list[CExpr] = []
    seen: set[str] = set()
    waiting = [*all_expressions(stmt)]
    while waiting:
        expr = waiting.pop()
        function = unit.functions.get(expr.name) if isinstance(expr, CCall) else None
        if function is not None and function.name not in seen:
            seen.add(function.name)
            inner = [*all_expressions(function.body)]
            found += inner
            waiting += inner
    return found


def _steady(loop: ForStmt, body: _Body, unit: Unit) -> bool:
    """Nothing but the assignments that are followed changes what the places mean, under whatever name."""
    followed = {id(each) for stmt in body.stmts for each in _sets(stmt) if _place(each.left) in body.targets}
    lasting = all(map(_is_own, body.targets))
    if not lasting and unit.dialect.untyped:
        return False
    header = [e for e in (loop.condition, loop.increment) if e is not None]
    header += list(all_expressions(loop.init)) if loop.init is not None else []
    if any(_place(e) in body.targets for h in header for e in subexpressions(h)):
        return False
    names = {_unqualified(shown.ctype) for place, shown in body.shown.items() if place in body.targets}
    members = {path[-1].lstrip("->.") for _, path in body.targets if path}
    inside = [] if lasting else _called(loop, unit)
    if any(_place(e) in body.targets for e in inside if isinstance(e, Ref)):
        return False  # each copy of the loop's body would need a copy of the function
    for expr in (*all_expressions(loop), *inside):
        target = expr.left if isinstance(expr, Set) else expr.operand if isinstance(expr, Step) else None
        if target is not None and id(expr) not in followed:
            whole = target.ctype.kind in ("pointer", "record")
            if not lasting and (target.ctype.kind == "record" or target.ctype.name in _CHARS):
                return False
            if whole and (changed := _place(target)) is not None and any(_leads(changed, p) for p in body.shown):
                return False
        if isinstance(expr, Un) and expr.op == "&":
            named = _place(expr.operand)
            if named is not None and any(_leads(named, place) for place in body.targets):
                return False
        if lasting or _unqualified(expr.ctype) not in names or (own := _place(expr)) in body.targets:
            continue
        exposed = [place for place in body.targets if not _is_own(place)]
        if own is not None and all(own[0] is root and own[1][:-1] == path[:-1] for root, path in exposed):
            continue  # beside them in their structure or table
        if isinstance(expr, Index) or (isinstance(expr, Un) and expr.op == "*"):
            return False  # it may be one of the places by another name
        if isinstance(expr, Member) and (expr.name in members or any(m.startswith("[") for m in members)):
            return False
    return not any(one != other and _leads(one, other) for one in body.targets for other in body.targets)


def _is_own(place: Place) -> bool:
    """A variable of the function that nobody has the address of."""
    return not place[1] and place[0].storage in ("local", "param") and not place[0].address_taken


def _leads(one: Place, other: Place) -> bool:
    """The second place is the first one, a part of it, or where that leads to."""
    return one[0] is other[0] and other[1][: len(one[1])] == one[1]


def _carried(body: _Body) -> set[Place]:
    """What an iteration takes over from the one before."""
    found = {place for place in body.targets if place[1] or place[0].storage not in ("local", "param")}
    done: set[Place] = set()

    def read(expr: CExpr) -> None:
        for part in subexpressions(expr):
            place = _place(part) if isinstance(part, Ref | Member | Index) else None
            if place in body.targets and place not in done and place is not None:
                found.add(place)

    for stmt in body.stmts:
        for each in _sets(stmt):
            place = _place(each.left)
            if place in body.targets and place is not None:
                read(_right(each))
                done.add(place)
            else:
                read(each)
        if isinstance(stmt, DeclStmt):
            for variable in stmt.variables:
                if variable.init is not None:
                    read(variable.init)
                done.add((variable, ()))
        elif not _sets(stmt):
            for expr in all_expressions(stmt):
                read(expr)
    return found


def _moved(body: _Body, stmt: CStmt, state: dict[Place, Value]) -> bool:
    """Brings the state behind the statement; whether what it sets can be followed."""
    settings = [(place, _right(s)) for s in _sets(stmt) if (place := _place(s.left)) in body.targets]
    if isinstance(stmt, DeclStmt):
        settings += [((v, ()), v.init) for v in stmt.variables if (v, ()) in body.targets and v.init is not None]
    for place, expr in settings:
        value = _evaluated(expr, state)
        if value is None or place is None:
            return False
        state[place] = value
    return True


# --------------------------------------------------------------------------------------- what is made


def _unrolled(
    loop: ForStmt,
    count: CanonicalInduction,
    body: _Body,
    first: dict[Place, Value],
    factor: int,
    phases: _Phases,
    calls: Calls,
) -> Rounds:
    at, own = loop.begin, count.variable
    taken = {v.name for v in mentioned(loop)}
    counter = Variable(_free(f"{own.name}_round", taken), LONG, "local", at)
    number = Variable(_free(f"{own.name}_rounds", taken), LONG, "local", at)
    counter.init = Lit("0", 0, LONG, at)
    round_ = Ref(counter, LONG, at)
    copies: list[tuple[CStmt, ...]] = []
    state = dict(first)
    for k in range(factor):
        steps: CExpr = Bin("*", Lit(str(count.step * factor), count.step * factor, LONG, at), round_, LONG, at)
        for more in (as_type(count.start, LONG), Lit(str(k * count.step), k * count.step, LONG, at)):
            steps = steps if fold(more) == 0 else Bin("+", steps, more, LONG, at)
        values: Values = {own: as_type(steps, own.ctype)}
        copied: list[CStmt] = []
        for stmt in body.stmts:
            now = {id(e): phase for e in all_expressions(stmt) if (phase := phases.at(k, e)) is not None}
            copied += _copied(stmt, body, state, values, now, calls)
            _moved(body, stmt, state)
        copies.append(tuple(copied))
    written = replace(
        loop,
        init=DeclStmt((counter,), at, at),
        condition=Bin("<", round_, Ref(number, LONG, at), INT, at),
        increment=Step("++", round_, True, LONG, at),
        body=Compound(tuple(s for copy in copies for s in copy), loop.body.begin, loop.body.end),
    )
    known = tuple((place[0].text, str(value)) for place, value in first.items() if isinstance(value, int))
    exchanged = frozenset(variable for variable, _ in body.targets)
    return Rounds(loop, count, factor, number, tuple(copies), written, known, exchanged)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _copied(
    stmt: CStmt, body: _Body, state: dict[Place, Value], values: Values, now: Mapping[int, CExpr], calls: Calls
) -> list[CStmt]:
    """A statement with the places as they are named in front of the loop; nothing of what is followed."""
    if _sets(stmt):
        kept = [s for s in _sets(stmt) if _place(s.left) not in body.targets]
        if not kept:
            return []
        if len(kept) < len(_sets(stmt)):
            done: list[CStmt] = []
            ahead = dict(state)
            for each in _sets(stmt):
                one = ExprStmt(each, stmt.begin, stmt.end)
                done += _copied(one, body, ahead, values, now, calls)
                _moved(body, one, ahead)
            return done
    if isinstance(stmt, DeclStmt):
        others = tuple(v for v in stmt.variables if (v, ()) not in body.targets)
        if not others:
            return []
        stmt = replace(stmt, variables=others)
    replaced = dict(now)
    for expr in all_expressions(stmt):
        place = _place(expr) if isinstance(expr, Ref | Member | Index) else None
        if place in body.targets and place is not None:
            replaced[id(expr)] = _shown(body, state[place], expr)
    calls.places = replaced
    try:
        return list(calls.stmts((stmt,), values))
    finally:
        calls.places = {}


def _shown(body: _Body, value: Value, expr: CExpr) -> CExpr:
    """C for what a place holds."""
    if isinstance(value, int):
        return Lit(str(value), value, expr.ctype, expr.at)
    shown = Cloner({}, expr.at, 0).expr(body.shown[value.place])
    if not value.op:
        return shown
    number = Lit(str(value.number), value.number, expr.ctype, expr.at)
    left, right = (number, shown) if value.op == "-" else (shown, number)
    return Bin(value.op, left, right, expr.ctype, expr.at)
