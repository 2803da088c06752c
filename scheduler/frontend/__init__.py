"""C in: the loop nests of a C file, or why a loop is left alone."""

from scheduler.frontend.model import (
    RACE,
    CompilerAbsent,
    FrontendError,
    Function,
    ParseFailed,
    ParseOptions,
    ParserDied,
    ParserStopped,
    Rejection,
    Shared,
    Sharing,
    SourceAssumptions,
    SourceFile,
    render_diagnostic,
)
from scheduler.frontend.parsing import read_source

__all__ = [
    "RACE",
    "CompilerAbsent",
    "FrontendError",
    "Function",
    "ParseFailed",
    "ParseOptions",
    "ParserDied",
    "ParserStopped",
    "Rejection",
    "Shared",
    "Sharing",
    "SourceAssumptions",
    "SourceFile",
    "read_source",
    "render_diagnostic",
]
