"""Which nests of a file a database has schedules for."""

from __future__ import annotations

import os
from collections.abc import Sequence

from perfembed.wrapper.known import Known, KnownSchedule
from profilers.build import CompilerConfig
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import nest_id

Chosen = tuple[LoopNest, KnownSchedule]


def with_known_nests(
    path: str, content: bytes, compiler: CompilerConfig, known: Known
) -> tuple[SourceFile, tuple[Chosen, ...]]:
    """The file as it is read, and its nests for which there is a schedule. Raises FrontendError."""
    source = read_source(path, ParseOptions(arguments=compiler.flags, cc=compiler.cc), content)
    chosen = ((nest, _choose(known.get(nest_id(nest), ()), compiler)) for nest in source.nests)
    return source, tuple((nest, schedule) for nest, schedule in chosen if schedule is not None)


def _choose(known: Sequence[KnownSchedule], compiler: CompilerConfig) -> KnownSchedule | None:
    """The schedule that was confirmed last with such flags, by this compiler if there is one by it."""
    fitting = [one for one in known if kind_of_code(one.flags) == kind_of_code(compiler.flags)]
    name = os.path.basename(compiler.cc)
    return next((one for one in fitting if os.path.basename(one.compiler) == name), fitting[0] if fitting else None)


def kind_of_code(flags: Sequence[str]) -> tuple[str, frozenset[str]]:
    """The level of optimization and the options for the machine: schedules are good for one of these."""
    level = next((flag for flag in reversed(flags) if flag.startswith("-O")), "-O0")
    return {"-O": "-O1"}.get(level, level), frozenset(flag for flag in flags if flag.startswith("-m"))
