"""Inserts calls around the nests of a C file; everything else stays where it is, line numbers included."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scheduler.frontend.clang.lexical import Text
from scheduler.frontend.clang.numbering import Numbering, line_directive
from scheduler.ir.names import spelled

_PRAGMA = re.compile(rb"[ \t]*#[ \t]*pragma\b")
_COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
_SEMICOLON = re.compile(rb"(?:\s|(?>/\*.*?\*/)|//[^\n]*\n)*+;", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Around:
    """C text before and after the bytes [begin, end), in a block of its own. One line each."""

    begin: int
    end: int
    before: str
    after: str


def wrap(content: bytes, places: Iterable[Around]) -> bytes:
    """The file with each place replaced by `{ before place after }`."""
    marks: list[tuple[int, int, int, bytes]] = []
    numbering = Numbering(content, Text(content).directives())
    for place in places:
        end = _statement_end(content, place.begin, place.end)
        start = _before_pragmas(content, place.begin)
        before = f"{{ {spelled(place.before)} "
        if start != place.begin or content[start : start + 1] == b"#":  # a pragma must begin its line
            number = numbering.at(start)
            before = f"{before}\n{line_directive(number)}\n" if number is not None else f"{before}\n"
        # At one position: ends before begins, inner ends first, outer begins first.
        marks.append((start, 1, -end, before.encode()))
        marks.append((end, 0, -start, f" {place.after} }}".encode()))
    parts, at = [], 0
    for position, _, _, text in sorted(marks):
        parts += [content[at:position], text]
        at = position
    return b"".join((*parts, content[at:]))


def _statement_end(content: bytes, begin: int, end: int) -> int:
    """The end of a statement whose span may lack the last `;` (of an unbraced body)."""
    if content[begin:end].rstrip()[-1:] in (b";", b"}"):
        return end
    after = _SEMICOLON.match(content, end)
    return after.end() if after else end


def _before_pragmas(content: bytes, begin: int) -> int:
    """Where the pragma lines begin that a loop begins with, or that stand directly above it; else `begin`."""
    found = begin
    at = content.rfind(b"\n", 0, begin) + 1
    if _COMMENT.sub(b"", content[at:begin]).strip():
        return begin
    if content[begin : begin + 1] == b"#":
        found = at
    while at > 0:
        end = at
        at = content.rfind(b"\n", 0, end - 1) + 1
        while at > 0 and content[:at].rstrip(b"\r\n").endswith(b"\\"):  # the line goes on from the one above
            at = content.rfind(b"\n", 0, at - 1) + 1
        line = content[at:end]
        if _PRAGMA.match(line):
            found = at
        elif line.strip():
            break
    return found
