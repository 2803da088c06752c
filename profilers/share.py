"""Processes that share a machine: all of them compute, but one that measures does so alone."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from profilers.contained.errors import ProfilersError


class MachineShare:
    """One process's share. Between `computing` and its end it computes; inside that, `alone` waits for the others.

    Nobody computes while somebody is alone. Not for threads; a forked child needs one of its own.
    """

    def __init__(self, path: Path) -> None:
        """Raises ProfilersError where the lock file cannot be made."""
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as problem:
            raise ProfilersError(f"cannot lock {path}: {problem.strerror}") from None

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """Waits until nobody is alone."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until the others rest: at their end, or at their own `alone`."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # gives the shared lock up first: two that wait do not block
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def close(self) -> None:
        """Lets go of the lock file."""
        os.close(self._descriptor)
