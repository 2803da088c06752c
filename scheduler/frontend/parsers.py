"""The processes that read C files (`scheduler.frontend.child`): started, asked, and used again."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import time
from dataclasses import dataclass

from profilers.contained.python import python_command
from scheduler.frontend.framing import frame, received
from scheduler.frontend.model import Request


@dataclass(frozen=True, slots=True)
class Parser:
    """A process that answers one request after the other, through `asked`."""

    process: subprocess.Popen[bytes]
    asked: socket.socket

    def answer(self, request: Request, wall_s: float) -> tuple[int, bytes, bytes] | None:
        """(exit code, what was found, what was said) of the process that read the file; None where this one ended.

        Raises TimeoutError.
        """
        late = time.monotonic() + wall_s
        self.asked.settimeout(wall_s)
        try:
            self.asked.sendall(frame(pickle.dumps((request, _folder()))))
        except ConnectionError:
            return None
        self.asked.settimeout(max(late - time.monotonic(), 1e-3))
        data = received(self.asked)
        return None if data is None else pickle.loads(data)

    def end(self) -> bytes:
        """With what reads a file for it; returns what it said."""
        self.asked.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.communicate()[1]


waiting: list[Parser] = []
os.register_at_fork(after_in_child=waiting.clear)  # they are the parent's


def _folder() -> str:
    """The current folder; empty where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


@atexit.register
def _end_parsers() -> None:
    while waiting:
        waiting.pop().end()


def ready() -> Parser:
    """One that waits, unless something has ended it."""
    while waiting:
        parser = waiting.pop()
        if parser.process.poll() is None:
            return parser
        parser.end()
    return started()


def started() -> Parser:
    """A parser that waits for its requests, and ends where none comes any more."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            python_command("scheduler.frontend.child"),
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    return Parser(process, ours)
