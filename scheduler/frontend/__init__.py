"""C in: the loop nests of a C file, or why a loop is left alone."""

from scheduler.frontend.fixes.model import Edit, Fix, applied, moved
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
    "Edit",
    "Fix",
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
    "applied",
    "moved",
    "read_source",
    "render_diagnostic",
]
