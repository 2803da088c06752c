"""C text that stands in for a file: the compiler speaks of the file, line by line."""

from __future__ import annotations

import os
from pathlib import Path

BOM = b"\xef\xbb\xbf"


def standing_in(content: bytes, path: str | os.PathLike[str]) -> bytes:
    """The text to compile in place of a file, from anywhere (with `beside`)."""
    return f"#line 1 {c_string(os.fspath(path))}\n".encode() + content.removeprefix(BOM)


def beside(path: Path) -> tuple[str, str]:
    """The flags with which `#include "..."` in a text means the folder of the file it stands in for."""
    return "-iquote", str(path.absolute().parent)


def c_string(text: str) -> str:
    """A C string literal with these bytes."""
    encoded = os.fsencode(text)
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in encoded) + '"'
