"""Fixes of the pragma of a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler.frontend.fixes.model import Edit, Fix
from scheduler.frontend.fixes.place import Place


def _above(place: Place) -> tuple[int, int] | None:
    """The line of the pragma right above the loop."""
    content = place.view.content
    line = content.rfind(b"\n", 0, place.loop.begin)
    begin = content.rfind(b"\n", 0, max(line, 0)) + 1
    text = content[begin:line]
    if line < 0 or not re.match(rb"[ \t]*#[ \t]*pragma\b", text) or text.rstrip().endswith(b"\\"):
        return None
    return begin, line


def private(place: Place) -> Iterator[Fix]:
    """`private(t)` for a variable that all threads write."""
    found, name = _above(place), re.search(r"private\((\w+)\)", place.rejection.advice)
    if found is None or name is None or b"//" in place.view.content[slice(*found)]:
        return
    end = len(place.view.content[: found[1]].rstrip())
    caveat = f"every iteration sets '{name[1]}' before it reads it, and nothing reads it behind the loop"
    edits = (Edit(end, end, f" private({name[1]})".encode()),)
    yield from place.fix("private", f"'{name[1]}' is private to a thread", edits, caveat=caveat)


def without_pragma(place: Place) -> Iterator[Fix]:
    """The pragma above the loop away."""
    found = _above(place)
    if found is None:
        return
    edits = (Edit(found[0], found[1] + 1, b""),)
    caveat = "the pragma changes how fast the loop is, and not what it computes"
    yield from place.fix("without-pragma", "the pragma is removed", edits, caveat=caveat)
