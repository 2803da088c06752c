"""libclang: its (untyped) Python binding, and the calls that binding does not wrap."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

cindex: Any = import_module("clang.cindex")
CursorKind: Any = cindex.CursorKind
StorageClass: Any = cindex.StorageClass
TLSKind: Any = cindex.TLSKind
TypeKind: Any = cindex.TypeKind
Cursor = Any
ClangType = Any
TranslationUnit = Any


def _complete(kinds: list[Any], unexposed: Callable[[int], Any]) -> None:
    """Kinds that the library knows and its binding does not (`_Float16`) read as unexposed instead of raising."""
    kinds += [None] * (1000 - len(kinds))
    kinds[:] = [unexposed(number) if kind is None else kind for number, kind in enumerate(kinds)]


_complete(TypeKind._kinds, lambda number: TypeKind.UNEXPOSED)
_complete(
    CursorKind._kinds,
    lambda number: CursorKind.UNEXPOSED_EXPR if 100 <= number < 200 else CursorKind.UNEXPOSED_STMT,
)

_WORD = re.compile(rb"[A-Za-z_]\w*")
_OPERATORS = "* / % + - << >> <=> < > <= >= == != & ^ | && || = *= /= %= += -= <<= >>= &= ^= |= ,"
BINARY = dict(enumerate(_OPERATORS.split(), start=3))
UNARY = {1: "p++", 2: "p--", 3: "++", 4: "--", 5: "&", 6: "*", 7: "+", 8: "-", 9: "~", 10: "!"}


class _Ranges(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint), ("ranges", ctypes.POINTER(cindex.SourceRange)))


@cache
def library() -> Any:
    """libclang with the signatures below declared."""
    lib = cindex.conf.lib
    lib.clang_Cursor_Evaluate.restype = ctypes.c_void_p
    lib.clang_Cursor_Evaluate.argtypes = [cindex.Cursor]
    for name, result in (
        ("getKind", ctypes.c_int),
        ("getAsLongLong", ctypes.c_longlong),
        ("getAsUnsigned", ctypes.c_ulonglong),
        ("isUnsignedInt", ctypes.c_uint),
        ("getAsDouble", ctypes.c_double),
        ("dispose", None),
    ):
        function = getattr(lib, f"clang_EvalResult_{name}")
        function.restype = result
        function.argtypes = [ctypes.c_void_p]
    for name in ("clang_getCursorBinaryOperatorKind", "clang_getCursorUnaryOperatorKind"):
        getattr(lib, name).restype = ctypes.c_int
        getattr(lib, name).argtypes = [cindex.Cursor]
    lib.clang_Cursor_getVarDeclInitializer.restype = cindex.Cursor
    lib.clang_Cursor_getVarDeclInitializer.argtypes = [cindex.Cursor]
    lib.clang_getSkippedRanges.restype = ctypes.POINTER(_Ranges)
    lib.clang_Location_isInSystemHeader.restype = ctypes.c_int
    lib.clang_Location_isInSystemHeader.argtypes = [cindex.SourceLocation]
    return lib


def evaluate(cursor: Cursor) -> int | float | None:
    """The value of a constant expression."""
    lib = library()
    handle = lib.clang_Cursor_Evaluate(cursor)
    if not handle:
        return None
    try:
        kind = lib.clang_EvalResult_getKind(handle)
        if kind == 1:
            if lib.clang_EvalResult_isUnsignedInt(handle):
                return int(lib.clang_EvalResult_getAsUnsigned(handle))
            return int(lib.clang_EvalResult_getAsLongLong(handle))
        return float(lib.clang_EvalResult_getAsDouble(handle)) if kind == 2 else None
    finally:
        lib.clang_EvalResult_dispose(handle)


def binary_operator(cursor: Cursor) -> str:
    return BINARY.get(library().clang_getCursorBinaryOperatorKind(cursor), "?")


def unary_operator(cursor: Cursor) -> str:
    return UNARY.get(library().clang_getCursorUnaryOperatorKind(cursor), "?")


def initializer(cursor: Cursor) -> Cursor | None:
    """The initializer of a variable, if it has one."""
    result = library().clang_Cursor_getVarDeclInitializer(cursor)
    if cindex.conf.lib.clang_Cursor_isNull(result):
        return None
    result._tu = cursor._tu
    return result


def in_macro(location: Any) -> bool:
    """Whether a location is in what a macro expands to (which libclang's offsets do not tell)."""
    return bool(location.int_data >> 31)


def in_system_header(cursor: Cursor) -> bool:
    return bool(library().clang_Location_isInSystemHeader(cursor.location))


def included_texts(unit: Any) -> dict[str, bytes]:
    """The included files that are not the system's, by their names; none where one of them cannot be read."""
    found: dict[str, bytes] = {}
    for include in unit.get_includes():
        file = include.include
        place = cindex.SourceLocation.from_offset(unit, file, 0)
        if file.name not in found and not library().clang_Location_isInSystemHeader(place):
            try:
                found[file.name] = Path(file.name).read_bytes()
            except OSError:
                return {}
    return found


def macro_texts(unit: Any, texts: Iterable[bytes]) -> dict[str, str]:
    """What the macros that are named in these texts stand for, with their parameters, token by token.

    Of a unit that was parsed with PARSE_DETAILED_PROCESSING_RECORD; of a macro that is defined again the last one.
    """
    named = {word.decode() for text in texts for word in _WORD.findall(text)}
    last: dict[str, Cursor] = {}
    for cursor in unit.cursor.get_children():
        if cursor.kind == CursorKind.MACRO_DEFINITION and cursor.spelling in named:
            last[cursor.spelling] = cursor
    found = {}
    for name, cursor in last.items():
        tokens = [t.spelling for t in cursor.get_tokens() if t.kind != cindex.TokenKind.COMMENT]
        found[name] = " ".join(tokens[1:])
    return found


def skipped_ranges(unit: Any, path: str) -> list[tuple[int, int]]:
    """What conditionals leave out of a file, from the `#` of one directive to the end of the one that ends it.

    Of a unit that was parsed with PARSE_DETAILED_PROCESSING_RECORD.
    """
    lib = library()
    found = lib.clang_getSkippedRanges(unit, cindex.File.from_name(unit, path))
    try:
        ranges = (found.contents.ranges[k] for k in range(found.contents.count))
        return sorted((r.start.offset, r.end.offset) for r in ranges)
    finally:
        lib.clang_disposeSourceRangeList(found)
