"""New coordinates of a statement's iterations: y = R x; the rows of R are those of the loops that are no blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.cost.accesses import StatementFacts, linearized
from scheduler.ir.affine import Affine

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

TINY = 1e-9


class Coordinates:
    """The independent rows of point loops, each divided by the greatest common divisor of its coefficients.

    `numbers` [rows]: the coordinate of each, -1 where those before determine it. `forms`, `strides`, `subscripts`: of a
    `Shape`. `moves` [group rows, coordinates]: |a R^-1|. `full`, `coupled`: what a walk begins with.
    """

    def __init__(self, facts: StatementFacts, rows: tuple[Affine, ...]) -> None:
        self.facts = facts
        self.rows: list[list[float]] = []  # numbers of Python: arrays as short as these are slower
        self._scales: list[float] = facts.domain.scales.tolist()
        self._basis: list[list[float]] = []
        self._nearest: dict[Affine, tuple[int, float]] = {}
        self.numbers = [self._add(linearized(row, facts.iterators)[0].tolist()) for row in rows]
        self._complete()
        n = len(facts.iterators)
        self.forms: Floats = np.array(self.rows).reshape(n, n)
        inverse = np.linalg.inv(self.forms) if n else np.zeros((0, 0))
        strides = np.abs(facts.flats @ inverse) * facts.bytes[:, None]
        for k in facts.jumping:
            strides[k, np.abs(facts.accesses[k].varies @ np.abs(inverse)) > TINY] = math.inf
        self.strides = strides.tolist()  # numbers of Python: they are looked at one by one
        self.subscripts = tuple((a.matrix @ inverse).tolist() for a in facts.accesses)
        self.moves = np.abs(facts.groups.matrix @ inverse)
        self.skewed = sum(1 for form in self.forms if np.count_nonzero(form) > 1)
        self.full = _full_widths(self)
        self.coupled = _coupled(self)

    def _add(self, row: Sequence[float]) -> int:
        """The number of a new coordinate; -1 when the coordinates so far determine the row."""
        scaled = rest = [c * scale for c, scale in zip(row, self._scales, strict=True)]
        for unit in self._basis:
            along = _product(rest, unit)
            rest = [c - along * u for c, u in zip(rest, unit, strict=True)]
        length = math.sqrt(_product(rest, rest))
        if length < 1e-6:
            return -1
        self._basis.append([c / length for c in rest])
        whole = [round(abs(c)) for c in scaled if abs(c) > TINY]
        divisor = float(math.gcd(*whole)) or 1.0
        self.rows.append([c / divisor for c in scaled])
        return len(self.rows) - 1

    def _complete(self) -> None:
        """Iterators that no row determines become coordinates of their own."""
        n = len(self._scales)
        for k in range(n):
            if len(self.rows) == n:
                break
            self._add([0.0] * k + [1.0 / self._scales[k]] + [0.0] * (n - k - 1))

    def nearest(self, numerator: Affine) -> tuple[int, float]:
        """(the coordinate a block's numerator runs along, how much the numerator grows by one step of it)."""
        if numerator not in self._nearest:
            self._nearest[numerator] = self._along(linearized(numerator, self.facts.iterators)[0])
        return self._nearest[numerator]

    def _along(self, row: Floats) -> tuple[int, float]:
        row = row * self.facts.domain.scales
        products = np.abs(self.forms @ row) / np.sqrt((self.forms**2).sum(1) * max(float(row @ row), TINY))
        best = int(np.argmax(products)) if len(products) else -1
        if best < 0 or products[best] < TINY:
            return -1, 1.0
        form = self.forms[best]
        return best, max(abs(float(row @ form)) / float(form @ form), TINY)


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _coupled(coordinates: Coordinates) -> list[list[int]]:
    """Of each coordinate the earlier ones that its values depend on: through iterators they share or bounds."""
    used = np.abs(coordinates.forms) > TINY
    depends = coordinates.facts.domain.depends
    linked = used @ (depends | depends.T | np.eye(len(depends), dtype=bool)) @ used.T
    return [[k for k, is_linked in enumerate(row[:j]) if is_linked] for j, row in enumerate(linked.tolist())]


def _full_widths(coordinates: Coordinates) -> tuple[list[float], list[float]]:
    """(values of each coordinate when those before it are fixed, values over the whole domain).

    Forms over iterators that are not determined yet get the width of their box; the one that determines the last of
    them gets what is left of the number of instances.
    """
    domain = coordinates.facts.domain
    trips, ranges, depends = domain.trips.tolist(), domain.ranges.tolist(), domain.depends.tolist()
    closed: set[int] = set()
    group: set[int] = set()
    spent: list[float] = []
    fixed, wide = [], []
    for form in coordinates.forms.tolist():
        spans = {k: abs(c) * (ranges[k] - 1.0) for k, c in enumerate(form) if abs(c) > TINY}
        wide.append(sum(spans.values()) + 1.0)
        group |= spans.keys() - closed
        if group and len(spent) + 1 >= len(group):
            closed |= group
            inside = [
                trips[k] if all(d in closed for d, depending in enumerate(depends[k]) if depending) else ranges[k]
                for k in group
            ]
            fixed.append(math.prod(inside) / math.prod(spent))
            group, spent = set(), []
        else:
            fixed.append(sum(span for k, span in spans.items() if k not in closed) + 1.0)
            spent.append(fixed[-1])
    # What the iterators' mean trips leave out (guards, bounds of several loops) is taken off the last coordinate.
    if fixed:
        fixed[-1] *= min(1.0, max(domain.instances / max(math.prod(fixed), TINY), TINY))
    return fixed, wide
