"""The user's C file as nests, or in words why there is nothing to tune."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from perfembed.errors import NotRead, SourceRejected, UsageError
from perfembed.flags import absolute, apart
from perfembed.reading import read_file
from perfembed.tuning.options import TuneOptions
from profilers.build import CompilerConfig
from profilers.deadline import left_s
from profilers.openmp import openmp_advice
from scheduler.frontend import ParseFailed, ParseOptions, ParserDied, SourceFile, read_source
from scheduler.frontend.model import Rejection
from scheduler.ir.nest import Span

_LEAST_S = 1.0  # of wall time, for the parser


def with_inputs_apart(options: TuneOptions) -> TuneOptions:
    """With paths in the flags that are relative to the current folder made absolute, and files in `inputs`."""
    flags, inputs = apart(absolute(options.cflags, os.getcwd()))
    return replace(options, cflags=flags, inputs=(*options.inputs, *inputs))


def parse(path: str, content: bytes, options: TuneOptions) -> SourceFile:
    """Reads the nests of a file. Raises SourceRejected, NotRead, UsageError (an unknown --function)."""
    return parse_all(((path, content, CompilerConfig(options.cc, options.cflags)),), options)[0]


def parse_all(
    files: Sequence[tuple[str, bytes, CompilerConfig]], options: TuneOptions, unread: list[str] | None = None
) -> tuple[SourceFile, ...]:
    """Reads the nests of files, each as it is compiled; several at a time.

    `unread`: there are none in files that cannot be read; for which time or memory did not suffice is added to it.
    Without it raises SourceRejected, NotRead. Files whose turn comes when half of the time (`profilers.deadline`) has
    passed are left alone in any case. Raises UsageError (an unknown --function).
    """

    def read(file: tuple[str, bytes, CompilerConfig]) -> SourceFile:
        path, content, compiler = file
        try:
            return _read(path, content, compiler, dict(options.environment), ends - time.monotonic())
        except (SourceRejected, NotRead) as problem:
            if unread is None:
                raise
            if isinstance(problem, NotRead):
                unread.append(problem.message)
            return left_alone(path, content, f"the file cannot be read: {problem.message}", "")

    def read_in_time(file: tuple[str, bytes, CompilerConfig]) -> SourceFile:
        if time.monotonic() > enough:
            reason = "the file was not read: half of the budget was spent on those before it"
            if unread is not None:
                unread.append(f"{file[0]}: {reason}")
            return left_alone(file[0], file[1], reason, "--budget allows more")
        return read(file)

    enough, ends = time.monotonic() + left_s() / 2, time.monotonic() + left_s()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        sources = tuple(pool.map(lambda k: (read_in_time if k else read)(files[k]), range(len(files))))
    if not options.functions:
        return sources
    known = [function.name for source in sources for function in source.functions]
    if unknown := set(options.functions) - set(known):
        paths = ", ".join(path for path, _, _ in files)
        raise UsageError(f"{paths}: no function {', '.join(sorted(unknown))}", f"functions: {', '.join(known)}")
    return tuple(replace(s, nests=tuple(n for n in s.nests if n.function in options.functions)) for s in sources)


def left_alone(path: str, content: bytes, reason: str, advice: str) -> SourceFile:
    """A file that is not read."""
    rejection = Rejection(Span(path, 0, 0, 1, 1), reason, advice, None)
    return SourceFile(path, content, (), (rejection,), (), False, ())


def again(source: SourceFile, compiler: CompilerConfig, given: Mapping[int, Mapping[str, int]]) -> SourceFile | None:
    """The file read with values `given` (scheduler.frontend.ParseOptions); None where that fails."""
    options = ParseOptions(arguments=compiler.flags, cc=compiler.cc, given=given)
    try:
        return read_source(source.path, options, source.content)
    except (ParseFailed, ParserDied):
        return None


def _read(
    path: str, content: bytes, compiler: CompilerConfig, environment: Mapping[str, str], most_s: float
) -> SourceFile:
    """`most_s`: of wall time. Raises SourceRejected, NotRead."""
    asked = ParseOptions(arguments=compiler.flags, cc=compiler.cc)
    try:
        return read_file(path, content, replace(asked, wall_s=min(asked.wall_s, max(most_s, _LEAST_S))))
    except SourceRejected as problem:
        if "'omp.h' file not found" not in f"{problem.message}\n{problem.advice}":
            raise
        raise SourceRejected(problem.message, openmp_advice(compiler.cc, environment)) from None


def nothing_tunable(sources: Sequence[SourceFile]) -> str:
    """Why, where none of these files has a nest."""
    paths = ", ".join(source.path for source in sources)
    rejections = [rejection for source in sources for rejection in source.rejections]
    if not rejections:
        return f"{paths}: no loop nest found"
    lines = [f"{r.span.file}:{r.span.line}:{r.span.column}: {r.reason}" for r in rejections]
    return f"{paths}: no tunable loop nest\n" + "\n".join(lines)
