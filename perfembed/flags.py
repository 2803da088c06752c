"""Paths and files among a compiler's flags: relative to where the user stands, wherever the compiler runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

_FOLDERS = ("-I", "-L", "-B", "-isystem", "-iquote", "-idirafter", "-isysroot", "--sysroot")
_FILES = (
    "-include",
    "-imacros",
    "-specs",
    "-T",
    "-fprofile-use",
    "-fauto-profile",
)  # also found elsewhere: -include x.h
_WORDS = ("-D", "-U", "-x", "-l", "-A", "-u", "-z", "-e", "-o", "-MF", "-MT", "-MQ", "-target", "--param", "-mllvm")
_HANDED_ON = ("-Xlinker", "-Xclang", "-Xpreprocessor", "-Xassembler", "-arch")
_EQUALS = ("--sysroot", "-specs", "-fprofile-use", "-fauto-profile")
_LONG_FIRST = sorted((*_FOLDERS, *_FILES), key=len, reverse=True)


def absolute(flags: Sequence[str], directory: str | os.PathLike[str]) -> tuple[str, ...]:
    """The flags with every path that is relative to `directory` made absolute; `-include stdio.h` stays."""
    found: list[str] = []
    for option in _options(flags):
        name = next((n for n in _LONG_FIRST if option[0] == n or option[0].startswith(n)), "")
        if option[0].startswith("@"):  # a file with flags in it
            found.append("@" + _there(option[0][1:], directory, must_exist=True))
        elif not option[0].startswith("-"):
            found.append(_there(option[0], directory, must_exist=True))
        elif len(option) == 2:
            value = _there(option[1], directory, must_exist=name in _FILES) if option[0] == name else option[1]
            found += (option[0], value)
        elif name and option[0] != name:
            equals = name + "=" * (name in _EQUALS and option[0].startswith(f"{name}="))
            found.append(equals + _there(option[0][len(equals) :], directory, must_exist=name in _FILES))
        else:
            found += option
    return tuple(found)


def apart(flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags without the files among them (`other.c`, `lib.a`), and these files."""
    options = list(_options(flags))
    files = tuple(option[0] for option in options if not option[0].startswith(("-", "@")))
    return tuple(word for option in options if option[0].startswith(("-", "@")) for word in option), files


def _options(flags: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The flags one by one, each with the value that stands beside it."""
    with_value = {*_FOLDERS, *_FILES, *_WORDS, *_HANDED_ON} - {"-specs", "-fprofile-use", "-fauto-profile"}
    position = 0
    while position < len(flags):
        size = 2 if flags[position] in with_value and position + 1 < len(flags) else 1
        yield tuple(flags[position : position + size])
        position += size


def _there(path: str, directory: str | os.PathLike[str], must_exist: bool) -> str:
    if not path or os.path.isabs(path) or path.startswith(("=", "$")):  # -I=dir means the compiler's own root
        return path
    there = os.path.normpath(os.path.join(directory, path))
    return path if must_exist and not os.path.exists(there) else there
