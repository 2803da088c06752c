"""Loops in the headers of a project: they are not tuned, and that is said."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from perfembed.building.build import Unit
from perfembed.building.compiling import COMPILE_LIMITS
from perfembed.building.text import beside
from perfembed.tuning.openmp import without_comments
from profilers.build import compiler_path
from profilers.contained.child import Command
from profilers.run import run_many
from scheduler.frontend.model import Rejection
from scheduler.ir.nest import Span

_LOOP = re.compile(rb"\b(?:for|while)\b")
_DIRECTIVE = re.compile(rb"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)


def loops_in_headers(
    units: Sequence[Unit], environment: Mapping[str, str], named: Callable[[str], str]
) -> tuple[Rejection, ...]:
    """The headers of these files, other than the system's, with loops in them, which are not looked at.

    `named`: a path as the user knows it.
    """
    commands = []
    for unit in units:
        flags = (*unit.compiler.flags, "-w", *beside(Path(unit.path)), "-MM", os.path.abspath(unit.path))
        words = (compiler_path(unit.compiler.cc, environment), *flags)
        commands.append(Command(words, COMPILE_LIMITS, {**environment, "LC_ALL": "C"}, unit.directory))
    headers: dict[str, None] = {}
    for unit, done in zip(units, run_many(commands, jobs=os.cpu_count() or 1), strict=True):
        for name in _prerequisites(done.stdout.decode(errors="surrogateescape")):
            path = os.path.join(unit.directory, name)
            if os.path.realpath(path) != os.path.realpath(unit.path):
                headers[os.path.realpath(path)] = None
    found = []
    for header in headers:
        try:
            content = Path(header).read_bytes()
        except OSError:
            continue
        code = _DIRECTIVE.sub(lambda m: b"\n" * m[0].count(b"\n"), without_comments(content))
        loops = list(_LOOP.finditer(code))
        if loops:
            line = code.count(b"\n", 0, loops[0].start()) + 1
            others = f", and {len(loops) - 1} more" if len(loops) > 1 else ""
            reason = f"stands in a header{others}: only loops of C files are tuned"
            found.append(
                Rejection(
                    Span(os.path.relpath(named(header)), 0, 0, line, 1), reason, "move the function into a C file", None
                )
            )
    return tuple(found)


def _prerequisites(rule: str) -> list[str]:
    """The files behind the colon of a rule that `cc -M` writes."""
    _, _, files = rule.replace("\\\n", " ").partition(": ")
    return [name.replace("\\ ", " ") for name in re.split(r"(?<!\\)\s+", files.strip()) if name]
