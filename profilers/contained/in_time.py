"""Work that may take for ever, or crash: done in a child process, and given up after a while.

Integer programming has no useful bound, and the operations isl counts leave out some that take minutes. The time that
counts is the child's processor time: what a machine with much to do withholds from it is no reason to give up.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import select
import signal
import struct
import time
from collections.abc import Callable, Generator, Sequence
from enum import Enum
from typing import TypeVar

from profilers.contained.limits import die_with_parent, lower_limit

_MEMORY_BYTES = 4 << 30
_PATIENCE = 30.0  # so many times as long a child is waited for
_TICK_S = 0.05  # of what the kernel accounts
_LENGTH = struct.Struct("<Q")
T = TypeVar("T")
R = TypeVar("R")


class Undone(Enum):
    """Why there is no result: the item's own work was too much, or there was no time left for it."""

    TOO_HARD = "the analysis takes too long"
    NO_TIME = "there was no time left for it"


def in_time(
    work: Callable[[T], R],
    items: Sequence[T],
    *,
    item_s: float,
    total_s: float,
    wall_s: float | None = None,
    memory_bytes: int = _MEMORY_BYTES,
) -> list[R | Undone]:
    """`work` of each item; TOO_HARD where it takes longer than `item_s`, or crashes; NO_TIME once `total_s` are spent.

    Both are of processor time; the rest has NO_TIME also after `wall_s` (None: many times `total_s`). What `work`
    raises is raised here. Results are pickled.
    """
    end = time.monotonic() + (_PATIENCE * total_s if wall_s is None else wall_s)
    results: list[R | Undone] = []
    left_s = total_s
    while len(results) < len(items) and time.monotonic() < end and left_s > _TICK_S:
        spent_s: list[float] = []
        with contextlib.closing(
            _answers(work, items[len(results) :], item_s, left_s, end, memory_bytes, spent_s)
        ) as answers:
            results.extend(answers)
        left_s -= sum(spent_s)
        if len(results) < len(items):  # the one the child was at
            late = time.monotonic() >= end or left_s <= _TICK_S
            results.append(Undone.NO_TIME if late else Undone.TOO_HARD)
    return results + [Undone.NO_TIME] * (len(items) - len(results))


def _answers(
    work: Callable[[T], R],
    items: Sequence[T],
    item_s: float,
    total_s: float,
    end: float,
    memory_bytes: int,
    spent_s: list[float],
) -> Generator[R, None, None]:
    """What a child gets done until it has finished, is late, or has died; then its processor time is in `spent_s`."""
    ours, theirs = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            _confine(parent, memory_bytes)
            for item in items:
                seconds = max(min(item_s, total_s - time.process_time()), 1e-6)  # 0 would be no limit
                signal.setitimer(signal.ITIMER_PROF, seconds)  # SIGPROF ends it
                _write(theirs, pickle.dumps(_result(work, item), pickle.HIGHEST_PROTOCOL))
        finally:
            os._exit(0)
    os.close(theirs)
    try:
        for _ in items:
            length = _read(ours, _LENGTH.size, end)
            data = _read(ours, _LENGTH.unpack(length)[0], end) if length is not None else None
            if data is None:
                return
            result, failure = pickle.loads(data)
            if failure is not None:
                raise failure
            yield result
    finally:
        os.close(ours)
        os.kill(child, signal.SIGKILL)  # it is ours until it is waited for
        used = os.wait4(child, 0)[2]
        spent_s.append(used.ru_utime + used.ru_stime)


def _confine(parent: int, memory_bytes: int) -> None:
    die_with_parent(parent)
    lower_limit(resource.RLIMIT_AS, memory_bytes)
    lower_limit(resource.RLIMIT_CORE, 0)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)


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
