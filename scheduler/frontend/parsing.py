"""Runs the parser in contained child processes, which are used again."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterable
from functools import cache

from scheduler.frontend.clang.dialect import dialect_of
from scheduler.frontend.model import (
    BLOCKED_S,
    CompilerAbsent,
    Failure,
    ParseFailed,
    ParseOptions,
    ParserDied,
    ParserStopped,
    Rejection,
    Request,
    SourceFile,
)
from scheduler.frontend.parsers import ready, started, waiting
from scheduler.ir.nest import Span

_MAX_BYTES = 8 << 20
_FOREVER_S = 1e6
_ENDING_S = 10.0  # for a parser that has closed its end
_COMPILER_CPU_S, _COMPILER_WALL_S = 60, 600  # for the user's compiler, where it is asked
_DIAGNOSTIC = re.compile(r":(\d+):(\d+): (.*)", re.DOTALL)
_GCC_WARNINGS = (
    "implicit-function-declaration",
    "implicit-int",
    "int-conversion",
    "incompatible-function-pointer-types",
    "return-type",
)


@cache
def compiler_headers(cc: str) -> str | None:
    """The folder of the compiler's own headers (stddef.h, omp.h); None of what is no compiler. Raises ParserStopped."""
    try:
        done = subprocess.run(
            [cc, "-print-file-name=include"],
            capture_output=True,
            timeout=_COMPILER_WALL_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise ParserStopped(f"{cc} did not say within {_COMPILER_WALL_S} s where its headers are") from None
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
    """Starts a parser's process, which takes longest to load; the next `read_source` uses it."""
    if not waiting:
        with contextlib.suppress(OSError):  # said by whoever needs it
            waiting.append(started())


def read_source(path: str | os.PathLike[str], options: ParseOptions, content: bytes | None = None) -> SourceFile:
    """The loop nests of a C file; none where only `cc` understands it.

    Raises ParseFailed, CompilerAbsent, ParserDied (or ParserStopped).
    """
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
    return understood(_asked(request, options), request, options)


def _asked(request: Request, options: ParseOptions) -> SourceFile | Failure:
    """What a parser process answers. Raises ParserDied (or ParserStopped)."""
    parser = ready()
    try:
        answer = parser.answer(request, min(options.wall_s, _FOREVER_S))
    except TimeoutError:
        parser.end()
        raise ParserStopped(f"the C parser did not come to an end within {options.wall_s:g} s") from None
    except BaseException:
        parser.end()
        raise
    if answer is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            parser.process.wait(_ENDING_S)
        errors = parser.end()
        raise _death(parser.process.returncode, errors, options)
    waiting.append(parser)
    code, output, errors = answer
    if code != 0 or not output:
        raise _death(code, errors, options)
    found: SourceFile | Failure = pickle.loads(output)
    return found


def parser_request(name: str, content: bytes, options: ParseOptions) -> Request:
    """What the parser process is asked about a file."""
    arguments, dialect = parser_arguments(options.arguments, options.cc), dialect_of(options.arguments)
    limits = (options.memory_bytes, options.timeout_s)
    return Request(name, content, arguments, *limits, options.given, dialect, options.print_after, options.fixes)


def understood(answer: SourceFile | Failure, request: Request, options: ParseOptions) -> SourceFile:
    """What the parser answered; no nests where only `cc` understands the file. Raises as `read_source`."""
    name, content = request.path, request.content
    if isinstance(answer, Failure):
        if answer.diagnostics:
            _check_compiler(options.cc, answer.diagnostics)
        if answer.diagnostics and _compiles(name, content, options):
            return _not_understood(name, content, answer, options.cc)
        if answer.diagnostics:
            raise ParseFailed(answer.diagnostics)
        raise _no_memory(options) if answer.no_memory else ParserDied(answer.reason)
    return answer


def _check_compiler(cc: str, diagnostics: tuple[str, ...]) -> None:
    """Raises CompilerAbsent where a file may not be understood because there is none, or none with headers."""
    if shutil.which(cc) is None:
        raise CompilerAbsent(f"there is no compiler {cc}")
    if compiler_headers(cc) is None and any("file not found" in text for text in diagnostics):
        raise CompilerAbsent(f"{cc} does not say where its headers are, as gcc and clang do")


def _compiles(name: str, content: bytes, options: ParseOptions) -> bool:
    """Whether the user's compiler takes a file (with the headers it includes) that the C parser does not."""
    folder = os.path.dirname(os.path.abspath(name))
    command = [options.cc, *options.arguments, "-w", "-iquote", folder, "-fsyntax-only", "-x", "c", "-"]
    pipe, hole = subprocess.PIPE, subprocess.DEVNULL
    try:
        with subprocess.Popen(command, stdin=pipe, stdout=hole, stderr=hole, start_new_session=True) as process:
            try:
                with contextlib.suppress(OSError, ValueError):  # it has ended, or may use less than that
                    resource.prlimit(process.pid, resource.RLIMIT_CPU, (_COMPILER_CPU_S, _COMPILER_CPU_S))
                process.communicate(content, timeout=_COMPILER_WALL_S)
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
    except subprocess.TimeoutExpired:
        raise ParserStopped(f"{options.cc} did not compile it within {_COMPILER_WALL_S} s") from None
    except OSError:
        return False
    return process.returncode == 0


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


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_MEMORY = (b"MemoryError", b"bad_alloc", b"LLVM ERROR: out of memory", b"llocate memory", b"failed to map segment")


def _no_memory(options: ParseOptions) -> ParserStopped:
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    few = allowed != resource.RLIM_INFINITY and allowed < options.memory_bytes
    return ParserStopped(f"the C parser ran out of memory{f' (`ulimit -v` allows {allowed >> 20} MiB)' * few}")


def _death(code: int, errors: bytes, options: ParseOptions) -> ParserDied:
    """Why there is no answer."""
    if any(text in errors for text in _MEMORY):
        return _no_memory(options)
    if code == -signal.SIGPROF:
        return ParserStopped(f"the C parser needed more than {options.timeout_s:g} s of processor time")
    if code == -signal.SIGALRM:
        return ParserStopped(f"the C parser waited for {BLOCKED_S} s for something that it reads: a pipe, a device?")
    if code == -signal.SIGXCPU:
        return ParserStopped("the C parser needed more processor time than `ulimit -t` allows")
    if code == -signal.SIGKILL:
        return ParserStopped("the C parser was killed: it used too much memory or processor time")
    if code < 0:
        return ParserDied(f"the C parser crashed (signal {-code})")
    last = errors.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no output"]
    return ParserDied(f"the C parser failed: {last[0]}")
