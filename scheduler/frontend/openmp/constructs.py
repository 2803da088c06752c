"""The pragmas of a file and the statements they belong to: what constructs stand around a loop, and who runs it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from scheduler.frontend.c_ast.csyntax import (
    CCall,
    CExpr,
    CStmt,
    DeclStmt,
    ForStmt,
    Ref,
    Set,
    Unit,
    Variable,
    subexpressions,
    whole_expressions,
    whole_statements,
)
from scheduler.frontend.c_ast.liveness import mentioned
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import declared_inside
from scheduler.frontend.clang.lexical import Directive, is_conditional
from scheduler.frontend.clang.preprocessing import names
from scheduler.frontend.openmp.pragmas import (
    BLOCKS,
    OF_LOOPS,
    ONE_THREAD,
    OWN,
    PROTECTED,
    SHARING,
    STANDALONE,
    Pragma,
    collapse,
    is_harmless,
    listed,
    pragma,
)

_THREAD_NUMBER = "omp_get_thread_num"


@dataclass(frozen=True, slots=True)
class Around:
    """A construct around a loop: `team` (a parallel region), `thread` (one thread, or each by itself, runs it), or the
    text of one that is not understood.

    `place`: the bytes of its pragma; `own`: of a region, the variables each thread has its own of.
    """

    kind: str
    place: tuple[int, int]
    own: frozenset[Variable] = frozenset()


@dataclass
class Pragmas:
    """The pragmas of a file, by the statement they belong to."""

    unit: Unit
    of: dict[int, list[Pragma]] = field(default_factory=dict)  # offset of the next token -> pragmas
    around: list[Around] = field(default_factory=list)
    collapsed: int = 0  # the loop around has a pragma that is about so many more, in each other
    _tainted: set[Variable] | None = None

    def __post_init__(self) -> None:
        for directive in self.unit.source.directives:
            found = pragma(directive)
            if found is not None and found.name != "harmless":
                self.of.setdefault(found.target, []).append(found)

    def understood(self, directive: Directive) -> bool:
        """Whether a line inside a loop is a pragma that `marks` looks at, or one that changes nothing."""
        found = pragma(directive)
        known = OF_LOOPS | PROTECTED | ONE_THREAD | {"hint", "harmless", "barrier", "declare simd"}
        return found is not None and found.name in known

    def attached(self, stmt: CStmt) -> tuple[Pragma, ...]:
        """Those that belong to a statement."""
        return tuple(p for p in self.of.get(stmt.begin, ()) if p.name not in STANDALONE)

    def between(self, begin: int, end: int) -> Iterator[Pragma]:
        """Those that belong to statements between two offsets."""
        for target, found in self.of.items():
            if begin < target < end:
                yield from (p for p in found if p.name not in STANDALONE | {"hint"})

    def begin(self, stmt: CStmt) -> int:
        """Where the statement begins with its pragmas, and the conditionals around these. Raises Reject."""
        above = [d for d in self.unit.source.written if d.target == stmt.begin]
        own = [d for d in above if self._goes_with(d)]
        attached = [p.begin for p in self.attached(stmt) if p.name in OF_LOOPS | {"hint"}]
        if not own and not attached:
            return stmt.begin
        first = above.index(own[0]) if own else 0
        depth = sum(map(nesting, above[first:]))
        while depth < 0 and first > 0:
            first -= 1
            depth += nesting(above[first])
        known = all(d.text.startswith("#pragma") or is_conditional(d) for d in above[first:])
        torn = depth or not known or not set(attached) <= {d.begin for d in own}
        if torn or self._code_between(above[first].begin, stmt.begin):
            at = own[0].begin if own else attached[0]
            raise Reject(at, "the pragma stands under a condition", "write it without #if or #else")
        return above[first].begin + len(_blanks(self.unit.source.content, above[first].begin))

    def _goes_with(self, directive: Directive) -> bool:
        """Whether a line above a loop is a pragma about it, or may be one where a conditional leaves it out."""
        found = pragma(directive)
        if found is None or found.name == "harmless":
            return False
        return found.name in OF_LOOPS | {"hint"} or directive.begin not in self._active

    @cached_property
    def _active(self) -> frozenset[int]:
        return frozenset(d.begin for d in self.unit.source.directives)

    def _code_between(self, begin: int, end: int) -> bool:
        """Whether there is something else than directives, be it left out by a conditional."""
        source = self.unit.source
        return any(True for _ in names(source.content, begin, end, source.written, source.trigraphs))

    # ------------------------------------------------------------------------------ pragmas by macros

    @cached_property
    def macros(self) -> frozenset[str]:
        """The names that may make a pragma: `_Pragma`, and macros that are made of such."""
        texts = {name: {text} for name, text in self.unit.macros.items()}
        for line in self.unit.source.directives:  # of a macro that is defined again all definitions
            if match := re.match(r"#define (\w+)(.*)", line.text):
                texts.setdefault(match[1], set()).add(match[2].strip())
        words = {
            name: {word for text in every if not is_harmless(text) for word in re.findall(r"\w+", text)}
            for name, every in texts.items()
        }
        found = {"_Pragma"}
        while more := {name for name, used in words.items() if name not in found and used & found}:
            found |= more
        return frozenset(found)

    def macro_before(self, stmt: CStmt) -> bool:
        """Whether a macro that may make a pragma stands right before a statement."""
        if len(self.macros) == 1 and b"_Pragma" not in self.unit.source.active:
            return False
        text = self.unit.source.text
        return text.name_before(stmt.begin) in self.macros or text.call_before(stmt.begin) in self.macros

    # ----------------------------------------------------------------------------- constructs around

    @contextmanager
    def inside(self, stmt: CStmt) -> Iterator[None]:
        """While a statement is looked at: what its constructs (`parallel`, `single`, …) mean for it."""
        found = [Around("thread", (stmt.begin, stmt.begin))] if self.macro_before(stmt) else []
        for own in self.attached(stmt):
            if own.name == "parallel" and not self.around:
                found.append(Around("team", (own.begin, own.end), self._own(own, stmt)))
            elif own.name not in OF_LOOPS | {"hint", "atomic"}:
                kind = "thread" if own.name in BLOCKS else f"#pragma {own.text}"
                found.append(Around(kind, (own.begin, own.end)))
        with self._within(found):
            yield

    @contextmanager
    def iterating(self, stmt: ForStmt) -> Iterator[None]:
        """While the body of a loop is looked at."""
        own, outer = [p for p in self.attached(stmt) if p.name in OF_LOOPS], self.collapsed
        self.collapsed = max(outer - 1, *(collapse(p) - 1 for p in own), 0)
        try:
            with self._within([Around("thread", (p.begin, p.end)) for p in own if p.name in SHARING]):
                yield
        finally:
            self.collapsed = outer

    @contextmanager
    def _within(self, found: Iterable[Around]) -> Iterator[None]:
        count = len(self.around)
        self.around += found
        try:
            yield
        finally:
            del self.around[count:]

    def _own(self, found: Pragma, stmt: CStmt) -> frozenset[Variable]:
        names = {n for clause in OWN for n in listed(found, clause)}
        declared = declared_inside((stmt,))
        return frozenset(declared | {v for v in mentioned(stmt) if v.name in names})

    def tainted(self) -> set[Variable]:
        """Variables whose value depends on the thread: made of its number, by any way through this file."""
        if self._tainted is not None:
            return self._tainted
        tainted: set[Variable] = set()
        flows: list[tuple[Variable, CExpr]] = []
        for function in self.unit.functions.values():
            for stmt in whole_statements(function.body):
                if isinstance(stmt, DeclStmt):
                    flows += [(v, v.init) for v in stmt.variables if v.init is not None]
            for expr in whole_expressions(function.body):
                if isinstance(expr, Set) and isinstance(expr.left, Ref):
                    flows.append((expr.left.var, expr.right))
                elif isinstance(expr, CCall) and (called := self.unit.functions.get(expr.name)) is not None:
                    flows += zip(called.parameters, expr.arguments, strict=False)
        grown = True
        while grown:
            grown = False
            for variable, source in flows:
                if variable not in tainted and any(self._of_thread(e, tainted) for e in subexpressions(source)):
                    tainted.add(variable)
                    grown = True
        self._tainted = tainted
        return tainted

    def _of_thread(self, expr: CExpr, tainted: set[Variable]) -> bool:
        if isinstance(expr, Ref):
            return expr.var in tainted or bool(expr.var.oddity)
        return isinstance(expr, CCall) and expr.name == _THREAD_NUMBER


def nesting(directive: Directive) -> int:
    return directive.text.startswith("#if") - directive.text.startswith("#endif")


def _blanks(content: bytes, begin: int) -> bytes:
    line = content[begin:]
    return line[: len(line) - len(line.lstrip(b" \t"))]
