"""Other arguments of the program than those of the captured run: numbers in place of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_NUMBER = re.compile(r"[-+]?(?:\d+|0[xX][0-9a-fA-F]+)")
_READS_ARGUMENTS = re.compile(rb"\bmain\s*\([^()]*\w[^()]*,[^()]*\)")
_EDGES = ((1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_NEAR, _FAR = 20, 250  # so far below an edge, where a size that is added to it is small or not


def other_arguments(arguments: Sequence[str], texts: Iterable[bytes]) -> Iterator[tuple[str, ...]]:
    """Arguments like these, the likeliest to matter first; nothing for a program that takes no numbers.

    `texts`: of the program's files, which tell whether it reads arguments at all.
    """
    places = [k for k, text in enumerate(arguments) if _NUMBER.fullmatch(text)]
    seen = {tuple(arguments)}
    if not arguments and any(_READS_ARGUMENTS.search(text) for text in texts):
        for given in _without_any():
            yield tuple(map(str, given))
        return
    for changed in _changed([int(arguments[k], 0) for k in places]) if places else ():
        found = list(arguments)
        for place, value in zip(places, changed, strict=True):
            found[place] = str(value)
        if tuple(found) not in seen:
            seen.add(tuple(found))
            yield tuple(found)


def _without_any() -> Iterator[tuple[int, ...]]:
    yield from ((100,), (3,), (0,), (5, 61), (1,), (512,), (-3,))
    for edge in _EDGES:
        yield (edge - _NEAR,)
        yield (edge - _FAR,)


def _changed(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Small numbers in one place or in all, powers of two just above, then where types end."""
    for number in range(len(values)):
        for value in (5, 0, 1, 2):
            yield _with(values, number, value)
    yield tuple(min(value, 31) for value in values)
    if len(values) > 1:
        yield tuple(7 if number else 13 for number in range(len(values)))
    for number, value in enumerate(values):
        yield _with(values, number, _prime_below(value))
        yield _with(values, number, 1 << max(value, 1).bit_length())
    for number in range(len(values)):
        yield _with(values, number, -1)
    for edge in _EDGES:
        for number in range(len(values)):
            yield _with(values, number, edge - _NEAR)
            yield _with(values, number, edge - _FAR)


def _with(values: Sequence[int], number: int, value: int) -> tuple[int, ...]:
    return (*values[:number], value, *values[number + 1 :])


def _prime_below(value: int) -> int:
    for candidate in range(min(max(value - 1, 2), 1 << 20), 1, -1):
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            return candidate
    return 2
