"""File names and files that are none."""

from __future__ import annotations

import os
from pathlib import Path

from tests.attack.registry import ANY, CASES, UNDERSTOOD, USAGE, case, loops, mark_slow

_NEST = frozenset((0,))
_BAD = loops("g(i);", "void g(int);")  # refused: the name is printed with a line and a column


_SLOW = """
path-tab path-carriage-return path-dollar path-semicolon path-percent path-star path-hash path-at-sign path-equals
path-non-ascii path-hidden path-cpp-suffix path-header-suffix path-assembler-suffix path-object-suffix
path-capital-suffix path-trigraph path-error-escape path-null-device path-zero-device path-proc path-proc-text
path-empty path-too-long path-deep path-through-file path-link-nowhere path-unreadable
"""


def register() -> None:
    before = set(CASES)
    _register()
    mark_slow(before, frozenset(_SLOW.split()))


def _register() -> None:
    for name, file in {
        "space": "a b.c",
        "quotes": "a'b\"c.c",
        "backslash": "a\\b.c",
        "trailing-backslash": "a.c\\",
        "newline": "a\nb.c",
        "tab": "a\tb.c",
        "escape": "\033[31mred.c",
        "carriage-return": "a\rperfembed.c",
        "dollar": "$HOME$(touch x)`touch y`.c",
        "semicolon": "a;touch x;.c",
        "percent": "%s%n%x.c",
        "star": "*.c",
        "hash": "#a.c",
        "at-sign": "@a.c",
        "option": "-o.c",
        "long-option": "--json",
        "dash": "-",
        "equals": "=.c",
        "colon": "a:1:2: error: x.c",
        "non-ascii": "größe-数.c",
        "right-to-left": "a\u202ec.b.c",
        "long": "a" * 250 + ".c",
        "hidden": ".c",
        "no-suffix": "Makefile",
        "cpp-suffix": "a.cpp",
        "header-suffix": "a.h",
        "assembler-suffix": "a.S",
        "object-suffix": "a.o",
        "capital-suffix": "a.C",
        "trigraph": "a??'b.c",
    }.items():
        case(f"path-{name}", _BAD + loops("A[i] = i;").replace("f(", "h("), _NEST, file=file)
    case("path-error-newline", "int x = y;\n", frozenset((4,)), file="a\nb.c")
    case("path-error-escape", "int x = y;\n", frozenset((4,)), file="\033[31m.c")
    case("path-error-not-utf-8", "int x = y;\n", frozenset((4,)), file=os.fsdecode(b"\xff.c"), said="UTF-8")
    case("path-json-not-utf-8", _BAD, frozenset((4,)), file=os.fsdecode(b"a\xff.c"), options=("--json",))
    case("path-missing", None, USAGE)
    case("path-folder", None, USAGE, prepare=lambda folder: (folder / "a.c").mkdir())
    case("path-fifo", None, USAGE, prepare=lambda folder: os.mkfifo(folder / "a.c"))
    case("path-null-device", None, USAGE, file="/dev/null")
    case("path-zero-device", None, USAGE, file="/dev/zero")
    case("path-stdin", None, USAGE, file="/dev/stdin")
    case("path-proc", None, ANY | USAGE, file="/proc/self/mem")
    case("path-proc-text", None, ANY | USAGE, file="/proc/self/status")
    case("path-empty", None, USAGE, file="")
    case("path-too-long", None, USAGE, file="a" * 300 + ".c")
    case("path-deep", None, USAGE, file="/".join(["a"] * 3_000))
    case(
        "path-through-file",
        None,
        USAGE,
        file="a.c/b.c",
        prepare=lambda folder: (folder / "a.c").write_text("int x;") and None,
    )
    case("path-link", None, _NEST, prepare=_linked)
    case("path-link-loop", None, USAGE, prepare=lambda folder: (folder / "a.c").symlink_to("a.c"))
    case("path-link-nowhere", None, USAGE, prepare=lambda folder: (folder / "a.c").symlink_to("none.c"))
    case("path-read-only", None, _NEST, prepare=_read_only)
    case("path-unreadable", None, USAGE | UNDERSTOOD, prepare=_unreadable)  # root reads it all the same
    case("path-sparse", None, frozenset((4, 3)), prepare=_sparse)


def _linked(folder: Path) -> None:
    (folder / "real.c").write_text(loops("A[i] = 1;"))
    (folder / "a.c").symlink_to("real.c")


def _read_only(folder: Path) -> None:
    (folder / "a.c").write_text(loops("A[i] = 1;"))
    (folder / "a.c").chmod(0o400)


def _unreadable(folder: Path) -> None:
    (folder / "a.c").write_text(loops("A[i] = 1;"))
    (folder / "a.c").chmod(0)


def _sparse(folder: Path) -> None:
    with (folder / "a.c").open("wb") as file:
        file.truncate(20 << 30)
