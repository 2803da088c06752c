"""What is read from the text itself: ends of statements, loop headers, directives, lines and columns."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass

_SKIP = re.compile(rb"(?:\s|//[^\n]*(?:\n|$)|/\*.*?\*/|\\\r?\n)*", re.DOTALL)
_TOKEN = re.compile(
    rb"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[()\[\]{};]|[^\s"'/()\[\]{};]+|/""",
    re.DOTALL,
)


def skip_blank(content: bytes, offset: int) -> int:
    """The first offset at or behind `offset` that is neither white space nor comment."""
    match = _SKIP.match(content, offset)
    return match.end() if match else offset


def past_semicolon(content: bytes, offset: int) -> int:
    """Behind the `;` that ends an expression statement whose expression ends at `offset`."""
    following = skip_blank(content, offset)
    return following + 1 if content[following : following + 1] == b";" else offset


def for_header(content: bytes, offset: int) -> tuple[int, int] | None:
    """Offsets of the two `;` of a loop header; None where the text at `offset` is no plain `for (`."""
    if content[offset : offset + 3] != b"for":
        return None
    position = skip_blank(content, offset + 3)
    if content[position : position + 1] != b"(":
        return None
    depth = 0
    semicolons: list[int] = []
    for match in _TOKEN.finditer(content, position):
        token = match.group()
        if token in b"([{":
            depth += 1
        elif token in b")]}":
            depth -= 1
            if depth == 0:
                break
        elif token == b";" and depth == 1:
            semicolons.append(match.start())
    return (semicolons[0], semicolons[1]) if len(semicolons) == 2 else None


@dataclass(frozen=True, slots=True)
class Directive:
    """A preprocessor line: its offsets, its text, and where the next token behind it starts."""

    begin: int
    end: int
    text: str
    target: int


def directives(content: bytes) -> tuple[Directive, ...]:
    """Every preprocessor line outside comments and strings."""
    found: list[Directive] = []
    line = re.compile(rb"(?:[^\n\\]|\\\r?\n|\\.)*", re.DOTALL)
    scanner = re.compile(
        rb"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#""", re.DOTALL | re.MULTILINE
    )
    position = 0
    while True:
        match = scanner.search(content, position)
        if match is None:
            break
        position = match.end()
        if not match.group().endswith(b"#") or match.group()[:1] in b"\"'/":
            continue
        rest = line.match(content, position)
        end = rest.end() if rest else position
        text = re.sub(rb"(?:\\\r?\n|\s)+", b" ", content[match.start() : end]).strip().decode("utf-8", "replace")
        found.append(Directive(match.start(), end, re.sub(r"^#\s*", "#", text), end))
        position = end
    result: list[Directive] = []
    for index in range(len(found) - 1, -1, -1):
        item = found[index]
        target = skip_blank(content, item.end)
        if index + 1 < len(found) and target >= found[index + 1].begin:
            target = result[-1].target
        result.append(Directive(item.begin, item.end, item.text, target))
    return tuple(reversed(result))


class Lines:
    """Offsets to lines and columns (bytes, from 1)."""

    def __init__(self, content: bytes) -> None:
        self.starts = [0] + [m.end() for m in re.finditer(rb"\n", content)]

    def position(self, offset: int) -> tuple[int, int]:
        line = bisect.bisect_right(self.starts, offset) - 1
        return line + 1, offset - self.starts[line] + 1


def preceded_by_macro(content: bytes, offset: int) -> bool:
    """The token before a statement is a name other than `else` and `do`: something a macro makes of it."""
    while True:
        offset = len(content[:offset].rstrip())
        start = content.rfind(b"\n", 0, offset) + 1
        line = content[start:offset]
        if line.lstrip().startswith(b"#") or content[:start].endswith((b"\\\n", b"\\\r\n")):
            return False
        if line.endswith(b"*/"):
            offset = content.rfind(b"/*", 0, offset - 2)
            if offset < 0:
                return False
        elif b"//" in line:
            offset = start + line.index(b"//")
        else:
            match = re.search(rb"[A-Za-z_]\w*$", line)
            return match is not None and match.group() not in (b"else", b"do")
