"""Names of C as names of nests, which are made of ASCII letters alone: nests are written down, and isl reads them."""

from __future__ import annotations

import re
from collections.abc import Container

_OTHER = re.compile(r"[^A-Za-z0-9_]")
_TAKEN = re.compile(  # what would be read as one of ours
    r"(?:^u|_(?=u))(?=u?[0-9a-f]{4,6}(?:[^A-Za-z0-9]|$))|^p(?=e_)"
)
_WORD = re.compile(r"[^\W\d][\w$]*")
_SAFE = re.compile(r"_u([0-9a-f]{4,6})_")


def safe_name(name: str) -> str:
    """A name in ASCII that `spelled` turns back, with what code generation puts before and behind it, too.

    `größe` is `gr_u00f6__u00df_e`. None begins with `pe_`, as the names that code generation makes do.
    """
    return _OTHER.sub(_code, _TAKEN.sub(_code, name))


def safe_text(text: str) -> str:
    """A C text with safe names for the names in it."""
    return _WORD.sub(lambda m: safe_name(m.group()), text)


def ascii_name(name: str) -> str:
    """A safe name with other letters added, as a safe name."""
    return _OTHER.sub(_code, name)


def spelled(text: str) -> str:
    """A C text, or a message, in which the safe names are spelled as in the program."""
    return _SAFE.sub(lambda m: chr(int(m[1], 16)) if int(m[1], 16) < 0x110000 else m.group(), text)


def free_name(wish: str, taken: Container[str], before_number: str = "_") -> str:
    """The wish, or where that is taken the wish with the first number from 2 on that makes it free."""
    name, number = wish, 2
    while name in taken:
        name, number = f"{wish}{before_number}{number}", number + 1
    return name


def _code(match: re.Match[str]) -> str:
    return f"_u{ord(match.group()):04x}_"
