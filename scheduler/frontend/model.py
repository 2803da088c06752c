"""What the front end is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scheduler.errors import SchedulerError
from scheduler.frontend.clang.dialect import Dialect
from scheduler.frontend.clang.processes import Processes
from scheduler.frontend.fixes.model import Fix
from scheduler.ir.nest import Expr, LoopNest, Span

BLOCKED_S = 16  # of wall time without any work, for the parser


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """`arguments` are compiler flags (-D, -I, -std, ...); `cc` is asked where its own headers are.

    `timeout_s`: seconds of processor time that the parser may take, its start included; `wall_s`: how long it is waited
    for, which only a machine with far too much to do exceeds.

    `given`: of the nest that begins at a byte, values that integers (by what C calls them) are taken to have: it is
    read as if they were numbers, under the assumption that they are. `print_after`: the pass (`pipeline.NAMES`) after
    which functions are printed. `fixes`: whether edits are looked for that make refused loops readable.
    """

    arguments: tuple[str, ...] = ()
    cc: str = "gcc"
    timeout_s: float = 10.0
    wall_s: float = 300.0
    memory_bytes: int = 4 << 30
    given: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    print_after: str = ""
    fixes: bool = False


RACE = "race: "  # the reason of a rejection begins so where a pragma is wrong


@dataclass(frozen=True, slots=True)
class Rejection:
    """A loop nest that was found but is left alone; `span` begins at what is in the way, `loop` is all of it."""

    span: Span
    reason: str
    advice: str
    function: str | None
    loop: Span | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function defined in the file; parameters are (type text, name)."""

    name: str
    span: Span
    parameters: tuple[tuple[str, str], ...]
    is_static: bool


@dataclass(frozen=True, slots=True)
class SourceAssumptions:
    """What the reading of a nest took for granted of the text around it: code written for the nest must test that.

    `texts`: byte ranges of the file that were read, the nest and the functions inlined in it. `function`: that of the
    function around it. `values` and `types`: C expressions (or type names) with the value or the type they had.
    `dead`: variables from outside that nothing was seen to read behind the nest. `whole_file`: what other
    functions do with pointers was looked at, too. `samples`: calls of inlined functions of other files, and what their
    bodies give there; `hidden`: those of them of which no sample can be taken; `bodies`: the texts of those, where they
    are known. `openmp`: without OpenMP the text means something else. `exact`: signed arithmetic does not wrap around.
    `library`: functions of the C library that are called. `pragmas`: byte ranges of those of the constructs around it.
    `inspector`: loops in front of it that find out whether an iteration would leave it (`flow` `exit`).
    `exits`: byte ranges in the texts that only run where one does, in the original loops.
    """

    texts: tuple[tuple[int, int], ...]
    function: tuple[int, int]
    values: tuple[tuple[str, str], ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    dead: tuple[str, ...] = ()
    whole_file: bool = False
    samples: tuple[tuple[str, Expr], ...] = ()
    hidden: tuple[str, ...] = ()
    bodies: tuple[bytes, ...] = ()
    openmp: bool = False
    exact: bool = False
    library: tuple[str, ...] = ()
    pragmas: tuple[tuple[int, int], ...] = ()
    inspector: LoopNest | None = None
    exits: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Remainder:
    """What a nest leaves of a loop whose iterations exchange buffers: it holds whole rounds of them.

    In C: `first`, where the iterator `name` of type `ctype` stands behind the nest, and `stop`, where it must not get
    by its `step`; `body`: the bytes [begin, end) of the body of the loop, which runs as it was written, or, where the
    loop goes on from where its iterator is, of the `whole` loop.
    """

    first: str
    stop: str
    name: str
    ctype: str
    step: int
    body: tuple[int, int]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Shared:
    """A loop of a nest that an OpenMP pragma shares among threads, or lanes of vectors.

    `name`: `parallel for`, `for`, `simd`, …; `clauses`: those that say how it is run, and `reductions` (operator, array
    or section), in the nest's names. `lasting`: arrays that keep what the last iteration wrote (lastprivate).
    """

    loop: str
    span: Span
    name: str
    clauses: tuple[str, ...] = ()
    collapse: int = 1
    reductions: tuple[tuple[str, str], ...] = ()
    lasting: tuple[str, ...] = ()

    @property
    def threads(self) -> bool:
        return "for" in self.name.split()


@dataclass(frozen=True, slots=True)
class Sharing:
    """What pragmas in and around a nest say of it. `context`: who runs it, as code that replaces it must know.

    `""`: one thread, which may start others; `team`: all threads of a parallel region, which share its loops; `thread`:
    one thread of several, by itself, or one that must start no others, for which `reason` says why. `reordered`: arrays
    whose updates the user lets be done in any order (reduction, atomic, critical). `protected`: (begin, end, pragma) of
    code that one thread at a time runs. `hints`: (loop, text) of pragmas to the compiler.
    """

    shared: tuple[Shared, ...] = ()
    context: str = ""
    reordered: tuple[str, ...] = ()
    protected: tuple[tuple[int, int, str], ...] = ()
    hints: tuple[tuple[str, str], ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`assumptions`, `sharing` and `remainders`: of nests, by their names (no `sharing`: no pragmas; no `remainders`:
    the nest is all of its loops).

    `around`: loops that stay as they are around nests, or around calls of functions with nests, by which nothing is
    missed, and why. `trigraphs`: whether the compiler reads them; `fixable`: of nests, integers that iterators are
    multiplied with or divided by, by what C calls them: as numbers of which more of a nest may be affine;
    `headers`: the texts of included files that are not the system's, where nests hold bodies from there. `skipped`:
    what conditionals left out for the C parser; `macros`: what names in the file and in headers that are not the
    system's stood for, token by token. `processes`: of the file and what it includes; `printed`: (function, text) of
    what was asked for. `fixes`: edits that may make refused loops readable, where these were asked for.
    """

    path: str
    content: bytes
    nests: tuple[LoopNest, ...]
    rejections: tuple[Rejection, ...]
    functions: tuple[Function, ...]
    has_main: bool
    warnings: tuple[str, ...]
    assumptions: Mapping[str, SourceAssumptions] = field(default_factory=dict)
    sharing: Mapping[str, Sharing] = field(default_factory=dict)
    trigraphs: bool = False
    headers: tuple[bytes, ...] = ()
    fixable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    processes: Processes = field(default_factory=Processes)
    skipped: tuple[tuple[int, int], ...] = ()
    macros: Mapping[str, str] = field(default_factory=dict)
    printed: tuple[tuple[str, str], ...] = ()
    around: tuple[Rejection, ...] = ()
    fixes: tuple[Fix, ...] = ()
    remainders: Mapping[str, Remainder] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """What the parser process is asked."""

    path: str
    content: bytes
    arguments: tuple[str, ...]
    memory_bytes: int
    timeout_s: float  # of processor time
    given: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    dialect: Dialect = field(default_factory=Dialect)
    print_after: str = ""
    fixes: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """`diagnostics` of a file that does not parse, or the reason the parser gave up; `no_memory` is one."""

    diagnostics: tuple[str, ...] = ()
    reason: str = ""
    no_memory: bool = False


class FrontendError(SchedulerError):
    """No nests could be read from a file."""


class ParseFailed(FrontendError):
    """The file is not valid C (or not readable); each diagnostic is `file:line:col: message`."""

    def __init__(self, diagnostics: tuple[str, ...]) -> None:
        super().__init__("\n".join(diagnostics))
        self.diagnostics = diagnostics


class ParserDied(FrontendError):
    """The parser process crashed, or was stopped."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ParserStopped(ParserDied):
    """A limit of time or memory ended the parser process: nothing is known of the file."""


class CompilerAbsent(FrontendError):
    """A file needs headers of a compiler that there is not."""


def render_diagnostic(content: bytes, span: Span, message: str, advice: str = "") -> str:
    """`file:line:col: message`, the source line, a caret under the column, and the advice."""
    lines = content.split(b"\n")
    text = f"{span.file}:{span.line}:{span.column}: {message}"
    if 1 <= span.line <= len(lines):
        raw = lines[span.line - 1].rstrip(b"\r")
        shown = raw.decode("utf-8", "replace")
        before = raw[: span.column - 1].decode("utf-8", "replace")
        pad = "".join("\t" if c == "\t" else " " for c in before)
        number = f"{span.line:5d}"
        text += f"\n{number} | {shown}\n{' ' * len(number)} | {pad}^"
    if advice:
        text += f"\n        help: {advice}"
    return text


def without_threads(source: SourceFile, program: Processes) -> SourceFile:
    """The file with what its nests must not have: threads, or that they are rewritten. `program`: all its files."""
    alone, handling = program.alone(), program.handling()
    sharing = dict(source.sharing)
    if alone:
        for nest in source.nests:
            known = sharing.get(nest.name, Sharing())
            if not (known.context or known.shared or known.protected):  # else the program has threads there itself
                sharing[nest.name] = replace(known, context="thread", reason=alone)
    nests = tuple(nest for nest in source.nests if nest.function not in handling)
    gone = tuple(_interrupting(nest) for nest in source.nests if nest.function in handling and nest.span is not None)
    if program.allocates:
        gone += tuple(_allocating(nest, min(program.allocates)) for nest in nests if nest.span is not None)
        nests = ()
    return replace(source, nests=nests, sharing=sharing, rejections=(*source.rejections, *gone))


def _allocating(nest: LoopNest, name: str) -> Rejection:
    assert nest.span is not None
    reason = f"the program has a '{name}' of its own, which tuned loops would call, and threads"
    return Rejection(nest.span, reason, "give it another name, and call it by that", nest.function, nest.span)


def _interrupting(nest: LoopNest) -> Rejection:
    assert nest.span is not None
    reason = "a signal handler runs it, which may interrupt what tuned loops call"
    return Rejection(
        nest.span, reason, "let the handler set a flag, and do the work elsewhere", nest.function, nest.span
    )
