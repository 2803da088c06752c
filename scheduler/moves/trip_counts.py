"""How often loops run, about."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.ir.nest import Loop

PORTION = 16  # iterations, usually: fewer in short loops, more in long ones, by portions a thread
_LEAST_PORTIONS, _MOST_PORTIONS = 8, 64


def trip_counts(nest_loops: tuple[Loop, ...], parameters: Mapping[str, int]) -> dict[str, int]:
    """Typical iterations of each loop, outer iterators at the middle of their ranges; 16 for opaque loops."""
    middle: dict[str, int] = dict(parameters)
    counts: dict[str, int] = {}
    for loop in nest_loops:
        if isinstance(loop.start, tuple) and isinstance(loop.stop, tuple):
            values = [[a.evaluate(OrThousand(middle)) for a in bound] for bound in (loop.start, loop.stop)]
            first = max(values[0]) if loop.step > 0 else min(values[0])
            last = min(values[1]) if loop.step > 0 else max(values[1])
            counts[loop.name] = max(0, -(-(last - first) // loop.step))
            middle[loop.name] = (first + last) // 2
        else:
            counts[loop.name] = 16
            middle[loop.name] = 0
    return counts


class OrThousand(dict[str, int]):
    """Names without a value count as 1000."""

    def __missing__(self, key: str) -> int:
        return 1000


def power_of_two(limit: int) -> int:
    """The greatest power of two that is not above the limit; 0 if there is none."""
    return 1 << (limit.bit_length() - 1) if limit > 0 else 0


def portion(trips: int, threads: int) -> int:
    """So few iterations that threads end together, so many that dealing them out costs nothing."""
    few, many = (trips // (threads * count) for count in (_LEAST_PORTIONS, _MOST_PORTIONS))
    return max(1, min(few, max(PORTION, many)))
