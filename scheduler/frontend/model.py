"""What the front end is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.errors import SchedulerError
from scheduler.ir.nest import LoopNest, Span


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """`arguments` are compiler flags (-D, -I, -std, ...); `cc` is asked where its own headers are."""

    arguments: tuple[str, ...] = ()
    cc: str = "gcc"
    timeout_s: float = 8.0
    memory_bytes: int = 4 << 30


@dataclass(frozen=True, slots=True)
class Rejection:
    """A loop nest that was found but is left alone."""

    span: Span
    reason: str
    advice: str
    function: str | None


@dataclass(frozen=True, slots=True)
class Function:
    """A function defined in the file; parameters are (type text, name)."""

    name: str
    span: Span
    parameters: tuple[tuple[str, str], ...]
    is_static: bool


@dataclass(frozen=True, slots=True)
class SourceFile:
    path: str
    content: bytes
    nests: tuple[LoopNest, ...]
    rejections: tuple[Rejection, ...]
    functions: tuple[Function, ...]
    has_main: bool
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What the parser process is asked."""

    path: str
    content: bytes
    arguments: tuple[str, ...]
    memory_bytes: int
    cpu_s: int


@dataclass(frozen=True, slots=True)
class Failure:
    """`diagnostics` of a file that does not parse, or the reason the parser gave up."""

    diagnostics: tuple[str, ...] = ()
    reason: str = ""


class FrontendError(SchedulerError):
    """No nests could be read from a file."""


class ParseFailed(FrontendError):
    """The file is not valid C (or not readable); each diagnostic is `file:line:col: message`."""

    def __init__(self, diagnostics: tuple[str, ...]) -> None:
        super().__init__("\n".join(diagnostics))
        self.diagnostics = diagnostics


class ParserDied(FrontendError):
    """The parser process crashed, hung or ran out of memory."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
