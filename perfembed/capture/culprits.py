"""Which of several things together make an attempt fail: found by halving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class _Spent(Exception):
    """No attempts are left."""


def without_culprits(items: Sequence[T], works: Callable[[tuple[T, ...]], bool], attempts: int = 60) -> tuple[T, ...]:
    """A largest part of `items` found for which `works` holds, in their order; `works` of all is known to fail.

    Where no attempts are left, items not seen to work are left out.
    """
    left = [attempts]

    def check(part: tuple[T, ...]) -> bool:
        if not part:
            return True
        if not left[0]:
            raise _Spent
        left[0] -= 1
        return works(part)

    good: tuple[T, ...] = ()
    waiting = _halves(tuple(items)) if len(items) > 1 else []
    try:
        while waiting:
            part = waiting.pop()
            if check(good + part):  # with what is known to be good: what only fails together is found, too
                good += part
            elif len(part) > 1:
                waiting += _halves(part)
    except _Spent:
        pass
    return tuple(item for item in items if any(item is one for one in good))


def _halves(part: tuple[T, ...]) -> list[tuple[T, ...]]:
    """The second one first: the first is taken from the end of a list."""
    middle = (len(part) + 1) // 2
    return [part[middle:], part[:middle]]
