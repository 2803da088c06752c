"""What the pragmas in and around a loop mean for it: who runs it, which variables each thread has its own of.

A nest is read as the sequential loop that it is without its pragmas; by OpenMP's rules that computes the same, unless
there is a race. What can be seen to be one here (a scalar that all threads write) is said at once; the rest is left
to the dependences (`scheduler.races`). Source: OpenMP API 5.2, section 5.1 (data-sharing attributes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from scheduler.frontend.c_ast.csyntax import (
    CFunction,
    CStmt,
    ForStmt,
    OtherStmt,
    Set,
    Step,
    Variable,
    all_expressions,
    inner_statements,
    statements,
)
from scheduler.frontend.c_ast.liveness import mentioned
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import (
    base_variable,
    is_exchange,
)
from scheduler.frontend.model import Shared, Sharing
from scheduler.frontend.openmp.constructs import Pragmas
from scheduler.frontend.openmp.pragmas import (
    KINDS,
    OF_LOOPS,
    ONE_THREAD,
    PROTECTED,
    SHARING,
    UNDERSTOOD,
    Pragma,
    collapse,
    listed,
    parts,
)
from scheduler.ir.nest import LoopNest, Span

_OPERATORS = frozenset(("+", "-", "*", "&", "|", "^", "&&", "||", "min", "max"))
_ADVICE = "remove the pragma to let the loop be tuned"


@dataclass(slots=True)
class Marks:
    """The pragmas of a region, while it is read: of its loops, and ranges that one thread at a time runs."""

    loops: dict[int, tuple[ForStmt, tuple[Pragma, ...]]] = field(default_factory=dict)  # by identity
    protected: list[tuple[int, int, str]] = field(default_factory=list)
    context: str = ""

    def move_to(self, *copies: tuple[CStmt, ...]) -> None:
        """The region is a copy, or holds several: their loops stand where those stood that were looked at."""
        by_place: dict[int, list[tuple[Pragma, ...]]] = {}
        for stmt, own in self.loops.values():
            by_place.setdefault(stmt.begin, []).append(own)
        self.loops = {}
        for copy in copies:
            waiting = {begin: iter(every) for begin, every in by_place.items()}
            for loop in loops_of_pragmas(copy):
                if (mine := next(waiting.get(loop.begin, iter(())), None)) is not None:
                    self.loops[id(loop)] = (loop, mine)

    def replace(self, copies: Mapping[int, ForStmt]) -> None:
        """`copies`: of loops, by the identities of these."""
        loops = ((copies.get(key, stmt), own) for key, (stmt, own) in self.loops.items())
        self.loops = {id(stmt): (stmt, own) for stmt, own in loops}

    def note_called(self, pragmas: Pragmas, region: tuple[CStmt, ...], function: CFunction) -> None:
        """The pragmas of a function whose body was put into the region. Raises Reject."""
        for loop in loops_of_pragmas(region):
            if function.begin <= loop.begin < function.end:
                for own in pragmas.attached(loop):
                    _note(self, own, loop)

    def shares(self, at: int) -> bool:
        """Whether what stands at an offset is in a loop that threads share."""
        loops = (stmt for stmt, own in self.loops.values() if any(p.name in SHARING for p in own))
        return any(stmt.begin <= at < stmt.end for stmt in loops)


def marks(pragmas: Pragmas, region: tuple[CStmt, ...]) -> Marks:
    """The pragmas in and above a region's statements. Raises Reject for those that are not understood."""
    foreign = next((a.kind for a in pragmas.around if a.kind not in ("team", "thread")), None)
    if foreign is not None:
        raise Reject(region[0].begin, f"the loop stands in '{foreign}'", _ADVICE)
    if pragmas.collapsed:
        raise Reject(region[0].begin, "the loop is one that collapse takes into the one around it", _ADVICE)
    found = Marks(context=pragmas.around[-1].kind if pragmas.around else "")
    begun = {s.begin for s in _outermost(region)}
    for own in pragmas.between(region[0].begin, region[-1].end):
        if own.target not in begun:
            raise Reject(own.begin, f"'#pragma {own.text}' stands where no statement begins", _ADVICE)
    for inner in _outermost(region):
        top = any(inner is stmt for stmt in region)
        for own in pragmas.attached(inner):
            if not top or own.name in OF_LOOPS | {"hint"}:
                _note(found, own, inner)
        if not top and isinstance(inner, OtherStmt) and pragmas.attached(inner):
            raise Reject(inner.begin, f"there is a pragma at a {inner.what} statement", _ADVICE)
    shared = [p for _, own in found.loops.values() for p in own if p.name in SHARING]
    if any(not p.name.startswith("parallel") for p in shared):
        if found.context == "thread":
            raise Reject(shared[0].begin, "an omp for stands in a construct that is not a parallel region", _ADVICE)
        found.context = "team"
    elif found.context == "team":
        if shared:
            raise Reject(shared[0].begin, "a parallel region stands in another one", _ADVICE)
        found.context = "thread"
    return found


def _outermost(region: tuple[CStmt, ...]) -> Iterator[CStmt]:
    """The statements of a region; of those that a macro makes at one place only the one around the others."""
    begun: set[int] = set()
    for stmt in region:
        for inner in statements(stmt):
            if inner.begin not in begun:
                begun.add(inner.begin)
                yield inner


def loops_of_pragmas(region: tuple[CStmt, ...], around: int = -1) -> Iterator[ForStmt]:
    """The loops that a pragma above them belongs to: of those that a macro makes in each other the one around."""
    for stmt in region:
        if isinstance(stmt, ForStmt) and stmt.begin != around:
            yield stmt
        yield from loops_of_pragmas(inner_statements(stmt), stmt.begin)


def _note(found: Marks, own: Pragma, stmt: CStmt) -> None:
    if own.name in PROTECTED:
        clauses = {c.name for c in own.clauses} - {"of", "update", "read", "write", "seq_cst", "relaxed", "hint"}
        if own.problem or clauses:
            raise Reject(own.begin, f"'#pragma {own.text}' is not understood", _ADVICE)
        found.protected.append((stmt.begin, stmt.end, own.text))
        return
    if own.name in ONE_THREAD and not own.clauses and is_exchange(stmt):
        return  # read as one of a loop over rounds, in which there is none (`passes.rotate_buffers`)
    if own.name not in OF_LOOPS | {"hint"} or not isinstance(stmt, ForStmt):
        where = "above" if isinstance(stmt, ForStmt) else "inside"
        raise Reject(own.begin, f"there is '#pragma {own.text}' {where} the loop", _ADVICE)
    unknown = sorted({c.name for c in own.clauses} - UNDERSTOOD)
    if own.name != "hint" and (own.problem or unknown):
        problem = own.problem or f"clause '{unknown[0]}' is not understood"
        raise Reject(own.begin, f"of '#pragma {own.text}': {problem}", _ADVICE)
    for argument in own.arguments("reduction"):
        if argument.partition(":")[0].strip() not in _OPERATORS:
            raise Reject(own.begin, f"reduction({argument}) is not understood", _ADVICE)
    known = found.loops.get(id(stmt), (stmt, ()))[1]
    found.loops[id(stmt)] = (stmt, (*known, own))


def sharing(
    found: Marks,
    nest: LoopNest,
    by_variable: Mapping[Variable, str],
    loop_names: Mapping[int, str],
    span: Callable[[int, int], Span],
) -> Sharing:
    """What is known of the nest's loops, in its names.

    `by_variable`: its arrays, `loop_names`: its loops by the identities of statements, `span`: of offsets in the file.
    """
    known = {array.name for array in nest.arrays}
    shared: list[Shared] = []
    hints: list[tuple[str, str]] = []
    reordered: set[str] = set()
    for stmt, own in found.loops.values():
        loop = loop_names.get(id(stmt))
        if loop is None:
            continue
        names = {v.name: by_variable[v] for v in mentioned(stmt) if v in by_variable and by_variable[v] in known}
        hints += [(loop, p.text) for p in own if p.name == "hint"]
        directives = [p for p in own if p.name in OF_LOOPS]
        if not directives:
            continue
        sums = tuple(
            (operator.strip(), section.replace(name, names[name], 1))
            for p in directives
            for argument in p.arguments("reduction")
            for operator, _, rest in [argument.partition(":")]
            for section in map(str.strip, parts(rest))
            if (name := section.partition("[")[0].strip()) in names
        )
        reordered |= {s.partition("[")[0] for _, s in sums}
        position = span(directives[0].begin, directives[0].end)
        shared.append(
            Shared(
                loop,
                position,
                " ".join(dict.fromkeys(word for p in directives for word in p.name.split())),
                tuple(c for p in directives for c in _kept(p, nest)),
                max(collapse(p) for p in directives),
                sums,
                tuple(names[n] for p in directives for n in listed(p, "lastprivate") if n in names),
            )
        )
    protected = tuple(found.protected)
    for begin, end, _ in protected:
        reordered |= {
            by_variable[v]
            for stmt, _ in found.loops.values()
            for e in all_expressions(stmt)
            if isinstance(e, Set | Step) and begin <= e.at < end and (v := _stored(e)) is not None and v in by_variable
        }
    return Sharing(tuple(shared), found.context, tuple(sorted(reordered & known)), protected, tuple(hints))


def _stored(expr: Set | Step) -> Variable | None:
    return base_variable(expr.left if isinstance(expr, Set) else expr.operand)


def _kept(found: Pragma, nest: LoopNest) -> Iterator[str]:
    """The clauses that say how a loop is run, where they can be said of the nest on its own."""
    parameters = {p.name for p in nest.parameters}
    for clause in found.clauses:
        if clause.name in ("schedule", "num_threads", "simdlen", "safelen", "collapse"):
            words = clause.argument.replace(",", " ").replace(":", " ").split()
            if all(w.isdigit() or w in KINDS or w in parameters for w in words):
                yield f"{clause.name}({clause.argument})"
