"""Reads a C file, with the failures that the commands know."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from perfembed.errors import EnvironmentMissing, NotRead, SourceRejected
from scheduler.frontend import (
    CompilerAbsent,
    ParseFailed,
    ParseOptions,
    ParserDied,
    ParserStopped,
    SourceFile,
    read_source,
)

AGAIN = "the machine may have had too much else to do: try it again"


def read_file(path: str, content: bytes, options: ParseOptions) -> SourceFile:
    """The nests of a C file. Raises SourceRejected (its advice: all further problems), NotRead, EnvironmentMissing."""
    try:
        return read_source(path, options, content)
    except ParseFailed as error:
        first, *others = error.diagnostics or (f"{path}: not valid C",)
        raise SourceRejected(first, "\n".join(others)) from None
    except CompilerAbsent as error:
        raise EnvironmentMissing(str(error), "perfembed doctor says what is missing") from None
    except ParserStopped as error:
        raise NotRead(f"{path}: not read: {error.reason}", "" if "ulimit" in error.reason else AGAIN) from None
    except ParserDied as error:
        raise SourceRejected(f"{path}: {error.reason}") from None


def read_files(files: Iterable[tuple[str, bytes]], options: ParseOptions) -> list[SourceFile]:
    """The same of several, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(lambda file: read_file(file[0], file[1], options), files))
