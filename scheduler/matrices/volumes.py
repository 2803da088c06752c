"""How many cells a set has, without a counting library: counted where it is small, sampled otherwise.

Coordinates that the others determine are left out first. What lies in the box around the rest is counted if the box has
20,000 points at most; otherwise 4,000 points of it are drawn, and the error of the estimate is told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import islpy as isl

if TYPE_CHECKING:
    import numpy as np

_EXACT = 20_000
_SAMPLES = 4_000


@dataclass(frozen=True, slots=True)
class Volume:
    """`error`: the standard error of `cells`; 0 where they were counted."""

    cells: float
    error: float = 0.0


def volume(cells: isl.Set, parameters: Mapping[str, int], seed: int = 0) -> Volume:
    """The number of points of a set where its parameters have these values; 0 where it is empty.

    Raises ValueError where it is not bounded.
    """
    for position in range(cells.dim(isl.dim_type.param)):
        name = cells.get_dim_name(isl.dim_type.param, position)
        if name is not None and name in parameters:
            cells = cells.fix_val(isl.dim_type.param, position, isl.Val.int_from_si(cells.get_ctx(), parameters[name]))
    cells = cells.project_out(isl.dim_type.param, 0, cells.dim(isl.dim_type.param))
    if cells.is_empty():
        return Volume(0.0)
    cells = _independent(cells)
    count = cells.dim(isl.dim_type.set)
    box: list[tuple[int, int]] = []
    for position in range(count):
        low, high = cells.dim_min_val(position), cells.dim_max_val(position)
        if not (low.is_int() and high.is_int()):
            raise ValueError("a set that is not bounded")
        box.append((low.to_python(), high.to_python()))
    points = math.prod(high - low + 1 for low, high in box)
    if points <= _EXACT:
        return Volume(float(_inside(cells, _grid(box)).sum()))
    share = float(_inside(cells, _drawn(box, seed)).mean())
    return Volume(share * points, points * math.sqrt(max(share * (1 - share), 1 / _SAMPLES) / _SAMPLES))


def _independent(cells: isl.Set) -> isl.Set:
    """Without coordinates that the others determine."""
    position = 0
    while position < cells.dim(isl.dim_type.set):
        determined = any(
            c.is_equality() and abs(c.get_coefficient_val(isl.dim_type.set, position).to_python()) == 1
            for c in cells.affine_hull().remove_divs().get_constraints()
        )
        if determined:
            cells = cells.project_out(isl.dim_type.set, position, 1)
        else:
            position += 1
    return cells


def _grid(box: list[tuple[int, int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    import numpy as np  # here, not above: the command line must start fast

    axes = [np.arange(low, high + 1) for low, high in box]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], 1) if axes else np.zeros((1, 0), int)


def _drawn(box: list[tuple[int, int]], seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    import numpy as np

    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(low, high, _SAMPLES, endpoint=True) for low, high in box], 1)


def _inside(
    cells: isl.Set, points: np.ndarray[tuple[int, int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which points lie in the set, [points]."""
    import numpy as np

    found = np.zeros(len(points), bool)
    for part in cells.compute_divs().get_basic_sets():
        whole = np.ones(len(points), bool)
        values = [points[:, k] for k in range(points.shape[1])]
        for k in range(part.dim(isl.dim_type.div)):
            values.append(_floor(part.get_div(k), values))
        for constraint in part.get_constraints():
            total = np.full(len(points), constraint.get_constant_val().to_python())
            count = points.shape[1]
            for k, value in enumerate(values):
                kind, place = (isl.dim_type.set, k) if k < count else (isl.dim_type.div, k - count)
                total = total + constraint.get_coefficient_val(kind, place).to_python() * value
            whole &= (total == 0) if constraint.is_equality() else (total >= 0)
        found |= whole
    return found


def _floor(
    div: isl.Aff, values: list[np.ndarray[tuple[int], np.dtype[np.int64]]]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The value of a division that isl made explicit: floor of an affine expression over a denominator."""
    denominator = div.get_denominator_val().to_python()
    scaled = div.scale_val(div.get_denominator_val())
    count = scaled.dim(isl.dim_type.in_)
    total = values[0] * 0 + int(scaled.get_constant_val().to_python())
    for k, value in enumerate(values):
        kind, place = (isl.dim_type.in_, k) if k < count else (isl.dim_type.div, k - count)
        total = total + int(scaled.get_coefficient_val(kind, place).to_python()) * value
    return total // denominator
