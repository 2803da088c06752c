"""`inspect --fix`: edits of a file that make refused loops readable, each of which was tried.

An edit is offered where the front end then reads the loop, and loses no other one. What makes it safe is said of each
kind where it is made (`scheduler.frontend.fixes`); what is the same under a condition only is asked for apart.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from perfembed.errors import SourceRejected
from perfembed.inspection.inspect_file import check_functions
from perfembed.reading import read_file
from scheduler.frontend import Edit, Fix, ParseOptions, Rejection, SourceFile, applied, moved

_MAX_STEPS = 4  # edits until one loop is read
_MAX_TRIALS = 80  # times that the file is read
_NDEBUG = "-DNDEBUG"
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_UNENDED = b"\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class OfferedFix:
    """At a place of the original file. `changes`: (kind, what is done). `reason`: why the loop was refused; of loops
    that are read already nothing. `caveats`: under which conditions the program computes the same.
    """

    changes: tuple[tuple[str, str], ...]
    function: str | None
    line: int
    column: int
    reason: str
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FixedFile:
    """`content` is the original with the fixes in it; `held_back`: those that are the same under a condition only.

    `flags`: how many refused loops are read with a flag of the compiler. `complete`: whether all was tried.
    """

    path: str
    original: bytes
    content: bytes
    fixes: tuple[OfferedFix, ...]
    held_back: tuple[OfferedFix, ...]
    flags: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True

    def diff(self) -> bytes:
        """A unified diff that `patch -p1` and `git apply` take."""
        name = os.path.relpath(self.path)
        name = os.path.abspath(self.path).lstrip("/") if name.startswith("..") else name
        old, new = _LINE.findall(self.original), _LINE.findall(self.content)
        labels = (f"a/{name}".encode(), f"b/{name}".encode())
        lines = difflib.diff_bytes(difflib.unified_diff, old, new, *labels)
        return b"".join(line if line.endswith(b"\n") else line + _UNENDED for line in lines)


def fix_file(
    path: str, content: bytes, options: ParseOptions, functions: tuple[str, ...] = (), *, unsafe: bool = False
) -> FixedFile:
    """The fixes of the named functions (empty: of all). Raises as `read_file`, UsageError."""
    fixer = _Fixer(path, content, options, functions)
    found = tuple(fixer.fixes(unsafe))
    held_back = tuple(fixer.fixes(True)) if not unsafe else ()
    content = fixer.content if unsafe else fixer.safe
    return FixedFile(path, fixer.original, content, found, held_back, fixer.flags(), fixer.trials < _MAX_TRIALS)


class _Fixer:
    """The file as it is with the fixes so far. `places`: where a loop that began at a byte of the original is now."""

    def __init__(self, path: str, content: bytes, options: ParseOptions, functions: tuple[str, ...]) -> None:
        self.path, self.options, self.functions = path, replace(options, fixes=True), functions
        self.trials = 0
        self.original = self.content = self.safe = content
        self.source = read_file(path, content, self.options)
        check_functions(self.source, functions)
        wanted = [r for r in self.source.rejections if not functions or r.function in functions]
        self.refused = {r.loop.begin: r for r in wanted if r.loop is not None}
        self.places = {begin: begin for begin in self.refused}
        self.fixed: set[int] = set()

    def fixes(self, unsafe: bool) -> Iterator[OfferedFix]:
        """Makes all that are safe, or all, and says which. Inner loops come before those around."""
        for begin in sorted(self.refused, reverse=True):
            if begin in self.fixed:
                continue
            chain = self._chain(self.content, self.source, self.places[begin], unsafe, _MAX_STEPS)
            if chain is None:
                continue
            for fix, content, source in chain:
                self._take(fix, content, source)
            self.fixed.add(begin)
            yield _offered([fix for fix, _, _ in chain], self.refused[begin])
        if unsafe:
            yield from self._spared_tests()
        else:
            self.safe = self.content

    def _take(self, fix: Fix, content: bytes, source: SourceFile) -> None:
        self.content, self.source = content, source
        self.places = {begin: moved(fix.edits, now) for begin, now in self.places.items()}

    def _chain(
        self, content: bytes, source: SourceFile, loop: int, unsafe: bool, steps: int
    ) -> list[tuple[Fix, bytes, SourceFile]] | None:
        """The fixes, one upon the other, by which a loop is read; None where these do not suffice."""
        if not steps:
            return None
        reason = _reason(source, loop)
        for fix in source.fixes:
            if fix.loop != loop or fix.nest or (fix.caveat and not unsafe):
                continue
            tried = self._tried(content, source, fix)
            if tried is None:
                continue
            fix, text, after = tried
            now = moved(fix.edits, loop)
            if _is_read(after, now):
                return [(fix, text, after)]
            if _reason(after, now) in (None, reason) and not _moved_on(source, after, loop, now):
                continue
            rest = self._chain(text, after, now, unsafe, steps - 1)
            if rest is not None:
                return [(fix, text, after), *rest]
        return None

    def _tried(self, content: bytes, source: SourceFile, fix: Fix) -> tuple[Fix, bytes, SourceFile] | None:
        """The file with a fix, where that is C and every nest of before is in one still."""
        if self.trials >= _MAX_TRIALS:
            return None
        self.trials += 1
        if b"\r\n" in content:
            edits = (Edit(e.begin, e.end, e.text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")) for e in fix.edits)
            fix = replace(fix, edits=tuple(edits))
        try:
            text = applied(content, fix.edits)
            after = read_file(self.path, text, self.options)
        except (ValueError, SourceRejected):
            return None
        begun = [moved(fix.edits, nest.span.begin) for nest in source.nests if nest.span is not None]
        return (fix, text, after) if all(_is_read(after, place, inside=True) for place in begun) else None

    def _spared_tests(self) -> Iterator[OfferedFix]:
        """What nests that are read need no test at run time for."""
        done: set[str] = set()
        while fix := next((f for f in self.source.fixes if f.nest and f.title not in done), None):
            done.add(fix.title)
            function = next((f for f in self.source.functions if f.span.begin <= fix.loop < f.span.end), None)
            if function is None or (self.functions and function.name not in self.functions):
                continue
            place = next(n.span for n in self.source.nests if n.span is not None and n.span.begin == fix.loop)
            tried = self._tried(self.content, self.source, fix)
            if tried is not None:
                line = _original_line(self.original, self.content, place.begin)
                self._take(*tried)
                yield OfferedFix(((fix.kind, fix.title),), function.name, line, place.column, "", (fix.caveat,))

    def flags(self) -> dict[str, int]:
        """How many of the loops that are left a flag makes readable."""
        advised = [r for r in self.source.rejections if _NDEBUG in r.advice]
        if not advised:
            return {}
        arguments = (*self.options.arguments, _NDEBUG)
        source = read_file(self.path, self.content, replace(self.options, arguments=arguments, fixes=False))
        count = sum(r.loop is not None and _is_read(source, r.loop.begin) for r in advised)
        return {_NDEBUG: count} if count else {}


def _offered(fixes: list[Fix], refused: Rejection) -> OfferedFix:
    return OfferedFix(
        tuple(dict.fromkeys((fix.kind, fix.title) for fix in fixes)),
        refused.function,
        refused.span.line,
        refused.span.column,
        refused.reason,
        tuple(dict.fromkeys(fix.caveat for fix in fixes if fix.caveat)),
    )


def _original_line(original: bytes, content: bytes, offset: int) -> int:
    """The line of the original that a line with fixes before it was."""
    line = content.count(b"\n", 0, offset)
    matcher = difflib.SequenceMatcher(None, _LINE.findall(original), _LINE.findall(content), autojunk=False)
    for _, begin, end, now, stop in matcher.get_opcodes():
        if now <= line < stop:
            return min(begin + line - now, max(end - 1, begin)) + 1
    return line + 1


def _refusal(source: SourceFile, loop: int) -> Rejection | None:
    return next((r for r in source.rejections if r.loop is not None and r.loop.begin == loop), None)


def _reason(source: SourceFile, loop: int) -> str | None:
    found = _refusal(source, loop)
    return None if found is None else found.reason


def _moved_on(before: SourceFile, after: SourceFile, loop: int, now: int) -> bool:
    """Whether what is in the way is said more rarely than before: one of several was taken away."""
    then, left = _refusal(before, loop), _refusal(after, now)
    if then is None or left is None:
        return False
    behind = len(before.content) - then.span.begin, len(after.content) - left.span.begin
    return behind[1] < behind[0]


def _is_read(source: SourceFile, offset: int, *, inside: bool = False) -> bool:
    """Whether a nest, or a loop around nests of which nothing is missed, begins at a place, or goes on there."""
    if not inside and _refusal(source, offset) is not None:
        return False
    spans = [n.span for n in source.nests if n.span is not None]
    around = any(r.loop is not None and r.loop.begin == offset for r in source.around)
    return around or any(s.begin <= offset < s.end for s in spans)
