"""The user's C file as nests, or in words why there is nothing to tune."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from perfembed.errors import SourceRejected, UsageError
from perfembed.flags import absolute, apart
from perfembed.tuning.result import TuneOptions
from profilers.openmp import openmp_advice
from scheduler.frontend import ParseFailed, ParseOptions, ParserDied, SourceFile, read_source


def with_inputs_apart(options: TuneOptions) -> TuneOptions:
    """With paths in the flags that are relative to the current folder made absolute, and files in `inputs`."""
    flags, inputs = apart(absolute(options.cflags, os.getcwd()))
    return replace(options, cflags=flags, inputs=(*options.inputs, *inputs))


def parse(path: str, content: bytes, options: TuneOptions) -> SourceFile:
    """Reads the nests of a file. Raises SourceRejected, UsageError (an unknown --function)."""
    try:
        source = read_source(path, ParseOptions(arguments=options.cflags, cc=options.cc), content)
    except ParseFailed as error:
        no_header = "'omp.h' file not found" in str(error)
        advice = openmp_advice(options.cc, dict(options.environment)) if no_header else ""
        raise SourceRejected(str(error), advice) from None
    except ParserDied as error:
        raise SourceRejected(f"{path}: {error}") from None
    unknown = set(options.functions) - {f.name for f in source.functions}
    if unknown:
        known = ", ".join(f.name for f in source.functions)
        raise UsageError(f"{path}: no function {', '.join(sorted(unknown))}", f"functions: {known}")
    if options.functions:
        source = replace(source, nests=tuple(n for n in source.nests if n.function in options.functions))
    return source


def nothing_tunable(sources: Sequence[SourceFile]) -> str:
    """Why, where none of these files has a nest."""
    paths = ", ".join(source.path for source in sources)
    rejections = [rejection for source in sources for rejection in source.rejections]
    if not rejections:
        return f"{paths}: no loop nest found"
    lines = [f"{r.span.file}:{r.span.line}:{r.span.column}: {r.reason}" for r in rejections]
    return f"{paths}: no tunable loop nest\n" + "\n".join(lines)
