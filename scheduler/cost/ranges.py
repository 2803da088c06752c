"""How far loops run when parameters have values: intervals of iterators, and what values take part in features."""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign, log2

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Loop, LoopNest

Interval = tuple[int, int]  # both ends inclusive

_UNKNOWN_PARAMETER = 1000
_UNKNOWN_TRIPS = 16
_SCALE = 1 / 4


def lg(value: float) -> float:
    """Signed logarithm for features: 0 at 0, 1 at 15, 2 at 255, about 8 at the range of an int."""
    return copysign(log2(1.0 + abs(value)) * _SCALE, value) if value else 0.0


def parameter_values(nest: LoopNest, parameters: Mapping[str, int]) -> dict[str, int]:
    """A value for every parameter: as given, else as the nest says, else 1000."""
    values = {p.name: p.value if p.value is not None else _UNKNOWN_PARAMETER for p in nest.parameters}
    return values | {name: value for name, value in parameters.items() if name in values}


def interval(expr: Affine, ranges: Mapping[str, Interval]) -> Interval:
    """Bounds of an expression's values, each name taken on its own. Raises KeyError for a name without range."""
    low = high = expr.const
    for atom, coefficient in expr.terms:
        if isinstance(atom, str):
            ends = ranges[atom]
        else:
            inner = interval(atom.numerator, ranges)
            ends = (inner[0] // atom.denominator, inner[1] // atom.denominator)
        low += coefficient * ends[coefficient < 0]
        high += coefficient * ends[coefficient > 0]
    return low, high


def loop_range(loop: Loop, ranges: Mapping[str, Interval]) -> Interval:
    """The box around the values a loop's iterator takes; (0, 15) where its bounds depend on data."""
    if not (isinstance(loop.start, tuple) and isinstance(loop.stop, tuple)):
        return 0, _UNKNOWN_TRIPS - 1
    first = [interval(part, ranges) for part in loop.start]
    last = [interval(part, ranges) for part in loop.stop]
    if loop.step > 0:
        low, high = max(p[0] for p in first), min(p[1] for p in last) - 1
    else:
        low, high = max(p[0] for p in last) + 1, min(p[1] for p in first)
    return low, max(low, high)


def linear_part(expr: Affine, weight: float = 1.0) -> dict[str, float]:
    """Coefficient of every name, those inside floors divided by the denominator."""
    found: dict[str, float] = {}
    for atom, coefficient in expr.terms:
        if isinstance(atom, str):
            found[atom] = found.get(atom, 0.0) + weight * coefficient
        else:
            for name, inner in linear_part(atom.numerator, weight * coefficient / atom.denominator).items():
                found[name] = found.get(name, 0.0) + inner
    return found
