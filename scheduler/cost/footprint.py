"""What the loops around a statement do to it: their trip counts, and the memory each of them touches in one run.

The rows of the loops that are no blocks are new coordinates y = R x of the statement's iterations x. Running the loops
from level k inwards covers a box of widths w in y; a subscript a x + c covers |a R^-1| (w - 1) + 1 values, and a tile
loop of size c cuts the width of its coordinate to c. Boxes are upper bounds for skewed and triangular domains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scheduler.cost.accesses import StatementFacts, linearized
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.tree import TreeLoop

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

LINE_BYTES = 64.0
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Shape:
    """A statement below a path of loops, outermost first.

    `trips` [loops]: mean iterations each time the loop is reached. `volumes` [loops + 1]: instances in one run of the
    loops from that level inwards. `footprints` [loops + 1, arrays]: bytes of whole cache lines they touch; `touched`
    [loops + 1]: (their sum, the sum with written arrays counted twice).
    `coordinates` and `blocks` [loops]: the coordinate a point loop runs over or a tile loop blocks, -1 for none.
    `strides` [accesses, coordinates]: bytes an access moves by a step along a coordinate; infinite when data decides.
    `subscripts`: of each access [dimensions, coordinates]. `forms` [coordinates, iterators]: R.
    """

    facts: StatementFacts
    trips: tuple[float, ...]
    volumes: tuple[float, ...]
    footprints: Floats
    touched: tuple[tuple[float, float], ...]
    coordinates: tuple[int, ...]
    blocks: tuple[int, ...]
    strides: Sequence[Sequence[float]]
    subscripts: tuple[Sequence[Sequence[float]], ...]
    forms: Floats
    skewed: int
    skewed_blocks: int


class Frames:
    """The coordinates of one statement, made once for all paths whose point loops run along the same rows.

    `array_sizes` [arrays]: bytes; infinite where unknown. `written` [arrays]: 1 where the nest writes one.
    """

    def __init__(self, facts: StatementFacts, array_sizes: Floats, written: Floats) -> None:
        self.facts, self.array_sizes, self.written = facts, array_sizes, written
        self._made: dict[tuple[Affine, ...], _Coordinates] = {}

    def shape(self, path: tuple[TreeLoop, ...]) -> Shape:
        """The statement below a path."""
        facts = self.facts
        rows = [loop.row(facts.name) for loop in path]
        blocked = [any(isinstance(atom, FloorDiv) for atom, _ in row.terms) for row in rows]
        frame = self._frame(tuple(row for row, is_block in zip(rows, blocked, strict=True) if not is_block))
        numbers = iter(frame.numbers)
        linear = [-1 if is_block else next(numbers) for is_block in blocked]
        walk = _Walk(frame)
        trips, blocks = [], []
        for row, k in zip(rows, linear, strict=True):
            atoms = [
                (frame.nearest(atom.numerator), float(atom.denominator), c)
                for atom, c in row.terms
                if isinstance(atom, FloorDiv)
            ]
            blocks.append(atoms[0][0][0] if len(atoms) == 1 else -1)
            trips.append(walk.block([(j, size / unit, c) for (j, unit), size, c in atoms]) if atoms else walk.point(k))
        widths, volumes = np.array(walk.widths), np.array(walk.volumes)
        footprints = _footprints(facts, frame.moves, widths, volumes, trips, self.array_sizes)
        sizes = footprints.sum(1)
        return Shape(
            facts,
            tuple(trips),
            tuple(walk.volumes),
            footprints,
            tuple(zip(sizes.tolist(), (sizes + footprints @ self.written).tolist(), strict=True)),
            tuple(linear),
            tuple(blocks),
            frame.strides,
            frame.subscripts,
            frame.forms,
            frame.skewed,
            walk.skewed,
        )

    def _frame(self, rows: tuple[Affine, ...]) -> _Coordinates:
        found = self._made.get(rows)
        if found is None:
            found = self._made[rows] = _Coordinates(self.facts, rows)
        return found


class _Coordinates:
    """The independent rows of point loops, each divided by the greatest common divisor of its coefficients.

    `numbers` [rows]: the coordinate of each, -1 where those before determine it. `forms`, `strides`, `subscripts`: of a
    `Shape`. `moves` [group rows, coordinates]: |a R^-1|. `full`, `coupled`: what a walk begins with.
    """

    def __init__(self, facts: StatementFacts, rows: tuple[Affine, ...]) -> None:
        self.facts = facts
        self.rows: list[Floats] = []
        self._basis: list[Floats] = []
        self._nearest: dict[Affine, tuple[int, float]] = {}
        self.numbers = [self._add(linearized(row, facts.iterators)[0]) for row in rows]
        self._complete()
        n = len(facts.iterators)
        self.forms: Floats = np.array(self.rows).reshape(n, n)
        inverse = np.linalg.inv(self.forms) if n else np.zeros((0, 0))
        strides = np.abs(facts.flats @ inverse) * facts.bytes[:, None]
        for k in facts.jumping:
            strides[k, np.abs(facts.accesses[k].varies @ np.abs(inverse)) > _TINY] = math.inf
        self.strides = strides.tolist()  # numbers of Python: they are looked at one by one
        self.subscripts = tuple((a.matrix @ inverse).tolist() for a in facts.accesses)
        self.moves = np.abs(facts.groups.matrix @ inverse)
        self.skewed = sum(1 for form in self.forms if np.count_nonzero(form) > 1)
        self.full = _full_widths(self)
        self.coupled = _coupled(self)

    def _add(self, row: Floats) -> int:
        """The number of a new coordinate; -1 when the coordinates so far determine the row."""
        row = row * self.facts.domain.scales
        rest = row
        for unit in self._basis:
            rest = rest - (rest @ unit) * unit
        length = float(np.sqrt(rest @ rest))
        if length < 1e-6:
            return -1
        self._basis.append(rest / length)
        whole = [round(abs(c)) for c in row.tolist() if abs(c) > _TINY]
        self.rows.append(row / (float(math.gcd(*whole)) or 1.0))
        return len(self.rows) - 1

    def _complete(self) -> None:
        """Iterators that no row determines become coordinates of their own."""
        n = len(self.facts.iterators)
        for k in range(n):
            if len(self.rows) == n:
                break
            unit = np.zeros(n)
            unit[k] = 1.0
            self._add(unit / self.facts.domain.scales)

    def nearest(self, numerator: Affine) -> tuple[int, float]:
        """(the coordinate a block's numerator runs along, how much the numerator grows by one step of it)."""
        if numerator not in self._nearest:
            self._nearest[numerator] = self._along(linearized(numerator, self.facts.iterators)[0])
        return self._nearest[numerator]

    def _along(self, row: Floats) -> tuple[int, float]:
        row = row * self.facts.domain.scales
        products = np.abs(self.forms @ row) / np.sqrt((self.forms**2).sum(1) * max(float(row @ row), _TINY))
        best = int(np.argmax(products)) if len(products) else -1
        if best < 0 or products[best] < _TINY:
            return -1, 1.0
        form = self.forms[best]
        return best, max(abs(float(row @ form)) / float(form @ form), _TINY)


class _Walk:
    """The widths of the coordinates while the loops of a path are entered one by one.

    `current`: the mean number of values left to each coordinate; `wide`: the same where outer coordinates still vary.
    """

    def __init__(self, coordinates: _Coordinates) -> None:
        fixed, self.wide = coordinates.full
        self.current = list(fixed)
        self._coupled = coordinates.coupled
        self.touched = [False] * len(self.current)
        self.skewed = 0
        self._pending: set[int] = set()
        self._spent: list[float] = []
        self.widths: list[list[float]] = []
        self.volumes: list[float] = []
        self._record()

    def point(self, k: int) -> float:
        """A loop over the values of a coordinate."""
        trips = 1.0
        if k >= 0:
            trips, self.current[k], self.touched[k] = self.current[k], 1.0, True
        self._record()
        return max(trips, _TINY)

    def block(self, atoms: list[tuple[int, float, int]]) -> float:
        """A loop over blocks: (coordinate, block size, coefficient of the row); several atoms make a wavefront.

        A row over several blocks fixes none of them until there are as many such rows as blocks.
        """
        atoms = [a for a in atoms if a[0] >= 0]
        counts = {j: max(1.0, math.ceil(self.current[j] / max(size, _TINY) - 1e-6)) for j, size, _ in atoms}
        trips = 1.0
        if len(atoms) > 1 or (atoms and atoms[0][0] in self._pending):
            self.skewed += len(atoms) > 1
            self._pending |= counts.keys()
            unit = min(abs(size * c) for _, size, c in atoms)
            trips = sum(abs(size * c) / unit * (counts[j] - 1) for j, size, c in atoms) + 1
            if len(self._spent) + 1 >= len(self._pending):
                total = math.prod(self._blocks[j] for j in self._pending if j in self._blocks) * math.prod(
                    counts[j] for j in counts if j not in self._blocks
                )
                trips = max(1.0, total / math.prod(self._spent))
                self._blocks.update({j: n for j, n in counts.items() if j not in self._blocks})
                for j in self._pending:
                    self.current[j], self.touched[j] = self.current[j] / self._blocks[j], True
                self._pending, self._spent, self._blocks = set(), [], {}
            else:
                self._blocks.update(counts)
                self._spent.append(trips)
        elif atoms:
            j = atoms[0][0]
            trips = counts[j]
            self.current[j], self.touched[j] = self.current[j] / trips, True
        self._record()
        return trips

    _blocks: dict[int, float]

    def _record(self) -> None:
        if not self.widths:
            self._blocks = {}
        self.volumes.append(max(math.prod(self.current), _TINY))
        self.widths.append(
            [
                self.wide[j] if not self.touched[j] and any(not self.touched[k] for k in self._coupled[j]) else width
                for j, width in enumerate(self.current)
            ]
        )


def _coupled(coordinates: _Coordinates) -> list[list[int]]:
    """Of each coordinate the earlier ones that its values depend on: through iterators they share or bounds."""
    used = np.abs(coordinates.forms) > _TINY
    depends = coordinates.facts.domain.depends
    linked = used @ (depends | depends.T | np.eye(len(depends), dtype=bool)) @ used.T
    return [[k for k, is_linked in enumerate(row[:j]) if is_linked] for j, row in enumerate(linked.tolist())]


def _full_widths(coordinates: _Coordinates) -> tuple[list[float], list[float]]:
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
        spans = {k: abs(c) * (ranges[k] - 1.0) for k, c in enumerate(form) if abs(c) > _TINY}
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
        fixed[-1] *= min(1.0, max(domain.instances / max(math.prod(fixed), _TINY), _TINY))
    return fixed, wide


def _footprints(
    facts: StatementFacts, moves: Floats, widths: Floats, volumes: Floats, trips: list[float], array_sizes: Floats
) -> Floats:
    """[levels, arrays]: bytes of the cache lines touched. `moves` [rows, coordinates]: |a R^-1| of each group row.

    A box is cut to what the iterations of its outermost loop touch together, which is less on diagonals.
    """
    groups = facts.groups
    found = np.zeros((len(widths), len(array_sizes)))
    if not len(groups.arrays):
        return found
    spans = (widths - 1.0) @ moves.T + 1.0 + groups.spread
    spans = np.minimum(np.maximum(spans, 1.0), groups.extents)
    spans[:, groups.opaque] = 1.0
    elements = np.multiply.reduceat(spans, groups.starts, axis=1)
    most = volumes[:, None] * groups.members
    run = spans[:, groups.last]
    lines_of_run = (run - 1.0) * (groups.element_bytes / LINE_BYTES) + 1.0
    whole = run >= 0.95 * groups.extents[groups.last]
    lines_of_run = np.where(whole, np.maximum(run * groups.element_bytes / LINE_BYTES, 1 / LINE_BYTES), lines_of_run)
    lines = np.maximum(elements / run * lines_of_run, 1.0)
    if groups.indirect.any():  # every index a place of its own
        jumps = np.maximum(most / elements, 1.0)
        lines = np.where(groups.indirect, lines * jumps, lines)
    lines = np.minimum(np.minimum(lines, most), 1e15)
    for level in range(len(trips) - 1, -1, -1):
        lines[level] = np.minimum(lines[level], max(trips[level], 1.0) * lines[level + 1])
    amounts = np.minimum.accumulate(lines, axis=0) * LINE_BYTES
    for g, array in enumerate(groups.arrays):
        found[:, array] += amounts[:, g]
    return np.minimum(found, np.maximum(array_sizes, LINE_BYTES))
