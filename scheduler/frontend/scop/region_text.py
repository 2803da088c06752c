"""What stands in the text of a region, and of the functions that it calls: whether it can be rewritten at all."""

from __future__ import annotations

import re
from collections import Counter

from scheduler.frontend.analysis.aliases import Aliases
from scheduler.frontend.c_ast import scalars
from scheduler.frontend.c_ast.csyntax import (
    CStmt,
    ForStmt,
    Unit,
    Variable,
)
from scheduler.frontend.c_ast.liveness import mentioned
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.clang.lexical import Directive, Lines, is_conditional
from scheduler.frontend.openmp.constructs import Pragmas, nesting
from scheduler.frontend.openmp.pragmas import pragma
from scheduler.frontend.openmp.sharing import Marks, loops_of_pragmas
from scheduler.frontend.passes.inline_calls import Calls
from scheduler.ir.nest import Span

_REMOVE = "remove it to let the loop be tuned"
_ENVIRONMENT = re.compile(
    r"#\s*pragma\s+(?:STDC\s+FENV_ACCESS|fenv_access|float_control)\b\W*(?P<off>OFF|off|DEFAULT)?"
)
_NAMING = re.compile(r"#(?:define|undef)\b")  # the new loops are made of what macros stand for
_DEFINE = re.compile(r"#define (\w+)(.*)", re.DOTALL)
_WORDS = """break case char do double else float for goto if int long return short signed sizeof struct switch typedef
union unsigned void while"""
_WRITTEN = frozenset(_WORDS.split())  # of the generated code; without those that may well be defined away
PART = "the loop is only a part of what a macro stands for"


class RegionText:
    """Of the regions of a file."""

    def __init__(self, unit: Unit, pragmas: Pragmas, aliases: Aliases) -> None:
        self.unit = unit
        self.lines = Lines(unit.source.content)
        self.directives = unit.source.directives
        self.pragmas = pragmas
        self.aliases = aliases
        self.redefined = next((word for d in self.directives if (word := _redefined(d))), None)
        macros = b"|".join(re.escape(n.encode()) for n in sorted(pragmas.macros))
        self.pragma_names = re.compile(rb"(?<![\w$])(?:" + macros + rb")(?![\w$])")

    def looks_at_rounding(self, begin: int) -> str:
        """The pragma above that says that the program looks at, or changes, the state of floating-point arithmetic."""
        above = [m for d in self.directives if d.begin < begin and (m := _ENVIRONMENT.match(d.text))]
        if not above or above[-1]["off"]:
            return ""
        return f"after '{above[-1].string}' flags and modes of arithmetic matter, of which threads have their own"

    def check_called(self, calls: Calls, found: Marks, region: tuple[CStmt, ...]) -> None:
        """The texts of the functions that were put in place of calls, and where these stand. Raises Reject.

        `found` gets the pragmas of their loops.
        """
        for name, places in calls.sites.items():
            function = self.unit.functions[name]
            for begin, end, text in found.protected:
                if any(begin <= at < end for at in places):
                    reason = f"calls '{name}' under '#pragma {text}'"
                    raise Reject(places[0], reason, "write the body of the function in the loop")
            if not function.in_file:
                continue
            inside = [p for d in self.directives if function.begin <= d.begin < function.end and (p := pragma(d))]
            alone = found.context or any(map(found.shares, places))
            known = {"simd"} if alone else {"simd", "parallel for", "parallel for simd"}
            loops = Counter(loop.begin for loop in loops_of_pragmas((function.body,)))
            told = [p for p in inside if p.name not in ("harmless", "hint")]
            fine = all(p.name in known and loops[p.target] == 1 for p in told)
            if not fine or self._names_pragma(function.begin, function.end):
                reason = f"calls '{name}', which has a pragma"
                raise Reject(places[0], reason, "remove the pragma to let the loop be tuned")
            found.note_called(self.pragmas, region, function)

    def _names_pragma(self, begin: int, end: int) -> bool:
        return self.pragma_names.search(self.unit.source.active, begin, end) is not None

    def at_call(self, refusal: Reject, calls: Calls, span: Span) -> Reject:
        """A refusal of what stands in a function that was put in place of a call, at the call in the region."""
        if span.begin <= refusal.at < span.end:
            return refusal
        for name, (at, *_) in calls.sites.items():
            function = self.unit.functions[name]
            if function.in_file and function.begin <= refusal.at < function.end:
                path = calls.paths[name]
                reason = ""
                for (each, _), inner in zip(path, (*(place for _, place in path[1:]), refusal.at), strict=True):
                    line, column = self.lines.position(inner)
                    reason += f"calls '{each.partition('.')[0]}', where at {self.unit.path}:{line}:{column} "
                return Reject(at, reason + refusal.reason, refusal.advice)
        return refusal

    def check_shared(self, region: tuple[CStmt, ...]) -> None:
        """Loops that reach one object through two names are not put into one region: a run-time test would fail."""
        seen: dict[Variable, bool] = {}
        for number, stmt in enumerate(region):
            stored = scalars.stored_variables(stmt)
            here = {v for v in mentioned(stmt) if v.ctype.kind in ("pointer", "array")}
            if number:
                for variable in here:
                    for other, written in seen.items():
                        if (written or variable in stored) and self.aliases.same(variable, other):
                            raise Reject(stmt.begin, "reaches an array through two names", "use one name")
            for variable in here:
                seen[variable] = seen.get(variable, False) or variable in stored

    def check_text(self, stmt: CStmt) -> None:
        depth = 0
        for directive in (d for d in self.directives if stmt.begin <= d.begin < stmt.end):
            depth += nesting(directive)
            if depth < 0:
                raise Reject(directive.begin, "a preprocessor conditional goes across the loop", _REMOVE)
            if is_conditional(directive) or _NAMING.match(directive.text):
                continue
            if not self.pragmas.understood(directive):
                what = f"'{directive.text}'" if directive.text.startswith("#pragma") else "a preprocessor directive"
                raise Reject(directive.begin, f"there is {what} inside the loop", _REMOVE)
        if depth:
            raise Reject(stmt.begin, "a preprocessor conditional goes across the loop", _REMOVE)
        marked = self.pragmas.macro_before(stmt) or self._names_pragma(stmt.begin, stmt.end)
        if marked or self.unit.source.text.name_before(stmt.begin) not in ("", "else", "do"):
            raise Reject(stmt.begin, "a macro or pragma is attached to the loop", "remove it to let the loop be tuned")
        if isinstance(stmt, ForStmt) and stmt.foreign:
            raise Reject(stmt.begin, "the loop comes from a macro or another file", "write the for loop out")
        if id(stmt) not in self.unit.from_macros.exact:
            if isinstance(stmt, ForStmt) and stmt.macro:
                raise Reject(stmt.begin, PART, "write the for loop out")
            if stmt.end in self.unit.from_macros.torn or stmt.end <= stmt.begin:
                raise Reject(stmt.begin, "the loop ends inside a macro that goes on", "write the end of the loop out")
        if self.redefined is not None:
            advice = "new loops would mean something else here: remove the #define"
            raise Reject(stmt.begin, f"the file defines '{self.redefined}' as a macro", advice)


def _redefined(directive: Directive) -> str | None:
    """The keyword that a #define gives another meaning."""
    match = _DEFINE.match(directive.text)
    return match[1] if match and match[1] in _WRITTEN and match[2].strip() != match[1] else None
