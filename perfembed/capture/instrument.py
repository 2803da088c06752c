"""Calls put in around the nests of a C file, lines keep their numbers; what they record; which of them do harm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from scheduler.frontend.clang.lexical import Text
from scheduler.frontend.clang.numbering import Numbering, line_directive
from scheduler.ir.names import spelled
from scheduler.ir.nest import Array, LoopNest, Storage
from scheduler.ir.types import scalar_type

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


def leaving(number: str) -> str:
    """A declaration that has the runtime told when the block is left, in whichever way: also by `return` and `goto`."""
    return f"const int pe_left __attribute__((__cleanup__(perfembed_leave), __unused__)) = {number};"


def recorded_values(nest: LoopNest) -> tuple[tuple[str, str, str], ...]:
    """(name, C text, C type) of the integers kept of every call: parameters, then integer scalars."""
    scalars = (a for a in nest.arrays if a.is_scalar and a.storage is not Storage.PRIVATE and _is_integer(a))
    return (
        *((p.name, p.text, p.ctype) for p in nest.parameters),
        *((a.name, a.base or a.name, a.ctype) for a in scalars),
    )


def values_text(nest: LoopNest) -> str:
    """C text of the array of these integers."""
    values = ", ".join(f"(long long)({text})" for _, text, _ in recorded_values(nest))
    return f"__extension__ (const long long[]){{{values}}}" if values else "0"


def named_values(nest: LoopNest, numbers: Iterable[int]) -> Mapping[str, int]:
    """Names and values; unsigned 64-bit values were written as signed."""
    found = {}
    for (name, _, ctype), number in zip(recorded_values(nest), numbers, strict=True):
        kind = scalar_type(ctype)
        found[name] = number + (1 << 64) if number < 0 and kind is not None and not kind.signed else number
    return MappingProxyType(found)


def _is_integer(array: Array) -> bool:
    kind = scalar_type(array.ctype)
    return kind is not None and kind.kind != "floating"


T = TypeVar("T")


class _Spent(Exception):
    """No attempts are left."""


def without_culprits(items: Sequence[T], works: Callable[[tuple[T, ...]], bool], attempts: int = 60) -> tuple[T, ...]:
    """A largest part of `items` found for which `works` holds, in their order; `works` of all is known to fail.

    Where no attempts are left, items not seen to work are left out.
    """
    left = [attempts]

    def check(part: tuple[T, ...]) -> bool:
        if not part:
            return True
        if not left[0]:
            raise _Spent
        left[0] -= 1
        return works(part)

    good: tuple[T, ...] = ()
    waiting = _halves(tuple(items)) if len(items) > 1 else []
    try:
        while waiting:
            part = waiting.pop()
            if check(good + part):  # with what is known to be good: what only fails together is found, too
                good += part
            elif len(part) > 1:
                waiting += _halves(part)
    except _Spent:
        pass
    return tuple(item for item in items if any(item is one for one in good))


def _halves(part: tuple[T, ...]) -> list[tuple[T, ...]]:
    """The second one first: the first is taken from the end of a list."""
    middle = (len(part) + 1) // 2
    return [part[middle:], part[:middle]]
