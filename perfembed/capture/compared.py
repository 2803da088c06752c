"""What two runs of a program say and leave, compared: bit for bit, or as text with numbers that may differ a little."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from perfembed.world import Left, World

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_TEXT_BYTES = 256 << 20  # of a file that is read to be compared as text
_NOTHING = Left("nothing")
_SHOWN = 80


class Said(Protocol):
    """What a run of the program printed and left."""

    @property
    def stdout(self) -> bytes: ...

    @property
    def stderr(self) -> bytes: ...

    @property
    def dropped(self) -> str: ...

    @property
    def exit_code(self) -> int: ...

    @property
    def files(self) -> Mapping[str, Left]: ...


def difference(first: Said, other: Said, world: World, again: Said | None = None) -> str:
    """The first thing that differs; `again` is another run of the first, and what it changes is left out.

    Only a file of `world.checked` counts all the same.
    """
    a, b = first.exit_code, other.exit_code
    if a != b and (again is None or again.exit_code == a):
        return f"exit code {a} became {b}"
    for what, tolerance in (("stdout", world.tolerance), ("stderr", 0.0)):
        before, after = getattr(first, what), getattr(other, what)
        repeated = before if again is None else getattr(again, what)
        if different := _different_text(what, before, after, repeated, tolerance):
            return different
    if first.dropped != other.dropped and (again is None or again.dropped == first.dropped):
        return "the output is too long to be kept, and its end differs"
    return _different_files(first.files, other.files, None if again is None else again.files, world)


def alike(first: bytes, other: bytes, tolerance: float) -> bool:
    """Whether two texts have the same words, with numbers that differ by `tolerance` at most, relative."""
    if first == other:
        return True
    if not tolerance or b"\0" in first:
        return False
    numbers, others = _NUMBER.findall(first), _NUMBER.findall(other)
    if len(numbers) != len(others):
        return False
    if not all(a.split() == b.split() for a, b in zip(_NUMBER.split(first), _NUMBER.split(other), strict=True)):
        return False
    return all(a == b or _near(float(a), float(b), tolerance) for a, b in zip(numbers, others, strict=True))


def _near(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def _different_text(what: str, first: bytes, other: bytes, again: bytes, tolerance: float) -> str:
    if first == other:
        return ""
    before, after, repeated = first.split(b"\n"), other.split(b"\n"), again.split(b"\n")
    if len(repeated) != len(before):
        return ""
    for number, (x, y, z) in enumerate(zip(before, after, repeated, strict=False), 1):
        if not alike(x, y, tolerance) and alike(x, z, tolerance):
            return f"{what} line {number}: {x[:_SHOWN]!r} became {y[:_SHOWN]!r}"
    if len(before) != len(after):
        return f"{what} has {len(first)} bytes, then {len(other)}"
    return ""


def _different_files(
    first: Mapping[str, Left], other: Mapping[str, Left], again: Mapping[str, Left] | None, world: World
) -> str:
    names_vary = again is not None and set(first) != set(again)
    for path in world.checked or sorted({*first, *other}):
        before, after = first.get(path, _NOTHING), other.get(path, _NOTHING)
        if _same(before, after, world.tolerance) or (names_vary and path not in first and not world.checked):
            continue
        if again is not None and not _same(before, again.get(path, _NOTHING), world.tolerance):
            if not world.checked:
                continue
            return f"{path} is another one whenever the original runs"
        return _described(path, before, after, world.tolerance)
    return ""


def _same(first: Left, other: Left, tolerance: float) -> bool:
    if first == other:
        return True
    if not tolerance or first.kind != "file" or other.kind != "file":
        return False
    a, b = _content(first), _content(other)
    return a is not None and b is not None and alike(a, b, tolerance)


def _content(left: Left) -> bytes | None:
    """The bytes of a file that was kept and is short enough to be read."""
    path: Path | None = left.content
    return path.read_bytes() if path is not None and path.stat().st_size <= _TEXT_BYTES else None


def _described(path: str, first: Left, other: Left, tolerance: float) -> str:
    if first.kind != other.kind:
        return f"{path}: {_word(first)} became {_word(other)}"
    a, b = _content(first), _content(other)
    if a is None or b is None:
        return f"{path} has another content"
    if b"\0" not in a:
        return _different_text(path, a, b, a, tolerance) or f"{path} has another content"
    at = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return f"{path} differs from byte {at} on"


def _word(left: Left) -> str:
    return left.kind if left.kind == "nothing" else f"a {left.kind}"
