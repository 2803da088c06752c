"""What a fix is: edits of one file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """The bytes from `begin` to `end` become `text`."""

    begin: int
    end: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Fix:
    """Of the loop that begins at a byte. `caveat`: under what condition the program computes the same; one without it
    always does. `nest`: the loop is read already, and what is spared is a test of its code at run time.
    """

    kind: str
    title: str
    loop: int
    edits: tuple[Edit, ...]
    caveat: str = ""
    nest: bool = False


def applied(content: bytes, edits: tuple[Edit, ...]) -> bytes:
    """Edits at one place in their order. Raises ValueError where they overlap."""
    parts: list[bytes] = []
    position = 0
    for edit in sorted(edits, key=lambda e: (e.begin, e.end)):
        if edit.begin < position:
            raise ValueError("edits overlap")
        parts += [content[position : edit.begin], edit.text]
        position = edit.end
    return b"".join((*parts, content[position:]))


def moved(edits: tuple[Edit, ...], offset: int) -> int:
    """Where what was at an offset is behind the edits; what stood inside of one is where that begins."""
    shift = 0
    for edit in edits:
        if edit.end <= offset:
            shift += len(edit.text) - (edit.end - edit.begin)
        elif edit.begin < offset:
            shift += edit.begin - offset
    return offset + shift
