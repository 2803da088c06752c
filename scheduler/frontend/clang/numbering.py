"""The numbers that the compiler gives the lines of a file: its own, or what `#line` in it says."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable

from scheduler.frontend.clang.lexical import Directive, Lines

_SET = re.compile(r"#(?:line\b|(?=\d)) ?(?P<number>\d+(?= |$))?")
_C90_MOST = 32767


class Numbering:
    """`directives`: all of the file, of whichever branch. A number is known where every way there gives the same."""

    def __init__(self, content: bytes, directives: Iterable[Directive]) -> None:
        self._lines = Lines(content)
        self._offsets = [0]
        self._added: list[int | None] = [0]  # from that offset on, what a line's number is more than its place
        opened: list[list[int | None]] = []  # of each conditional: before it, and behind its branches but the last
        complete: list[bool] = []  # whether they have an #else
        added: int | None = 0
        for directive in directives:
            word = directive.text[1:].split(" ", 1)[0]
            before = added
            if word in ("if", "ifdef", "ifndef"):
                opened.append([added])
                complete.append(False)
            elif opened and word in ("elif", "elifdef", "elifndef", "else"):
                opened[-1].append(added)
                complete[-1] |= word == "else"
                added = opened[-1][0]
            elif opened and word == "endif":
                start, *ends = opened.pop()
                ways = {*ends, added, *(() if complete.pop() else (start,))}
                added = added if len(ways) == 1 else None
            elif (match := _SET.match(directive.text)) is not None:
                number = match["number"]
                added = None if number is None else int(number) - self._lines.position(directive.end)[0] - 1
            if added != before:
                self._offsets.append(directive.end)
                self._added.append(added)

    @property
    def certain(self) -> bool:
        """Whether all numbers are known."""
        return None not in self._added

    def at(self, offset: int) -> int | None:
        """The number of the line with this offset; None where it depends on conditionals or macros."""
        added = self._added[bisect.bisect_right(self._offsets, offset) - 1]
        return None if added is None else self._lines.position(offset)[0] + added


def line_directive(number: int) -> str:
    """Lines, the last without its end, that give the next line this number, and leave the file's name."""
    if number <= _C90_MOST:
        return f"#line {number}"
    newer = "defined __STDC_VERSION__ && __STDC_VERSION__ >= 199901L"  # others take no such numbers
    return f"#if {newer}\n#line {number - 1}\n#endif"
