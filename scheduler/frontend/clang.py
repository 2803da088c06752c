"""Runs the parser in a contained child process."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import scheduler
from scheduler.frontend.dialect import dialect_of
from scheduler.frontend.model import (
    Failure,
    ParseFailed,
    ParseOptions,
    ParserDied,
    Rejection,
    Request,
    SourceFile,
)
from scheduler.ir.nest import Span

_MAX_BYTES = 8 << 20
_DIAGNOSTIC = re.compile(r":(\d+):(\d+): (.*)", re.DOTALL)
_GCC_WARNINGS = (
    "implicit-function-declaration",
    "implicit-int",
    "int-conversion",
    "incompatible-function-pointer-types",
    "return-type",
)
_waiting: list[subprocess.Popen[bytes]] = []  # at most one, that `prepare_parser` started


@cache
def compiler_headers(cc: str) -> str | None:
    """The folder of the compiler's own headers (stddef.h, omp.h)."""
    try:
        done = subprocess.run(
            [cc, "-print-file-name=include"], capture_output=True, timeout=10, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    folder = os.fsdecode(done.stdout.strip())
    return folder if os.path.isdir(folder) else None


def parser_arguments(arguments: Iterable[str], cc: str) -> tuple[str, ...]:
    """Of the user's flags, those that decide what the C text means; OpenMP loops must stay loops."""
    kept = list(dialect_of(arguments).parser)
    headers = compiler_headers(cc)
    if headers is not None:
        kept += ["-isystem", headers]
    return (*kept, "-x", "c", "-w", "-ferror-limit=0", *(f"-Wno-error={name}" for name in _GCC_WARNINGS))


def prepare_parser() -> None:
    """Starts the parser's process, which takes longest to load; the next `read_source` uses it."""
    if not _waiting:
        with contextlib.suppress(OSError):  # said by whoever needs it
            _waiting.append(_started())


def read_source(path: str | os.PathLike[str], options: ParseOptions, content: bytes | None = None) -> SourceFile:
    """The loop nests of a C file; none where only `cc` understands it. Raises ParseFailed, ParserDied."""
    name = os.fspath(path)
    if name.startswith("-"):  # libclang would take it for an option, or for its standard input
        name = f"./{name}"
    if not all(map(_is_utf8, (name, *options.arguments))):
        raise ParseFailed((f"{name}:1:1: the name of the file, or a compiler flag, is not valid UTF-8",))
    if content is None:
        try:
            with open(name, "rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise ParseFailed((f"{name}:1:1: {error.strerror or error}",)) from error
    if len(content) > _MAX_BYTES:
        raise ParseFailed((f"{name}:1:1: the file is larger than {_MAX_BYTES >> 20} MiB",))
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ParseFailed((f"{name}:{line}:1: not a C source file (it contains a NUL byte)",))

    request = parser_request(name, content, options)
    process = _waiting.pop() if _waiting else _started()
    try:
        output, errors = process.communicate(pickle.dumps(request), timeout=options.timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise ParserDied(f"the C parser needed more than {options.timeout_s:g} s") from None
    except BaseException:
        process.kill()
        process.communicate()
        raise
    if process.returncode != 0 or not output:
        raise ParserDied(_reason(process.returncode, errors))
    return understood(pickle.loads(output), request, options)


def parser_request(name: str, content: bytes, options: ParseOptions) -> Request:
    """What the parser process is asked about a file."""
    arguments, dialect = parser_arguments(options.arguments, options.cc), dialect_of(options.arguments)
    return Request(name, content, arguments, options.memory_bytes, int(options.timeout_s) + 1, options.given, dialect)


def understood(answer: SourceFile | Failure, request: Request, options: ParseOptions) -> SourceFile:
    """What the parser answered; no nests where only `cc` understands the file. Raises ParseFailed, ParserDied."""
    name, content = request.path, request.content
    if isinstance(answer, Failure):
        if answer.diagnostics and _compiles(name, content, options):
            return _not_understood(name, content, answer, options.cc)
        if answer.diagnostics:
            raise ParseFailed(answer.diagnostics)
        raise ParserDied(answer.reason)
    return answer


def _compiles(name: str, content: bytes, options: ParseOptions) -> bool:
    """Whether the user's compiler takes a file (with the headers it includes) that the C parser does not."""
    folder = os.path.dirname(os.path.abspath(name))
    command = [options.cc, *options.arguments, "-w", "-iquote", folder, "-fsyntax-only", "-x", "c", "-"]
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _not_understood(name: str, content: bytes, failure: Failure, cc: str) -> SourceFile:
    """A file without nests: what other functions do with pointers must be known, and is not."""
    found = []
    for text in failure.diagnostics:
        match = _DIAGNOSTIC.match(text.removeprefix(name))
        line, column, message = (int(match[1]), int(match[2]), match[3]) if match else (1, 1, text)
        reason = f"the C parser does not understand this, though {cc} compiles it: {message}"
        span = Span(name, 0, 0, line, column)
        found.append(Rejection(span, reason, "move the loops to a file without it", None))
    return SourceFile(name, content, (), tuple(found), (), False, ())


def _started() -> subprocess.Popen[bytes]:
    """A parser that waits for its request, and ends where none comes."""
    root = str(Path(scheduler.__file__).resolve().parent.parent)
    program = f"import sys; sys.path.insert(0, {root!r}); from scheduler.frontend.child import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(code: int, errors: bytes) -> str:
    if b"MemoryError" in errors or b"bad_alloc" in errors or b"LLVM ERROR: out of memory" in errors:
        return "the C parser ran out of memory"
    if code in (-24, -9):
        return "the C parser used too much CPU time or memory"
    if code < 0:
        return f"the C parser crashed (signal {-code})"
    last = errors.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no output"]
    return f"the C parser failed: {last[0]}"
