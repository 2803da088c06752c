"""The variables that each iteration of a loop has its own of, by its pragma: they become variables of the loop.

What can be seen to be a race here (a scalar that all threads write) is said at once. Source: OpenMP API 5.2, section
5.1 (data-sharing attributes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from scheduler.frontend.analysis.aliases import Aliases
from scheduler.frontend.c_ast.clone import Substituted
from scheduler.frontend.c_ast.csyntax import (
    CExpr,
    CFunction,
    CStmt,
    ForStmt,
    Ref,
    Variable,
    all_expressions,
    statements,
)
from scheduler.frontend.c_ast.liveness import mentioned, sequence_use
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import (
    declared_inside,
    iterator_of,
    loop_body,
    target_variable,
    written_variables,
)
from scheduler.frontend.model import RACE
from scheduler.frontend.openmp.constructs import Pragmas
from scheduler.frontend.openmp.pragmas import OF_LOOPS, OWN, SHARING, collapse, listed
from scheduler.frontend.openmp.sharing import Marks
from scheduler.frontend.openmp.team import Dead, check_carried, check_same, run_by_all


@dataclass(frozen=True, slots=True)
class Owned:
    """The outside variables that each iteration of a loop has its own of: in `region`, a copy, they are variables that
    occur in that loop alone.

    `only_openmp`: without OpenMP one of these would have another value behind the loop. `given`: those that have a
    value at first (firstprivate, linear).
    """

    region: tuple[CStmt, ...]
    loops: Mapping[Variable, ForStmt]
    only_openmp: bool
    given: frozenset[Variable]


def owned_variables(
    region: tuple[CStmt, ...], function: CFunction, dead: Dead, pragmas: Pragmas, found: Marks, aliases: Aliases
) -> Owned:
    """What the pragmas of a region make private; `found` is moved to the copy. Raises Reject (races)."""
    owned: dict[int, set[Variable]] = {}
    only_openmp = False
    written = written_variables(region)
    tainted = pragmas.tainted()
    shared = [s for s, own in found.loops.values() if any(p.name in SHARING for p in own)]
    for stmt, own in found.loops.values():
        directives = [p for p in own if p.name in OF_LOOPS]
        if not directives:
            continue
        inside = declared_inside((stmt,))
        used = {v for v in mentioned(stmt) if v not in inside}
        named = {clause: {n for p in directives for n in listed(p, clause)} for clause in OWN}
        iterators = _collapsed(stmt, max(collapse(p) for p in directives))
        if any("simd" in p.name for p in directives):  # these have their last values behind the loop
            handed_on = iterators
        else:
            handed_on = {v for v in iterators if v.whole.name in named["lastprivate"] | named["linear"]}
        iterators = iterators - handed_on
        mine = {v for v in used if v.whole.name in named["private"] | named["linear"]} - handed_on | (iterators & used)
        for variable in sorted(used, key=lambda v: v.name):
            if variable.whole.name in named["firstprivate"] and variable in written:
                mine.add(variable)
        only_openmp |= any(not dead(v) for v in mine)
        around = (owned.get(id(s), set()) for s, _ in found.loops.values() if s.begin <= stmt.begin < s.end)
        held = mine.union(*around)
        owned[id(stmt)] = mine
        if any(p.name in SHARING for p in directives):
            own_of_threads = frozenset[Variable]()
            if found.context == "team":
                own_of_threads = _thread_owned(region, pragmas)
                check_same(function, stmt, run_by_all(region, shared), own_of_threads, tainted)
                check_same(function, stmt, used, own_of_threads - mine, tainted)
                carried = (used - mine) & own_of_threads & written_variables(shared).keys()
                check_carried(dead, stmt, carried, named["reduction"])
            _check_scalars(held | handed_on, stmt, used - mine - own_of_threads, named, found)
    fresh = {
        key: {v: replace(v, storage="local", init=None, init_text="") for v in mine} for key, mine in owned.items()
    }
    for old, new in (pair for each in fresh.values() for pair in each.items()):
        aliases.copied(new, old)
    copies = _OwnCopies(own={key: {v: _reference(n) for v, n in each.items()} for key, each in fresh.items()})
    same = {v: _reference(v) for mine in owned.values() for v in mine}
    region = tuple(copies.stmt(stmt, same) for stmt in region)
    found.replace(copies.loops)
    loops = {new: copies.loops[key] for key, each in fresh.items() for new in each.values()}
    pragmas_of_loops = [p for _, own in found.loops.values() for p in own]
    valued = {name for p in pragmas_of_loops for clause in ("firstprivate", "linear") for name in listed(p, clause)}
    only_openmp |= any(sequence_use(v, region, False) == "read" for v in same)
    return Owned(region, loops, only_openmp, frozenset(v for v in loops if v.whole.name in valued))


def _reference(variable: Variable) -> CExpr:
    return Ref(variable, variable.ctype, variable.offset)


@dataclass(slots=True)
class _OwnCopies(Substituted):
    """Of the loops with these identities, with variables of their own; `loops`: all copies of loops."""

    own: Mapping[int, Mapping[Variable, CExpr]] = field(default_factory=dict)
    loops: dict[int, ForStmt] = field(default_factory=dict)

    def copy(self, stmt: CStmt, values: dict[Variable, CExpr]) -> CStmt:
        own = self.own.get(id(stmt))
        copied = Substituted.copy(self, stmt, values if own is None else {**values, **own})
        if isinstance(copied, ForStmt):
            self.loops[id(stmt)] = copied
        return copied


def _thread_owned(region: tuple[CStmt, ...], pragmas: Pragmas) -> frozenset[Variable]:
    """The variables that each thread of the team around has its own of; where the region is in a caller all locals."""
    if pragmas.around:
        return pragmas.around[-1].own
    return frozenset(v for s in region for v in mentioned(s) if v.storage in ("local", "param"))


def _collapsed(stmt: ForStmt, depth: int) -> set[Variable]:
    """The iterators of a loop and of those that `collapse` takes in: these are private by themselves."""
    found: set[Variable] = set()
    loop: CStmt | None = stmt
    for _ in range(depth):
        if not isinstance(loop, ForStmt):
            break
        iterator = iterator_of(loop)
        found |= {iterator} if iterator is not None else set()
        inner = loop_body(loop)
        loop = inner[0] if len(inner) == 1 else None
    return found


def _check_scalars(
    owned: set[Variable],
    stmt: ForStmt,
    shared: Iterable[Variable],
    named: dict[str, set[str]],
    found: Marks,
) -> None:
    """A scalar that all threads write is a race. Raises Reject."""
    fine = {n for clause in OWN for n in named[clause]}
    for variable in sorted(shared, key=lambda v: v.name):
        if variable.whole.name in fine or variable in owned:
            continue
        if not variable.ctype.is_scalar and variable.ctype.kind != "pointer":
            continue
        headers = {i for s in statements(stmt) if isinstance(s, ForStmt) and (i := iterator_of(s)) is variable}
        places = [e.at for e in all_expressions(stmt.body) if target_variable(e) is variable]
        places = [at for at in places if not any(a <= at < b for a, b, _ in found.protected)]
        if headers or places:
            iterator = iterator_of(stmt)
            who = f"iterations of '{iterator.name}'" if iterator is not None else "iterations"
            what = "count with" if headers else "write"
            raise Reject(
                places[0] if places else stmt.begin,
                f"{RACE}all {who} {what} '{variable.name}', which the threads share",
                f"add private({variable.name}) to the pragma, or a reduction",
            )
