"""How often a statement runs and over which ranges, from points drawn in its domain: no polyhedra, microseconds.

The walk is importance sampling: each loop's value is drawn uniformly between its bounds at the values drawn so far,
and the point weighs the product of the extents, so that sums of weights estimate numbers of instances without bias.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Guard, Loop, Predicate
from scheduler.ir.walk import Placed, bound_names

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_POINTS = 256
_CORNERS = 6  # loops whose both ends are tried in all combinations
_OPAQUE_TRIPS = 16.0
_UNKNOWN = 1000  # a parameter without a value
_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)


@dataclass(frozen=True, slots=True)
class Domain:
    """A statement's iterations; arrays have one entry an iterator, outermost first.

    `trips`: mean iterations of a loop each time it is reached. `ranges`: distinct values over the whole domain.
    `depends[i, j]`: the bounds of i mention j. `points` [n, iterators] are iterator values with `weights` [n] whose
    sum is `instances`, the estimated number of instances. `scales` are |steps|.
    """

    instances: float
    trips: Floats
    ranges: Floats
    scales: Floats
    depends: npt.NDArray[np.bool_]
    points: Floats
    weights: Floats
    opaque: bool

    @property
    def uneven(self) -> bool:
        """Some loop's extent depends on another loop, or on data."""
        return self.opaque or bool(self.depends.any())


def sample_domain(placed: Placed, parameters: Mapping[str, int]) -> Domain:
    """The domain of a statement at given parameter values; parameters without one count as 1000."""
    loops = placed.loops
    position = {loop.name: k for k, loop in enumerate(loops)}
    draws = _draws(len(loops))
    count, inside = len(draws), _POINTS if loops else 1
    values: dict[str, Floats | float] = {name: float(value) for name, value in parameters.items()}
    weights = np.zeros(count)
    weights[:inside] = 1.0 / inside
    points = np.zeros((count, len(loops)))
    trips, depends = np.ones(len(loops)), np.zeros((len(loops), len(loops)), dtype=bool)
    alive = np.ones(count, dtype=bool)
    opaque = False
    for ancestor in placed.ancestors:
        if isinstance(ancestor, Guard):
            holds = _holds(ancestor, values, count)
            weights = weights * holds
        elif isinstance(ancestor, Predicate):
            weights = weights * 0.5
            opaque = True
        else:
            k = position[ancestor.name]
            start, extent = _bounds(ancestor, values, count)
            opaque |= ancestor.is_opaque
            before = weights.sum()
            weights = weights * extent
            trips[k] = weights.sum() / before if before > 0 else 0.0
            alive &= extent >= 1
            points[:, k] = start + ancestor.step * np.floor(draws[:, k] * np.maximum(extent, 1.0))
            values[ancestor.name] = points[:, k]
            for name in bound_names(ancestor) & position.keys():
                depends[k, position[name]] = True
    scales = np.array([float(abs(loop.step)) for loop in loops])
    seen = points[alive] if alive.any() else points[:1]
    ranges = (seen.max(0) - seen.min(0)) / scales + 1.0 if len(loops) else np.ones(0)
    instances = float(weights.sum())
    return Domain(
        instances, np.maximum(trips, 1e-3), ranges, scales, depends, points[:inside], weights[:inside], opaque
    )


@functools.cache
def _draws(dimensions: int) -> Floats:
    """Halton points in the unit cube, then corners of it (of the outermost dimensions)."""
    index = np.arange(1, _POINTS + 1)
    columns = []
    for k in range(dimensions):
        base = _BASES[k % len(_BASES)]
        digits, fraction, scale = index.copy(), np.zeros(_POINTS), 1.0
        while digits.any():
            scale /= base
            fraction += scale * (digits % base)
            digits //= base
        columns.append(fraction if k < len(_BASES) else (fraction + 0.37 * k) % 1.0)
    if not columns:
        return np.zeros((1, 0))
    varied = min(dimensions, _CORNERS)
    corners = np.indices((2,) * varied).reshape(varied, -1).T * (1.0 - 1e-9)
    padded = np.zeros((len(corners), dimensions))
    padded[:, :varied] = corners
    return np.vstack([np.stack(columns, axis=1), padded])


def evaluate(expr: Affine, values: Mapping[str, Floats | float]) -> Floats | float:
    """An affine expression at many points at once."""
    total: Floats | float = float(expr.const)
    for atom, coefficient in expr.terms:
        if isinstance(atom, str):
            total = total + coefficient * values.get(atom, float(_UNKNOWN))
        else:
            total = total + coefficient * np.floor(evaluate(atom.numerator, values) / atom.denominator)
    return total


def _bounds(loop: Loop, values: Mapping[str, Floats | float], count: int) -> tuple[Floats, Floats]:
    """(first value, iterations) at every point."""
    if not isinstance(loop.start, tuple) or not isinstance(loop.stop, tuple):
        return np.zeros(count), np.full(count, _OPAQUE_TRIPS)
    starts = [np.broadcast_to(evaluate(a, values), count) for a in loop.start]
    stops = [np.broadcast_to(evaluate(a, values), count) for a in loop.stop]
    up = loop.step > 0
    first = np.maximum.reduce(starts) if up else np.minimum.reduce(starts)
    last = np.minimum.reduce(stops) if up else np.maximum.reduce(stops)
    return first, np.maximum(0.0, np.ceil((last - first) / loop.step))


def _holds(guard: Guard, values: Mapping[str, Floats | float], count: int) -> Floats:
    """Per point how often the condition holds there; an equality, which draws hardly ever meet, counts as rare."""
    met = np.zeros(count)
    for conjunction in guard.condition:
        both = np.ones(count)
        for c in conjunction:
            value = np.broadcast_to(evaluate(c.affine, values), count)
            if c.kind == ">=":
                both = both * (value >= 0)
            elif c.kind == "mod":
                both = both / max(c.modulus, 1)
            else:
                both = both / max(float(value.max() - value.min()) + 1.0, 1.0)
        met = np.maximum(met, both)
    return met
