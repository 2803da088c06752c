"""One contained child process: started, watched, its output read with limits."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import IO

from profilers.contained.confine import landlock_version
from profilers.contained.errors import ContainmentError, NotExecutable
from profilers.contained.limits import check_file_size, limit_hit
from profilers.contained.supervisor import supervisor_binary

_REASONS = (None, "wall", "memory", "processes", "cancelled")


_LATE_S = 0.4  # how long after the wall limit the supervisor's report is waited for


_CHUNK = 1 << 16
_PATIENCE = 10.0  # so many times as long as a process may work it is waited for


@dataclass(frozen=True, slots=True)
class Limits:
    """What a contained child may use; 0 means no limit (not for `wall_s`).

    `memory_bytes` bounds the address space of each process and the resident memory of all of them;
    `processes` and that sum are checked ten times a second. Output beyond `output_bytes` of a
    stream is read and dropped. `cpu_s` None means the wall limit on every core.
    """

    wall_s: float = 30.0
    memory_bytes: int = 4 << 30
    cpu_s: float | None = None
    processes: int = 256
    output_bytes: int = 1 << 20
    file_bytes: int = 16 << 30
    stack_bytes: int = 64 << 20

    @classmethod
    def of_work(cls, cpu_s: float, memory_bytes: int = 4 << 30, output_bytes: int = 1 << 20) -> Limits:
        """For what has to come out the same whatever else the machine does, such as a compiler's verdict.

        Each process has `cpu_s` of processor time; all are waited for many times as long.
        """
        return cls(wall_s=_PATIENCE * cpu_s, memory_bytes=memory_bytes, cpu_s=cpu_s, output_bytes=output_bytes)


@dataclass(frozen=True, slots=True)
class Command:
    """One program to run: environment and open files are exactly the given ones.

    `stdin`: bytes, or the path of a file; None: nothing. `writable`: the folders and files below which alone it can
    change anything, where the system can hold it to that (`confines_writes`); None: it may write where its user may.
    """

    argv: tuple[str, ...]
    limits: Limits
    env: Mapping[str, str]
    cwd: str | os.PathLike[str]
    stdin: bytes | os.PathLike[str] | None = None
    pass_fds: tuple[int, ...] = ()
    writable: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """How a contained child ended. `returncode` is minus the signal's number where a signal ended it.

    `limit` says which limit ended it, or what it started as a compiler's driver does: "wall", "cpu", "memory",
    "processes", "file" (its size) or "cancelled" (someone signalled the supervisor), else None. `survivors` counts
    descendants that had to be killed. `dropped`: a digest of the output that was not kept; empty where all was.
    """

    returncode: int
    signal: int | None
    stdout: bytes
    stderr: bytes
    wall_s: float
    cpu_s: float
    max_rss_bytes: int
    timed_out: bool
    output_truncated: bool
    limit: str | None
    survivors: int
    dropped: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.returncode == 0 and self.limit is None


class _Stream:
    """One captured output stream with its cap."""

    __slots__ = ("cap", "data", "dropped", "file", "truncated")

    def __init__(self, file: IO[bytes], cap: int) -> None:
        self.file, self.cap = file, cap
        self.data = bytearray()
        self.dropped = blake2b(digest_size=20)
        self.truncated = False
        os.set_blocking(file.fileno(), False)

    def read(self) -> bool:
        """Reads once; False at the end of the stream."""
        try:
            chunk = os.read(self.file.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        keep = len(chunk) if not self.cap else max(0, self.cap - len(self.data))
        self.truncated |= len(chunk) > keep
        self.data += chunk[:keep]
        if len(chunk) > keep:
            self.dropped.update(chunk[keep:])
        return bool(chunk)

    def drain(self) -> None:
        """Takes what is left in the pipe without waiting for whoever may still hold it."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                before = len(self.data)
                if not self.read() or (len(self.data) == before and not self.truncated):
                    break


class Child:
    """A started command: its supervisor, the control socket, the captured streams."""

    __slots__ = ("command", "control", "deadline", "popen", "report", "started", "streams")

    def __init__(self, command: Command) -> None:
        limits = command.limits
        if not 0 < limits.wall_s < 1e6:
            raise ContainmentError(f"a wall limit of {limits.wall_s} s")
        if not command.argv or any("\0" in word for word in command.argv):
            raise NotExecutable(f"not a command line: {command.argv!r}")
        binary = supervisor_binary(command.env.get("PATH", os.defpath))
        cores = len(os.sched_getaffinity(0))
        cpu_s = limits.wall_s * cores + 1 if limits.cpu_s is None else limits.cpu_s
        numbers = (
            math.ceil(limits.wall_s * 1000),
            limits.memory_bytes,
            math.ceil(cpu_s),
            limits.file_bytes,
            limits.stack_bytes,
            limits.processes,
        )
        folders = (-1,) if command.writable is None else (len(command.writable), *command.writable)
        self.command = command
        self.report = b""
        self.control, theirs = socket.socketpair()
        with contextlib.ExitStack() as on_failure, theirs, _input(command.stdin) as stdin:
            on_failure.callback(self.control.close)
            self.started = time.monotonic()
            try:
                self.popen = subprocess.Popen(
                    [str(binary), str(theirs.fileno()), *map(str, (*numbers, *folders)), *command.argv],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=dict(command.env),
                    cwd=command.cwd,
                    pass_fds=(theirs.fileno(), *command.pass_fds),
                    start_new_session=True,
                    bufsize=0,
                )
            except OSError as problem:
                raise ContainmentError(f"cannot start the supervisor in {command.cwd}: {problem}") from problem
            assert self.popen.stdout is not None and self.popen.stderr is not None
            self.streams = (
                _Stream(self.popen.stdout, limits.output_bytes),
                _Stream(self.popen.stderr, limits.output_bytes),
            )
            self.deadline = self.started + limits.wall_s + _LATE_S
            on_failure.pop_all()

    def read_report(self, flags: int = 0) -> bool:
        """Reads from the supervisor; True when it has said all it will."""
        try:
            chunk = self.control.recv(_CHUNK, flags)
        except (ConnectionError, InterruptedError, BlockingIOError):
            chunk = b""
        self.report += chunk
        return not chunk or self.report.endswith(b"\n")

    def close(self, wait_s: float) -> None:
        """Ends the supervisor, which first ends everything below it."""
        self.control.close()  # the supervisor takes this as the order to kill the tree and leave
        for stream in self.streams:
            stream.file.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(wait_s)

    def finished(self) -> Finished:
        """The result, once the report is complete or will not come.

        Raises NotExecutable, ContainmentError and FileSizeLimited.
        """
        for stream in self.streams:
            stream.drain()
        if not self.report:  # said while this process was stopped, as by Ctrl-Z
            self.read_report(socket.MSG_DONTWAIT)
        late = not self.report
        self.close(0.0 if late else 1.0)
        out, err = self.streams
        wall_s = time.monotonic() - self.started
        if late:
            if self.popen.returncode is not None:
                raise ContainmentError(f"the supervisor of {self.command.argv[0]} ended with {self.popen.returncode}")
            fields = [signal.SIGKILL, int(wall_s * 1e9), 0, 0, 0, 1, 1, 0]
        else:
            fields = [int(field) for field in self.report.split()]
        status, wall_ns, user_us, system_us, rss_kib, reason, survivors, exec_errno = fields
        if exec_errno:
            raise NotExecutable(f"cannot execute {self.command.argv[0]}: {os.strerror(exec_errno)}")
        code = os.waitstatus_to_exitcode(status)
        limit = _REASONS[reason]
        if limit is None and code:
            limit = limit_hit(code, err.data)
        if limit == "file":
            check_file_size(self.command.argv[0], self.command.limits.file_bytes)
        return Finished(
            returncode=code,
            signal=-code if code < 0 else None,
            stdout=bytes(out.data),
            stderr=bytes(err.data),
            wall_s=wall_ns / 1e9,
            cpu_s=(user_us + system_us) / 1e6,
            max_rss_bytes=rss_kib * 1024,
            timed_out=limit in ("wall", "cpu"),
            output_truncated=out.truncated or err.truncated,
            limit=limit,
            survivors=survivors,
            dropped=" ".join(stream.dropped.hexdigest() if stream.truncated else "" for stream in (out, err)).strip(),
        )


@contextlib.contextmanager
def _input(data: bytes | os.PathLike[str] | None) -> Iterator[int]:
    if data is None:
        yield subprocess.DEVNULL
        return
    with memory_file("stdin", data) if isinstance(data, bytes) else open(data, "rb", buffering=0) as file:
        yield file.fileno()


def confines_writes() -> bool:
    """Whether `Command.writable` holds here: the kernel has Landlock (Linux 5.13) and it is switched on."""
    return landlock_version() > 0


@contextlib.contextmanager
def memory_file(name: str, data: bytes = b"") -> Iterator[IO[bytes]]:
    """An anonymous file in memory holding `data`, positioned at its start; for `pass_fds`."""
    with os.fdopen(os.memfd_create(name), "w+b", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) or 0 :]
        file.seek(0)
        yield file
