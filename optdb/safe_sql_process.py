"""The process a query runs in, seen from outside: started bare, read with a deadline, killed with all it has."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from typing import IO, Any

from profilers.contained.python import python_command

_CHUNK = 1 << 16
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}


class Ended(Exception):
    """The child ended, or its time did, before it had said all."""


class Child:
    """The child process, as a source of lines; nothing of it survives the `with` block.

    `timed_out`: a deadline passed while something was waited for; `budget`: the bytes it may still write.
    """

    __slots__ = ("budget", "buffer", "errors", "popen", "selector", "timed_out")

    def __init__(self, request: bytes, output_bytes: int) -> None:
        try:
            self.popen = subprocess.Popen(
                python_command("optdb.safe_sql_child", bare=True),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_ENVIRONMENT,
                cwd="/",
                start_new_session=True,
                bufsize=0,
            )
        except OSError as problem:
            raise Ended(f"cannot start {sys.executable}: {problem.strerror or problem}") from None
        self.buffer = bytearray()
        self.errors = bytearray()
        self.budget = output_bytes
        self.timed_out = False
        self.selector = selectors.DefaultSelector()
        try:
            assert self.popen.stdin is not None
            with contextlib.suppress(BrokenPipeError), self.popen.stdin as stdin:
                _write_all(stdin, request)
            for stream in (self.popen.stdout, self.popen.stderr):
                assert stream is not None
                self.selector.register(stream, selectors.EVENT_READ)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def document(self, deadline: float) -> dict[str, Any] | None:
        """The next line if it is a JSON object; None where it is not, or none came."""
        try:
            found = json.loads(self.line(deadline))
        except (Ended, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def line(self, deadline: float) -> bytes:
        """The next line. Raises Ended."""
        searched = 0
        while (end := self.buffer.find(b"\n", searched)) < 0:
            searched = len(self.buffer)
            if not self._read(deadline):
                raise Ended
        line = bytes(self.buffer[:end])
        del self.buffer[: end + 1]
        return line

    def _read(self, deadline: float) -> bool:
        """Waits for more output; False at its end, at the deadline, and beyond the size allowed."""
        while self.selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                self.timed_out = True
                return False
            for key, _ in self.selector.select(left):
                stream = key.fileobj
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    self.selector.unregister(stream)
                elif stream is self.popen.stderr:
                    self.errors += chunk[: max(0, 4000 - len(self.errors))]
                else:
                    self.buffer += chunk
                    self.budget -= len(chunk)
                    return self.budget >= 0
        return False

    def stop(self) -> None:
        """Kills the child and whatever is in its session."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL) if self.popen.returncode is None else None
        self.popen.wait()
        self.selector.close()
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream is not None:
                stream.close()


def _write_all(stream: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[stream.write(view) or 0 :]
