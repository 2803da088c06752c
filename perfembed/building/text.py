"""C text that stands in for a file: the compiler speaks of the file, line by line."""

from __future__ import annotations

import os
import re
from pathlib import Path

BOM = b"\xef\xbb\xbf"


def standing_in(content: bytes, path: str | os.PathLike[str]) -> bytes:
    """The text to compile in place of a file, from anywhere (with `beside`)."""
    return f"#line 1 {c_string(os.fspath(path))}\n".encode() + content.removeprefix(BOM)


def under_name(content: bytes, path: str) -> bytes:
    """The text of a file of its own whose lines are, for the compiler, lines of the file at `path`."""
    if re.match(rb"(?:\xef\xbb\xbf)?#line \d+ \"", content):
        return content  # they are of another file
    end_of_line = b"\r\n" if b"\r\n" in content.partition(b"\n")[0] + b"\n" else b"\n"
    before = BOM if content.startswith(BOM) else b""
    return before + standing_in(content, path).replace(b"\n", end_of_line, 1)


def beside(path: Path) -> tuple[str, str]:
    """The flags with which `#include "..."` in a text means the folder of the file it stands in for."""
    return "-iquote", str(path.absolute().parent)


def c_string(text: str) -> str:
    """A C string literal with these bytes."""
    encoded = os.fsencode(text)
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in encoded) + '"'
