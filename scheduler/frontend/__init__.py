"""C in: the loop nests of a C file, or why a loop is left alone."""

from scheduler.frontend.clang import read_source
from scheduler.frontend.diagnostics import render_diagnostic
from scheduler.frontend.model import (
    RACE,
    CompilerAbsent,
    FrontendError,
    Function,
    ParseFailed,
    ParseOptions,
    ParserDied,
    ParserStopped,
    Premises,
    Rejection,
    Shared,
    Sharing,
    SourceFile,
)

__all__ = [
    "RACE",
    "CompilerAbsent",
    "FrontendError",
    "Function",
    "ParseFailed",
    "ParseOptions",
    "ParserDied",
    "ParserStopped",
    "Premises",
    "Rejection",
    "Shared",
    "Sharing",
    "SourceFile",
    "read_source",
    "render_diagnostic",
]
