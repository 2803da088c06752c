"""The pragmas of a file and the statements they belong to: what constructs stand around a loop, and who runs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from scheduler.frontend.context import Refuse
from scheduler.frontend.csyntax import (
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
from scheduler.frontend.lexical import Directive
from scheduler.frontend.pragmas import BLOCKS, OF_LOOPS, OWN, PROTECTED, SHARING, STANDALONE, Pragma, listed, pragma
from scheduler.frontend.scalar_uses import mentioned
from scheduler.frontend.scalars import declared_inside

_THREAD_NUMBER = "omp_get_thread_num"


@dataclass(frozen=True, slots=True)
class Around:
    """A construct around a loop: `team` (a parallel region), `thread` (one thread, or each by itself, runs it), or the
    text of one that is not understood.

    `own`: of a region, the variables each thread has its own of.
    """

    kind: str
    own: frozenset[Variable] = frozenset()


@dataclass(slots=True)
class Pragmas:
    """The pragmas of a file, by the statement they belong to."""

    unit: Unit
    of: dict[int, list[Pragma]] = field(default_factory=dict)  # offset of the next token -> pragmas
    around: list[Around] = field(default_factory=list)
    _tainted: set[Variable] | None = None

    def __post_init__(self) -> None:
        for directive in self.unit.directives:
            found = pragma(directive)
            if found is not None and found.name != "harmless":
                self.of.setdefault(found.target, []).append(found)

    def understood(self, directive: Directive) -> bool:
        """Whether a line inside a loop is a pragma that `marks` looks at, or one that changes nothing."""
        found = pragma(directive)
        known = OF_LOOPS | PROTECTED | {"hint", "harmless", "barrier", "declare simd"}
        return found is not None and found.name in known

    def attached(self, stmt: CStmt) -> tuple[Pragma, ...]:
        """Those that belong to a statement."""
        return tuple(p for p in self.of.get(stmt.begin, ()) if p.name not in STANDALONE)

    def begin(self, stmt: CStmt) -> int:
        """Where the statement begins with its pragmas, and the `#ifdef` around these. Raises Refuse."""
        own = [p for p in self.attached(stmt) if p.name in OF_LOOPS | {"hint"}]
        if not own:
            return stmt.begin
        above = [d for d in self.unit.directives if d.target == stmt.begin]
        first = min(above.index(d) for d in above if d.begin == own[0].begin)
        depth = 0
        for directive in above[first:]:
            depth += _nesting(directive)
        while depth < 0 and first > 0:
            first -= 1
            depth += _nesting(above[first])
        words = [d.text.split("(")[0].split()[0] for d in above[first:]]
        if depth or not set(words) <= {"#pragma", "#if", "#ifdef", "#endif"}:
            raise Refuse(own[0].begin, "the pragma stands under a condition", "write it without #if or #else")
        for directive in above[first:]:
            if directive.text.startswith("#if") and directive.text.replace("(", " ").replace(")", " ").split() not in (
                ["#ifdef", "_OPENMP"],
                ["#if", "defined", "_OPENMP"],
            ):
                raise Refuse(directive.begin, "the pragma stands under a condition", "use #ifdef _OPENMP")
        return above[first].begin + len(_blanks(self.unit.content, above[first].begin))

    # ----------------------------------------------------------------------------- constructs around

    @contextmanager
    def inside(self, stmt: CStmt) -> Iterator[None]:
        """While a statement is looked at: what its constructs (`parallel`, `single`, …) mean for it."""
        found = []
        for own in self.attached(stmt):
            if own.name == "parallel" and not self.around:
                found.append(Around("team", self._own(own, stmt)))
            elif own.name not in OF_LOOPS | {"hint", "atomic"}:
                found.append(Around("thread" if own.name in BLOCKS else f"#pragma {own.text}"))
        with self._within(found):
            yield

    @contextmanager
    def iterating(self, stmt: ForStmt) -> Iterator[None]:
        """While the body of a loop is looked at."""
        shared = any(p.name in SHARING for p in self.attached(stmt))
        with self._within([Around("thread")] if shared else []):
            yield

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


def _nesting(directive: Directive) -> int:
    return directive.text.startswith("#if") - directive.text.startswith("#endif")


def _blanks(content: bytes, begin: int) -> bytes:
    line = content[begin:]
    return line[: len(line) - len(line.lstrip(b" \t"))]
