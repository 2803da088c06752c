"""compile_commands.json: how a build compiles each of its files (https://clang.llvm.org/docs/JSONCompilationDatabase)."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfembed.building.arguments import CommandLine, code_flags, expanded
from perfembed.building.build import Unit
from perfembed.errors import UsageError
from perfembed.flags import absolute
from profilers.build import CompilerConfig

NAME = "compile_commands.json"
_MAX_BYTES = 256 << 20
_LAUNCHERS = ("ccache", "distcc", "sccache", "icecc", "nice", "time", "env")


def read_compile_commands(path: str) -> tuple[Unit, ...]:
    """The C files in it, each as it is compiled first, named relative to the current folder. Raises UsageError."""
    try:
        size = os.path.getsize(path)
        entries = json.loads(Path(path).read_bytes()) if size <= _MAX_BYTES else None
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise UsageError(f"{path}: cannot be read: {reason}") from None
    if not isinstance(entries, list):
        raise UsageError(f"{path}: not a list of commands", "CMake writes one with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    found: dict[str, Unit] = {}
    for number, entry in enumerate(entries):
        for unit in _units(path, number, entry):
            found.setdefault(os.path.realpath(unit.path), unit)
    return tuple(found.values())


def _units(path: str, number: int, entry: Any) -> Sequence[Unit]:
    try:
        directory = os.path.join(os.path.dirname(os.path.abspath(path)), entry["directory"])
        words = [str(word) for word in entry.get("arguments") or shlex.split(entry["command"])]
        file = os.path.join(directory, entry["file"])
    except (KeyError, TypeError, AttributeError, ValueError):
        raise UsageError(f"{path}: entry {number + 1} has no directory, file and command") from None
    return [unit for unit in units_of(words, directory) if os.path.realpath(unit.path) == os.path.realpath(file)]


def units_of(words: Sequence[str], directory: str) -> Sequence[Unit]:
    """The C files that a compiler's command line (its own name in front) compiles, run in a folder."""
    words = list(words)
    while len(words) > 1 and os.path.basename(words[0]) in _LAUNCHERS:
        del words[0]
    line = CommandLine(expanded(words[1:], directory))
    if line.stage in ("preprocess", "check"):
        return ()
    flags = absolute(line.compile, directory)
    cc = os.path.join(directory, words[0]) if os.sep in words[0] else words[0]
    return [
        Unit(
            os.path.relpath(os.path.normpath(os.path.join(directory, source.path))),
            CompilerConfig(cc, flags),
            Path(directory),
            code_flags(flags),
        )
        for source in line.sources
    ]
