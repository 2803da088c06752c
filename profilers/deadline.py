"""Until when programs may be run: one deadline for everything that a command starts, however deep it is started."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class OutOfTime(Exception):
    """A program had to be ended, or was not started, because the time for all of it is over.

    No `ProfilersError`, and no outcome of that program: nothing is known of it.
    """


def forever() -> float:
    """No deadline."""
    return math.inf


_left: ContextVar[Callable[[], float]] = ContextVar("left", default=forever)


@contextmanager
def within(left_s: Callable[[], float]) -> Iterator[None]:
    """What `profilers.run` runs in here, in this thread, ends in `left_s()` seconds at the latest, asked as it starts.

    Of nested ones the innermost counts. It raises OutOfTime then.
    """
    token = _left.set(left_s)
    try:
        yield
    finally:
        _left.reset(token)


def left_s() -> float:
    """Seconds that are left here, never below 0; infinity without a deadline."""
    return max(0.0, _left.get()())


@contextmanager
def share_of_time(share: float) -> Iterator[None]:
    """In here only so much (0 … 1) of the time that is left may be used."""
    outer = _left.get()
    kept = (1 - share) * left_s()
    with within(outer if math.isinf(kept) else lambda: outer() - kept):
        yield
