"""What surrounds every command: the environment it reads, and how it ends when it fails."""

from __future__ import annotations

import errno
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import typer

from perfembed.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_DONE,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    EnvironmentMissing,
    PerfembedError,
    UsageError,
)
from profilers.contained.errors import ProfilersError

_MAX_ADVICE = 10  # lines
_ULIMIT = {
    errno.ENOMEM: "ulimit -v, where it is set, allows too little",
    errno.EFBIG: "ulimit -f allows no larger file",
    errno.EAGAIN: "ulimit -u allows no more processes, or the system has too many",
}
_SHORTAGES = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, *_ULIMIT)


@dataclass(slots=True)
class Session:
    """The settings shared by all commands; `json` and `traceback` are set as their options are read.

    `began`: when the command was started, on time.monotonic's clock.
    """

    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    json: bool = False
    traceback: bool = False
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.traceback = self.traceback or self.environment.get("PERFEMBED_TRACEBACK", "") not in ("", "0")

    def color(self, stream: object) -> bool:
        """Whether a stream is a terminal that shows colours (https://no-color.org)."""
        plain = bool(self.environment.get("NO_COLOR")) or self.environment.get("TERM") == "dumb"
        return not plain and bool(getattr(stream, "isatty", bool)())


_TRAIN = frozenset(("torch", "torch_geometric"))
_ADVICE = (
    "pip install 'perfembed[train]'; the build without CUDA, a tenth of the size, has\n"
    "pip install --extra-index-url https://download.pytorch.org/whl/cpu 'perfembed[train]'"
)


def process_began() -> float:
    """When this process was started, on time.monotonic's clock: before the interpreter was loaded. See proc(5)."""
    now = time.monotonic()
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return now
    return now - max(0.0, age)


def guarded(name: str, action: Callable[[], int | None], session: Session) -> int:
    """Runs a command and turns whatever it raises into one clear line on stderr and an exit code."""
    try:
        code = action()
        sys.stdout.flush()
        return EXIT_DONE if code is None else code
    except PerfembedError as error:
        return _failed(name, error, session)
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _say(f"{name}: interrupted; nothing was written")
        _show_traceback(session)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the flush at exit must not fail again
        return EXIT_BROKEN_PIPE
    except ProfilersError as error:  # what is measured got rid of its supervisor, or that could not be started
        return _failed(name, EnvironmentMissing(str(error)), session)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _SHORTAGES:
            return _failed(name, EnvironmentMissing(str(error), _ULIMIT.get(error.errno, "")), session)
        if isinstance(error, MemoryError) and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            return _failed(name, EnvironmentMissing("there is not enough memory", _ULIMIT[errno.ENOMEM]), session)
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _TRAIN:
            return _failed(
                name, EnvironmentMissing(f"this needs {error.name}, which trains networks", _ADVICE), session
            )
        # Typer's own usage errors have no public base class in every version: they know how to format themselves.
        usage = getattr(error, "format_message", None)
        if usage is not None:
            return _usage(name, error, str(usage()), session)
        return _internal(name, error, session)


def _failed(name: str, error: PerfembedError, session: Session) -> int:
    if session.json:
        from perfembed.report.documents import error_document

        _print_document(error_document(error))
    _say(f"{name}: {error.message}{_indented(error.advice)}")
    _show_traceback(session)
    return error.exit_code


def _indented(advice: str) -> str:
    lines = advice.splitlines()
    more = [f"… and {len(lines) - _MAX_ADVICE} more"] if len(lines) > _MAX_ADVICE else []
    return "".join(f"\n  {line}" for line in [*lines[:_MAX_ADVICE], *more])


def _usage(name: str, error: Exception, message: str, session: Session) -> int:
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", None) or name
    if message.startswith("Usage:"):  # a group without a command: the message is its help
        _say(message)
        return EXIT_USAGE
    advice = ""
    if message.startswith(("No such option: -O", "No such option: -m", "No such option: -f", "No such option: -W")):
        advice = '; compiler flags go into --cflags "…"'
    text = " ".join(message.split()).rstrip(".").replace("Value error, ", "")  # as newer typers say
    if session.json:
        from perfembed.report.documents import error_document

        _print_document(error_document(UsageError(f"{text}{advice}", f"{command} --help")))
    _say(f"{command}: {text[:1].lower()}{text[1:]}{advice} (see {command} --help)")
    return EXIT_USAGE


def _internal(name: str, error: Exception, session: Session) -> int:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())
    summary = f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
    if session.json:
        problem = {"exit_code": EXIT_INTERNAL, "message": summary, "advice": ""}
        _print_document(json.dumps({"schema_version": 1, "kind": "error", "error": problem}, indent=2))
    shown = _show_traceback(session)
    hint = "" if shown else "; run again with --traceback for the traceback"
    _say(f"{name}: internal error: {summary}{where}; please report it{hint}")
    return EXIT_INTERNAL


def _show_traceback(session: Session) -> bool:
    if session.traceback:
        _say(traceback.format_exc().rstrip("\n"))
    return session.traceback


def _print_document(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError:
        return


def _say(text: str) -> None:
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
    try:
        print(shown, file=sys.stderr, flush=True)
    except OSError:
        return  # nobody listens: the exit code has to do
