"""Variables that OpenMP gives each thread one of: `#pragma omp threadprivate` (OpenMP API 5.2, 5.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPLICE = re.compile(rb"\\\r?\n")
_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LIST = re.compile(rb"\bthreadprivate\s*\(([^)]*)\)")
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\([^\n]*\bthreadprivate\b", re.MULTILINE)


def threadprivate(texts: Iterable[bytes]) -> frozenset[str]:
    """The names, in a file and those it includes: in pragmas, in `_Pragma`, and given to macros that make these."""
    text = b"\n".join(texts)
    if b"threadprivate" not in text:
        return frozenset()
    code = _COMMENT.sub(lambda m: m[0] if m[0].startswith(b'"') else b" ", _SPLICE.sub(b"", text))
    lists = [match[1] for match in _LIST.finditer(code)]
    for macro in _MACRO.finditer(code):
        lists += re.findall(rb"\b" + macro[1] + rb"\s*\(([^()]*)\)", code)
    return frozenset(name.strip().decode("utf-8", "replace") for names in lists for name in names.split(b","))
