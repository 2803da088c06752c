"""Work that may take for ever, or crash: done in a child process, and given up after a while.

Integer programming has no useful bound, and the operations isl counts leave out some that take minutes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import resource
import select
import signal
import struct
import time
from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

_MEMORY_BYTES = 4 << 30
_PR_SET_PDEATHSIG = 1
_LENGTH = struct.Struct("<Q")
T = TypeVar("T")
R = TypeVar("R")


def in_time(
    work: Callable[[T], R], items: Sequence[T], *, item_s: float, total_s: float, memory_bytes: int = _MEMORY_BYTES
) -> list[R | None]:
    """`work` of each item; None where it took longer than `item_s`, crashed, or was not reached within `total_s`.

    What `work` raises is raised here. Results are pickled.
    """
    end = time.monotonic() + total_s
    results: list[R | None] = []
    while len(results) < len(items) and time.monotonic() < end:
        with contextlib.closing(_answers(work, items[len(results) :], item_s, end, memory_bytes)) as answers:
            results.extend(answers)
        if len(results) < len(items):
            results.append(None)  # the one the child was at
    return results + [None] * (len(items) - len(results))


def _answers(
    work: Callable[[T], R], items: Sequence[T], item_s: float, end: float, memory_bytes: int
) -> Generator[R, None, None]:
    """What a child gets done until it has finished, is late, or has died."""
    ours, theirs = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            _confine(parent, memory_bytes)
            for item in items:
                _write(theirs, pickle.dumps(_result(work, item), pickle.HIGHEST_PROTOCOL))
        finally:
            os._exit(0)
    os.close(theirs)
    try:
        for _ in items:
            late = min(time.monotonic() + item_s, end)
            length = _read(ours, _LENGTH.size, late)
            data = _read(ours, _LENGTH.unpack(length)[0], late) if length is not None else None
            if data is None:
                return
            result, failure = pickle.loads(data)
            if failure is not None:
                raise failure
            yield result
    finally:
        os.close(ours)
        os.kill(child, signal.SIGKILL)  # it is ours until it is waited for
        os.waitpid(child, 0)


def _confine(parent: int, memory_bytes: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before that took effect
        os._exit(0)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _result(work: Callable[[T], R], item: T) -> tuple[R | None, Exception | None]:
    try:
        return work(item), None
    except MemoryError:
        os._exit(1)
    except Exception as error:
        return None, error


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read(descriptor: int, count: int, late: float) -> bytes | None:
    """None where they do not come in time, or never."""
    data = bytearray()
    while len(data) < count:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, late - time.monotonic()))
        chunk = os.read(descriptor, min(count - len(data), 1 << 20)) if ready else b""
        if not chunk:
            return None
        data += chunk
    return bytes(data)
