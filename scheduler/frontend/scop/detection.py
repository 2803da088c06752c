"""Finds the loop nests of a file and reads each one, or says why not.

Long, because it is one pass over a function, whose state every step needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import islpy as isl

from scheduler.errors import TextError
from scheduler.frontend.analysis.aliases import Aliases
from scheduler.frontend.analysis.induction import start_before
from scheduler.frontend.analysis.mod_ref import ModRef
from scheduler.frontend.c_ast import scalars
from scheduler.frontend.c_ast.csyntax import (
    INT,
    LOOPS,
    CFunction,
    Compound,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Index,
    JumpStmt,
    Lit,
    OtherStmt,
    Set,
    Step,
    Unit,
    Variable,
    all_expressions,
    inner_statements,
    loop_of,
    statements,
    strip,
)
from scheduler.frontend.c_ast.folding import fold
from scheduler.frontend.c_ast.liveness import Frame, dead_after, mentioned, statement_use
from scheduler.frontend.c_ast.loop_header import NO_STEP
from scheduler.frontend.c_ast.printing import statements_text
from scheduler.frontend.c_ast.reject import BREAK_ADVICE, LeftAround, Reject
from scheduler.frontend.c_ast.scalars import flatten
from scheduler.frontend.clang.lexical import Lines
from scheduler.frontend.model import Function, Rejection, Remainder, Sharing, SourceAssumptions, SourceFile
from scheduler.frontend.openmp.constructs import Pragmas
from scheduler.frontend.openmp.sharing import Marks, marks, sharing
from scheduler.frontend.openmp.team import check_team
from scheduler.frontend.passes.inline_calls import Calls
from scheduler.frontend.passes.opaque import with_opaque_statements
from scheduler.frontend.passes.rotate_buffers import Rounds, by_rounds, goes_on
from scheduler.frontend.scop import body as nest_body
from scheduler.frontend.scop.actions import EXCHANGE_ADVICE, EXCHANGES, WHILE_ADVICE
from scheduler.frontend.scop.assumptions import assumptions
from scheduler.frontend.scop.context import Assumed, Context, Scope, Work
from scheduler.frontend.scop.finalize import finish
from scheduler.frontend.scop.nest_checks import any_parallel, builds_up, check_numbers, check_traps
from scheduler.frontend.scop.prepare import prepare
from scheduler.frontend.scop.region_text import PART, RegionText
from scheduler.frontend.scop.remainders import remainder
from scheduler.ir.names import safe_name, spelled
from scheduler.ir.nest import LoopNest, Span
from scheduler.ir.text import format_nest

_MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    isl.Error,
)
INTERNAL = "the analysis of the loop failed"
_MAX_RUN = 40  # statements in one region


def extract(unit: Unit, given: Mapping[int, Mapping[str, int]] | None = None, print_after: str = "") -> SourceFile:
    """Everything a file has to offer; structures are taken apart, loops and jumps rewritten (`child`).

    `given`, `print_after`: as in ParseOptions.
    """
    detection = Detection(unit, given or {}, print_after)
    functions = []
    for function in sorted(unit.functions.values(), key=lambda f: f.begin):
        if not function.in_file or function.part_of:
            continue
        functions.append(
            Function(
                function.name,
                detection.lines_span(function.begin, function.end),
                function.parameter_texts,
                function.is_static,
            )
        )
        detection.search(function)
    return SourceFile(
        unit.path,
        unit.source.content,
        tuple(detection.found.nests),
        tuple(detection.found.rejections),
        tuple(functions),
        any(f.name == "main" for f in functions),
        tuple(unit.warnings),
        detection.found.assumptions,
        detection.found.sharing,
        unit.source.trigraphs,
        unit.headers,
        detection.found.fixable,
        skipped=unit.source.skipped,
        macros=unit.macros,
        printed=detection.printed(),
        around=tuple(detection.found.around),
        remainders=detection.found.remainders,
    )


@dataclass(slots=True)
class Found:
    """What a file has to offer, as far as it was looked at; by the names of nests. As in SourceFile."""

    nests: list[LoopNest] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    around: list[Rejection] = field(default_factory=list)
    assumptions: dict[str, SourceAssumptions] = field(default_factory=dict)
    sharing: dict[str, Sharing] = field(default_factory=dict)
    fixable: dict[str, tuple[str, ...]] = field(default_factory=dict)
    printed: list[tuple[str, str]] = field(default_factory=list)
    remainders: dict[str, Remainder] = field(default_factory=dict)

    def forget(self, name: str) -> None:
        """What was found of a nest that is refused after all."""
        for by_name in (self.assumptions, self.sharing, self.fixable, self.remainders):
            by_name.pop(name, None)


class Detection:
    """Walks the functions of a unit."""

    def __init__(self, unit: Unit, given: Mapping[int, Mapping[str, int]], print_after: str) -> None:
        self.unit = unit
        self.given = given
        self.lines = Lines(unit.source.content)
        self.pragmas = Pragmas(unit)
        self.aliases = Aliases(unit)
        self.mod_ref = ModRef(unit)
        self.text = RegionText(unit, self.pragmas, self.aliases)
        self.work = Work()
        self.found = Found()
        self.seen: dict[tuple[int, str], bool] = {}  # whether it was refused
        self.counting: dict[int, bool] = {}  # loops of the unit, by `id`
        self.refused: set[int] = set()  # where loops that were refused begin
        self.print_after = print_after

    def lines_span(self, begin: int, end: int) -> Span:
        line, column = self.lines.position(begin)
        return Span(self.unit.path, begin, end, line, column)

    def search(self, function: CFunction) -> None:
        self.function = function
        self.first = len(self.found.nests)
        self.list_(function.body.body, None, [])

    def printed(self) -> tuple[tuple[str, str], ...]:
        """(function, text) after the pass that is asked for."""
        if self.print_after == "detect_scops":
            made = ((nest, self.found.assumptions[nest.name].inspector) for nest in self.found.nests)
            found = (part for pair in made for part in reversed(pair) if part is not None)
            return tuple((part.function or "", format_nest(part)) for part in found)
        return tuple(self.found.printed)

    # ----------------------------------------------------------------------------------- the walk

    def list_(self, body: tuple[CStmt, ...], owner: CStmt | None, frames: list[Frame]) -> None:
        position = 0
        while position < len(body):
            stmt = body[position]
            if loop_of(stmt) is not None:
                last = self._run_end(body, position)
                with self.pragmas.inside(stmt):
                    self.run(body, position, last, owner, frames)
                position = last + 1
                continue
            if not isinstance(stmt, DeclStmt | ExprStmt):
                with self.pragmas.inside(stmt):
                    self._inside(stmt, [*frames, Frame(owner, body, position, position)])
            position += 1

    def _inside(self, stmt: CStmt, frames: list[Frame]) -> None:
        if isinstance(stmt, Compound):
            self.list_(stmt.body, stmt, frames)
        elif isinstance(stmt, IfStmt | OtherStmt):
            if isinstance(stmt, OtherStmt) and stmt.what in LOOPS:
                self._while(stmt)
            for inner in inner_statements(stmt):
                self.list_(_listed(inner), stmt, frames)

    def _run_end(self, body: tuple[CStmt, ...], first: int) -> int:
        """Index of the last loop of the run that starts at `first`.

        It ends before a statement that reads an integer scalar set earlier in the run: apart, that is a
        parameter there.
        """
        last = first
        counted: set[Variable] = set()
        for position in range(first, min(len(body), first + _MAX_RUN)):
            stmt = body[position]
            if position > first:
                if self._directive_between(body[position - 1].end, stmt.begin):
                    break
                if any(statement_use(v, stmt) == "read" for v in counted & mentioned(stmt)):
                    break
            if loop_of(stmt) is not None:
                last = position
            elif not (isinstance(stmt, ExprStmt) and isinstance(strip(stmt.expr), Set | Step)):
                break
            own = scalars.declared_inside((stmt,))
            counted |= {v for v in scalars.written_variables((stmt,)) if v.ctype.kind == "int" and v not in own}
        return last

    def _directive_between(self, begin: int, end: int) -> bool:
        return any(begin <= d.begin < end for d in self.unit.source.directives)

    def run(self, body: tuple[CStmt, ...], first: int, last: int, owner: CStmt | None, frames: list[Frame]) -> None:
        """Read the loops body[first..last] as few regions as possible."""
        while first <= last:
            stmt = body[first]
            loop = loop_of(stmt)
            if loop is None:
                first += 1
                continue
            end = last
            while loop_of(body[end]) is None:
                end -= 1
            while True:
                try:
                    self.found.nests.append(self._guarded(body, first, end, owner, frames))
                    break
                except Reject as refusal:
                    culprit = self._culprit(body, first, end, refusal.at)
                    if culprit > first:
                        end = culprit - 1
                        while loop_of(body[end]) is None:
                            end -= 1
                        continue
                    if end > first:
                        end = first
                        continue
                    self.reject(refusal, loop)
                    frame = Frame(owner, body, first, first)
                    with self.pragmas.iterating(loop):
                        self.list_(_listed(loop.body), loop, [*frames, frame])
                    break
            first = end + 1

    def _guarded(
        self, body: tuple[CStmt, ...], first: int, last: int, owner: CStmt | None, frames: list[Frame]
    ) -> LoopNest:
        """Like `region`; a mistake of ours costs the user that nest, not the file."""
        try:
            return self.region(body, first, last, owner, frames)
        except _MISTAKES as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            raise Reject(body[first].begin, f"{INTERNAL} ({what})", "please report it with the file") from error

    def _culprit(self, body: tuple[CStmt, ...], first: int, end: int, at: int) -> int:
        for position in range(first, end + 1):
            if body[position].begin <= at < body[position].end:
                return position
        return first

    def reject(self, refusal: Reject, stmt: CStmt) -> None:
        around = isinstance(refusal, LeftAround)
        at = refusal.at if refusal.at >= 0 and not around else stmt.begin
        into = self.found.around if around else self.found.rejections
        inside = refusal.reason == PART and at in self.refused  # the loop around it is made by the same macro
        self.refused.add(stmt.begin)
        if inside or (at, refusal.reason) in self.seen:
            return
        self.seen[at, refusal.reason] = not around
        span = self.lines_span(at, max(stmt.end, at))
        loop = self.lines_span(stmt.begin, max(stmt.end, stmt.begin))
        reason, advice = spelled(refusal.reason), spelled(refusal.advice)
        into.append(Rejection(span, reason, advice, self.function.name, loop))

    def _while(self, stmt: OtherStmt) -> None:
        """Say that a loop over arrays that does not count is not looked at on its own."""
        known = any(stmt.begin <= at < stmt.end for (at, _), refused in self.seen.items() if refused)
        if known or not any(isinstance(e, Index) for e in all_expressions(stmt)):
            return
        reason = NO_STEP if stmt.what == "for" else f"a {stmt.what} loop"
        jump = next((s for s in statements(stmt) if isinstance(s, JumpStmt) and s.what == "break"), None)
        if jump is not None:
            self.reject(Reject(jump.begin, "the loop contains break", BREAK_ADVICE), stmt)
        else:
            self.reject(Reject(stmt.begin, reason, WHILE_ADVICE), stmt)

    # -------------------------------------------------------------------------------- one region

    def region(
        self, body: tuple[CStmt, ...], first: int, last: int, owner: CStmt | None, frames: list[Frame]
    ) -> LoopNest:
        """Read body[first..last] as one nest, the functions it calls in place of the calls. Raises Reject."""
        if flagged := self.unit.dialect.refusal or self.text.looks_at_rounding(body[first].begin):
            raise Reject(body[first].begin, flagged, "compile it without, or move the loops to a file without")
        place = self.lines_span(body[first].begin, body[last].end)
        self.work.region = 0
        for stmt in body[first : last + 1]:
            self.text.check_text(loop_of(stmt) or stmt)
        counted = flatten(body[first : last + 1], True)
        opaque = tuple(with_opaque_statements(s, self.counting) for s in counted)
        kept = any(a is not b for a, b in zip(opaque, counted, strict=True))
        written = tuple(map(self.mod_ref.exits.region, opaque))
        found = marks(self.pragmas, counted)
        calls = Calls(self.unit, self.function, self.mod_ref, self.aliases)
        span = replace(place, begin=self.pragmas.begin(written[0]))
        try:
            region = calls.region(written)
            if self.print_after == "inline_calls":
                self.found.printed.append((self.function.name, statements_text(region)))
            found.move_to(region)
            self.text.check_called(calls, found, region)
            stands_for = Frame(owner, body, first, last)
            nest = self._of_rounds(region, stands_for, frames, written, found, span, calls)
            if nest is None:
                read = Frame(owner, (*body[:first], *region, *body[last + 1 :]), first, first + len(region) - 1)
                nest = self._read(read, frames, written, found, span)
            if kept and not found.loops and not any_parallel(nest):
                raise Reject(span.begin, "no loop around loops that do not count can be run in parallel", WHILE_ADVICE)
            for name, at in calls.repeated:
                if not builds_up(nest, at):
                    raise _repeats(name, at)
            return nest
        except Reject as refusal:
            self.found.forget(self._next_name())
            if calls.repeated and not span.begin <= refusal.at < span.end:  # it is said of that function
                raise _repeats(*calls.repeated[0]) from None
            raise self.text.at_call(refusal, calls, span) from None

    def _next_name(self) -> str:
        return f"{safe_name(self.function.name)}_{len(self.found.nests) - self.first}"

    def _of_rounds(
        self,
        region: tuple[CStmt, ...],
        place: Frame,
        frames: list[Frame],
        written: tuple[CStmt, ...],
        found: Marks,
        span: Span,
        calls: Calls,
    ) -> LoopNest | None:
        """The nest of a region that is a loop whose iterations exchange buffers; None of one that is none.

        `place`: of the statements that it stands for. Raises Reject.
        """
        body, last = place.body, place.last
        loops = [s for s in region if isinstance(s, ForStmt)]
        around = [*frames, place]

        def known(variable: Variable) -> int | None:
            start = start_before(variable, list(body[: place.first]), frozenset())
            return None if start is None else fold(start[1])

        def dead(variable: Variable) -> bool:
            return dead_after(variable, around, self.function)

        try:
            rounds = [r for loop in loops if (r := by_rounds(loop, calls, known, dead)) is not None]
        except Reject:  # the copies are too large
            return None
        kept = loop_of(body[place.first])
        if not rounds or kept is None:
            return None
        made, number = rounds[0], region.index(rounds[0].loop)
        ahead, behind = region[:number], region[number + 1 :]
        if len(loops) > 1 or last > place.first:
            raise Reject(made.loop.begin, EXCHANGES, EXCHANGE_ADVICE)
        if any(stmt is made.loop and any(p.name != "hint" for p in own) for stmt, own in found.loops.values()):
            return None
        if any(mentioned(s) & made.exchanged for s in (*ahead, *behind)) or not goes_on(kept, made, behind):
            return None
        again = IfStmt(Lit("1", 1, INT, kept.begin), kept.body, None, kept.begin, kept.end)
        whole = (*body[: place.first], *ahead, made.written, *behind, again, *body[last + 1 :])
        read = Frame(place.owner, whole, place.first, place.first + len(region) - 1)
        loops_before, printed = dict(found.loops), len(self.found.printed)
        try:
            self.text.check_text(kept.body)
            found.move_to(*made.copies)
            return self._read(read, frames, written, found, span, (made, kept))
        except Reject:
            found.loops = loops_before
            del self.found.printed[printed:]
            return None

    def _read(
        self,
        read: Frame,
        frames: list[Frame],
        written: tuple[CStmt, ...],
        found: Marks,
        span: Span,
        rounds: tuple[Rounds, ForStmt] | None = None,
    ) -> LoopNest:
        """The nest of the statements that are looked at, which stand for the statements `written` at `span`.

        `rounds`: of what loop of the file it is. Raises Reject.
        """
        body, first, last, owner = read.body, read.first, read.last, read.owner
        region = body[first : last + 1]
        if self.print_after == "rotate_buffers":
            self.found.printed.append((self.function.name, statements_text(region)))
        self.text.check_shared(region)
        ctx = Context(
            self.unit,
            self.function,
            self.aliases,
            self.work,
            self.lines,
            self.mod_ref.exits,
            written[0].begin,
            Scope(list(frames)),
            Assumed(given=self.given.get(span.begin, {})),
        )
        ctx.scope.frames.append(Frame(owner, body, first, last))
        region = prepare(ctx, region, self.pragmas, found)
        body = (*body[:first], *region, *body[last + 1 :])
        ctx.scope.frames.pop()
        left = None if rounds is None else remainder(ctx, *rounds)
        nodes = []
        for position in range(first, last + 1):
            with ctx.frame(Frame(owner, body, position, position)):
                nodes.extend(nest_body.node(ctx, body[position], body[position + 1 : last + 1]))
        name = self._next_name()
        if ctx.assumed.facts.contradictory(ctx.domain):
            raise Reject(ctx.begin, "the loop cannot run under the assumptions it needs", "check its bounds")
        nest = finish(ctx, tuple(nodes), name, span)
        check_numbers(nest, ctx.begin)
        if ctx.inspector is not None:
            check_numbers(ctx.inspector, ctx.begin)
            if found.context == "team" or found.protected:
                leave = ctx.reading.leaves[0]
                raise Reject(leave.begin, f"{leave.reason}, in a loop of several threads", leave.advice)
        if self.unit.dialect.traps:
            for part in (nest, *([] if ctx.inspector is None else [ctx.inspector])):
                check_traps(part, ctx.begin)
        if texts := {p.base or p.name for p in nest.parameters if p.name in ctx.assumed.wanted}:
            self.found.fixable[name] = tuple(sorted(texts))
        if left is not None:
            self.found.remainders[name] = left
        around = tuple(a.place for a in self.pragmas.around)
        known = assumptions(ctx, region, written, nest, span)
        if rounds is not None:
            values, dead = (*known.values, *rounds[0].known), {*known.dead, *map(spelled, rounds[0].dead)}
            known = replace(known, values=tuple(dict.fromkeys(values)), dead=tuple(sorted(dead)))
        self.found.assumptions[name] = replace(known, pragmas=around)
        if found.loops or found.protected or found.context:
            arrays = {info.variable: n for n, info in ctx.accesses.arrays.items() if info.variable is not None}
            self.found.sharing[name] = sharing(found, nest, arrays, ctx.scope.loop_names, ctx.span)
            if found.context == "team":
                check_team(nest, self.found.sharing[name], ctx.begin)
        try:
            text = format_nest(nest)
        except TextError as error:  # what cannot be written down can be neither shown nor stored
            reason = str(error).partition(": ")[2]
            raise Reject(ctx.begin, reason, "use expressions of fewer levels") from None
        if self.print_after == "delinearize":
            self.found.printed.append((self.function.name, text))
        return nest


def _repeats(name: str, at: int) -> LeftAround:
    return LeftAround(at, f"calls '{name}' with the same arguments again and again")


def _listed(stmt: CStmt) -> tuple[CStmt, ...]:
    """The statements of a body."""
    return stmt.body if isinstance(stmt, Compound) and stmt.kept is None else (stmt,)
