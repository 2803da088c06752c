"""What the loops around a statement do to it: their trip counts, and the memory each of them touches in one run.

The rows of the loops that are no blocks are new coordinates y = R x of the statement's iterations x. Running the loops
from level k inwards covers a box of widths w in y; a subscript a x + c covers |a R^-1| (w - 1) + 1 values, and a tile
loop of size c cuts the width of its coordinate to c. Boxes are upper bounds for skewed and triangular domains.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from scheduler.cost.accesses import StatementFacts
from scheduler.cost.coordinates import TINY, Coordinates
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.tree import TreeLoop

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

LINE_BYTES = 64.0


@dataclass(frozen=True, slots=True)
class Shape:
    """A statement below a path of loops, outermost first.

    `trips` [loops]: mean iterations each time the loop is reached; `entries` [loops + 1]: how often it is, last the
    statement. `volumes` [loops + 1]: instances in one run of the loops from that level inwards. `footprints` [loops +
    1, arrays]: bytes of whole cache lines they touch; `touched` [loops + 1]: (their sum, the sum with written arrays
    counted twice).
    `coordinates` and `blocks` [loops]: the coordinate a point loop runs over or a tile loop blocks, -1 for none.
    `strides` [accesses, coordinates]: bytes an access moves by a step along a coordinate; infinite when data decides.
    `subscripts`: of each access [dimensions, coordinates]. `forms` [coordinates, iterators]: R.
    """

    facts: StatementFacts
    trips: tuple[float, ...]
    entries: tuple[float, ...]
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
        self._made: dict[tuple[Affine, ...], Coordinates] = {}

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
            tuple(accumulate(trips, operator.mul, initial=1.0)),
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

    def _frame(self, rows: tuple[Affine, ...]) -> Coordinates:
        found = self._made.get(rows)
        if found is None:
            found = self._made[rows] = Coordinates(self.facts, rows)
        return found


class _Walk:
    """The widths of the coordinates while the loops of a path are entered one by one.

    `current`: the mean number of values left to each coordinate; `wide`: the same where outer coordinates still vary.
    """

    def __init__(self, coordinates: Coordinates) -> None:
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
        return max(trips, TINY)

    def block(self, atoms: list[tuple[int, float, int]]) -> float:
        """A loop over blocks: (coordinate, block size, coefficient of the row); several atoms make a wavefront.

        A row over several blocks fixes none of them until there are as many such rows as blocks.
        """
        atoms = [a for a in atoms if a[0] >= 0]
        counts = {j: max(1.0, math.ceil(self.current[j] / max(size, TINY) - 1e-6)) for j, size, _ in atoms}
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
        self.volumes.append(max(math.prod(self.current), TINY))
        self.widths.append(
            [
                self.wide[j] if not self.touched[j] and any(not self.touched[k] for k in self._coupled[j]) else width
                for j, width in enumerate(self.current)
            ]
        )


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
