"""The iterators around a place in a program, and what an affine expression can be there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.ir.affine import Affine


@dataclass(frozen=True, slots=True)
class Iterator:
    """It runs over [max(starts), min(stops)), in whichever direction; `trips` where only data tells how often."""

    name: str
    starts: tuple[Affine, ...]
    stops: tuple[Affine, ...]
    step: int = 1
    trips: float | None = None


def most(affine: Affine, around: Sequence[Iterator], sizes: Mapping[str, int]) -> int:
    """An upper bound on an expression of iterators (outermost first) and extents.

    Every iterator is replaced by the bound of its loop, from the innermost to the outermost, so that bounds that
    depend on outer iterators are exact; of several bounds the best one counts.
    """
    for level in range(len(around) - 1, -1, -1):
        iterator = around[level]
        coefficient = affine.coefficient(iterator.name)
        if not coefficient:
            continue
        rest = affine - Affine.of(iterator.name, coefficient)
        ends = [s - 1 for s in iterator.stops] if coefficient > 0 else list(iterator.starts)
        return min(most(rest + end * coefficient, around[:level], sizes) for end in ends)
    return affine.evaluate(sizes)


def least(affine: Affine, around: Sequence[Iterator], sizes: Mapping[str, int]) -> int:
    return -most(-affine, around, sizes)


def trips(around: Sequence[Iterator], sizes: Mapping[str, int]) -> list[float]:
    """About how often each loop runs each time it is reached: outer iterators count as the middle of their range."""
    middle: dict[str, float] = {name: float(value) for name, value in sizes.items()}
    result = []
    for iterator in around:
        start = max(_value(s, middle) for s in iterator.starts)
        stop = min(_value(s, middle) for s in iterator.stops)
        count = iterator.trips if iterator.trips is not None else (stop - start) / iterator.step
        result.append(max(count, 0.0))
        middle[iterator.name] = (start + stop) / 2
    return result


def _value(affine: Affine, values: Mapping[str, float]) -> float:
    return affine.const + sum(c * values[a] for a, c in affine.terms if isinstance(a, str))
