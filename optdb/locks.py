"""Advisory locks on files: who writes a database, who waits to read it, whether a spool file's writer still lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from optdb.errors import Locked, translate

_PAUSE_S = 0.02


class FileLock:
    """An exclusive lock on a file, which is made if need be and stays; it ends with the process at the latest."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, wait_s: float, what: str) -> None:
        """Raises Locked, naming the holder, when another has it for `wait_s` seconds."""
        deadline = time.monotonic() + wait_s
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as problem:
            raise translate(problem, self.path) from None
        try:
            while not try_lock(descriptor):
                if time.monotonic() >= deadline:
                    holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
                    raise Locked(f"{what} is being written by process {holder}", "wait until it has ended, or end it")
                time.sleep(_PAUSE_S)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BaseException as problem:
            os.close(descriptor)
            if isinstance(problem, OSError):
                raise translate(problem, self.path) from None
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        """Does nothing where it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def try_lock(descriptor: int) -> bool:
    """Locks an open file unless another has it open and locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


READERS = ".readers"


@contextlib.contextmanager
def waiting_to_read(database: Path) -> Iterator[None]:
    """Lets whoever writes the database know that a reader waits; without effect where the folder may not be written."""
    descriptor = None
    with contextlib.suppress(OSError):
        descriptor = os.open(database.with_name(database.name + READERS), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def reader_waits(database: Path) -> bool:
    """Whether anyone is in `waiting_to_read`."""
    try:
        descriptor = os.open(database.with_name(database.name + READERS), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False  # nobody ever waited
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)
