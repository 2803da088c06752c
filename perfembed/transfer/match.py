"""Which loops, arrays and statements of a target stand for those of a donor: assignments of least total distance.

Source: Trümper et al. 2023, section 4: nodes matched by the Hungarian method on the distances of their embeddings. What
may not be matched has infinite cost. First whole paths (root to statements) are assigned to each other, then the loops
along a pair of paths, so that the loops of one band go to one band; a loop that two paths share has one partner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfembed.transfer.assignment import LoopCosts, Order, assign, assign_paths, distances, of_paths
from perfembed.transfer.embedders import Vectors
from perfembed.transfer.view import WHOLE, Part, Path, View
from scheduler.transform.transfer import Pair

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float64]
    Solved = dict[tuple[str, int, bytes], tuple[float, list[tuple[int, int]], bool]]


ORDERS: tuple[Order, ...] = ("outer", "free", "level")


@dataclass(frozen=True, slots=True)
class Matching:
    """All pairs of one step. `paths` are the pairs of paths, those with most work first."""

    loops: Mapping[str, Pair]
    statements: Mapping[str, Pair]
    arrays: Mapping[str, Pair]
    paths: tuple[tuple[Path, Path], ...]

    def pairs(self) -> tuple[Pair, ...]:
        return (*self.loops.values(), *self.statements.values(), *self.arrays.values())

    def target_path(self, path: Path) -> Path | None:
        return next((t for d, t in self.paths if d.statements == path.statements), None)


class Matcher:
    """Matches nodes of one donor with those of one target, again and again; remembers distances taken before."""

    def __init__(self, donor_part: Part = WHOLE, target_part: Part = WHOLE) -> None:
        self._parts = donor_part, target_part
        self._known: dict[tuple[int, int], tuple[Vectors, Vectors, Matrix]] = {}
        self._arrays: dict[tuple[int, int], dict[str, Pair]] = {}
        self._solved: Solved = {}

    def match(
        self, donor: View, target: View, known: Mapping[str, str], orders: Iterable[Order] = ORDERS
    ) -> Iterator[tuple[Order, Matching]]:
        """All nodes matched, in one way after the other; made, and `orders` asked for the next, only when wanted.

        `known`: donor's loop -> target's loop (names in the nests as written) of earlier steps, and donor's statement
        -> target's, their keys made by `statement_key`; these are preferred.
        """
        costs = LoopCosts(donor, target, known, self._solved)
        ours = _visible(donor.paths, self._parts[0])
        theirs = _visible(target.paths, self._parts[1])
        kept = False
        for order in orders:
            kept = kept or order == "outer"
            if order != "free" or costs.crossed or not kept:
                yield order, self._matching(donor, target, ours, theirs, costs, order, known)

    def _matching(
        self,
        donor: View,
        target: View,
        ours: list[Path],
        theirs: list[Path],
        costs: LoopCosts,
        order: Order,
        known: Mapping[str, str],
    ) -> Matching:
        apart = self._distances(donor.statements, target.statements)
        number = {name: k for k, name in enumerate(donor.statements)}
        rows = [[number[s] for s in path.statements] for path in ours]
        number = {name: k for k, name in enumerate(target.statements)}
        columns = [[number[s] for s in path.statements] for path in theirs]
        statement_costs = of_paths(apart, rows, columns)
        chosen = assign_paths(ours, theirs, costs, statement_costs, order, known)
        loops: dict[str, Pair] = {}
        statements: dict[str, Pair] = {}
        for r, c in chosen:
            one, other = ours[r], theirs[c]
            taken = {pair.target: pair.donor for pair in loops.values()}
            fixed = {x.name: loops[x.name].target for x in one.loops if x.name in loops}
            for a, b in costs.along(one, other, order, fixed, taken)[1]:
                loops.setdefault(a, Pair("loop", a, b, costs.distance(a, b)))
            if len(rows[r]) == len(columns[c]) == 1:
                matrix, matched = apart[rows[r][0] :, columns[c][0] :], [(0, 0)]
            else:
                matrix = apart[[[row] for row in rows[r]], columns[c]]
                matched = assign(matrix)
            for i, j in matched:
                a, b = one.statements[i], other.statements[j]
                statements[a] = Pair("statement", a, b, float(matrix[i, j]))
        paths = tuple((ours[r], theirs[c]) for r, c in chosen)
        return Matching(loops, statements, self._matched_arrays(donor, target), paths)

    def _matched_arrays(self, donor: View, target: View) -> dict[str, Pair]:
        key = id(donor.arrays), id(target.arrays)
        if key not in self._arrays:
            matrix = self._distances(donor.arrays, target.arrays)
            ours, theirs = tuple(donor.arrays), tuple(target.arrays)
            pairs = [Pair("array", ours[r], theirs[c], float(matrix[r, c])) for r, c in assign(matrix)]
            self._arrays[key] = {pair.donor: pair for pair in pairs}
        return self._arrays[key]

    def _distances(self, first: Vectors, second: Vectors) -> Matrix:
        key = id(first), id(second)  # which are kept, so that the ids stay theirs
        if key not in self._known:
            self._known[key] = first, second, distances(tuple(first), tuple(second), first, second)
        return self._known[key][2]


def _visible(paths: Sequence[Path], part: Part) -> list[Path]:
    """The paths that take part, without their hidden loops."""
    found = []
    for path in paths:
        loops = tuple(loop for loop in path.loops if loop.origin not in part.hidden)
        if loops and (part.statements is None or not part.statements.isdisjoint(path.statements)):
            found.append(Path(loops, path.statements, path.work))
    return found
