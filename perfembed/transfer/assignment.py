"""Loops of a target assigned to those of a donor along their paths, at the least total cost.

The Hungarian method without SciPy, whose import takes as long as all others of tune: shortest augmenting paths (Crouse,
"On implementing 2D rectangular assignment algorithms", IEEE Transactions on Aerospace and Electronic Systems 52, 2016),
as `scipy.optimize.linear_sum_assignment` does it: of assignments of equal cost both give the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from perfembed.transfer.embedders import Vectors
from perfembed.transfer.view import Path, View

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float64]
    Solved = dict[tuple[str, int, bytes], tuple[float, list[tuple[int, int]], bool]]


SMALL = 400  # elements; beyond, SciPy is the quicker one


def least_cost_pairs(costs: npt.NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs (row, column) by row, as many as there are rows or columns; `costs` are finite."""
    if costs.size > SMALL:
        from scipy.optimize import linear_sum_assignment  # type: ignore[attr-defined]

        return [(int(r), int(c)) for r, c in zip(*linear_sum_assignment(costs), strict=True)]
    if costs.shape[0] > costs.shape[1]:
        return sorted((r, c) for c, r in enumerate(_partners(costs.T.tolist())))
    return list(enumerate(_partners(costs.tolist())))


def _partners(costs: list[list[float]]) -> list[int]:
    """The column of each row; there are no more rows than columns."""
    height, width = len(costs), len(costs[0]) if costs else 0
    row_price, column_price = [0.0] * height, [0.0] * width
    column_of, row_of = [-1] * height, [-1] * width
    for start in range(height):
        shortest, before = [inf] * width, [-1] * width
        rows, columns = [], []
        waiting = list(range(width - 1, -1, -1))
        row, so_far, sink = start, 0.0, -1
        while sink < 0:
            rows.append(row)
            place, lowest = -1, inf
            for k, column in enumerate(waiting):
                length = so_far + costs[row][column] - row_price[row] - column_price[column]
                if length < shortest[column]:
                    before[column], shortest[column] = row, length
                # Of several nearest columns a free one ends the path.
                if shortest[column] < lowest or (shortest[column] == lowest and row_of[column] < 0):
                    place, lowest = k, shortest[column]
            so_far, nearest = lowest, waiting[place]
            columns.append(nearest)
            waiting[place] = waiting[-1]
            waiting.pop()
            if row_of[nearest] < 0:
                sink = nearest
            else:
                row = row_of[nearest]
        row_price[start] += so_far
        for other in rows[1:]:
            row_price[other] += so_far - shortest[column_of[other]]
        for column in columns:
            column_price[column] -= so_far - shortest[column]
        while True:
            row = row_of[sink] = before[sink]
            column_of[row], sink = sink, column_of[row]
            if row == start:
                break
    return column_of


Order = OneOf["outer", "free", "level"]
"""How loops along two paths may be matched: an outer loop's partner stands outside an inner one's (as near as may be);
in any order, where that makes a difference; only with loops of the same level, as in the paper."""


_NEVER = 1e6


_LENGTH_COST = 0.15


_KEPT_DISCOUNT = 0.5


def statement_key(statement: str) -> str:
    """A statement's key in `known`, different from every loop's."""
    return f"statement {statement}"


def distances(ours: tuple[str, ...], theirs: tuple[str, ...], first: Vectors, second: Vectors) -> Matrix:
    """|a - b| / (|a| + |b|) of every pair of vectors, shape (ours, theirs), 0 to 1 whatever the embedding's scale."""
    import numpy as np

    if not ours or not theirs:
        return np.zeros((len(ours), len(theirs)))
    a = np.stack([np.asarray(first[name], dtype=np.float64) for name in ours])
    b = np.stack([np.asarray(second[name], dtype=np.float64) for name in theirs])
    apart = np.linalg.norm(a[:, None, :] - b[None, :, :], axis=2)
    scale = np.linalg.norm(a, axis=1)[:, None] + np.linalg.norm(b, axis=1)[None, :]
    found: Matrix = np.nan_to_num(apart / np.maximum(scale, 1e-12), nan=1.0, posinf=1.0)
    return found


def assign(costs: Matrix) -> list[tuple[int, int]]:
    """The pairs (row, column) of least total cost, as many as there are rows or columns; none that is forbidden."""
    return [(r, c) for r, c in least_cost_pairs(costs) if costs[r, c] < _NEVER / 2] if costs.size else []


class LoopCosts:
    """What it costs to match loops: their distance; infinite where the kinds differ, less for known partners."""

    def __init__(self, donor: View, target: View, known: Mapping[str, str], solved: Solved) -> None:
        self.crossed = False  # whether keeping the order has made a difference
        self._solved = solved
        self.rows = {name: k for k, name in enumerate(donor.loops)}
        self.columns = {name: k for k, name in enumerate(target.loops)}
        self._distances = distances(tuple(self.rows), tuple(self.columns), donor.loops, target.loops)
        self.matrix = self._distances.copy()
        origins = {loop.name: loop.origin for path in target.paths for loop in path.loops}
        for path in donor.paths:
            partners = {known[x.origin] for x in path.loops if x.origin in known}
            for ours in path.loops:
                row = self.rows[ours.name]
                wanted = known.get(ours.origin)
                for name, column in self.columns.items():
                    if donor.kinds[ours.name] != target.kinds[name]:
                        self.matrix[row, column] = _NEVER
                    elif wanted is not None and origins.get(name) == wanted:
                        self.matrix[row, column] = self._distances[row, column] * _KEPT_DISCOUNT
                    elif wanted is not None or origins.get(name) in partners:
                        self.matrix[row, column] = self._distances[row, column] + _KEPT_DISCOUNT

    def distance(self, donor: str, target: str) -> float:
        return float(self._distances[self.rows[donor], self.columns[target]])

    def along(
        self, one: Path, other: Path, order: Order, fixed: Mapping[str, str], taken: Mapping[str, str]
    ) -> tuple[float, list[tuple[str, str]]]:
        """(mean cost, pairs) of the loops along two paths; `fixed` and `taken` come from paths matched before."""
        rows, columns = one.loops, other.loops
        costs = self.matrix[self.numbers(one, self.rows)[:, None], self.numbers(other, self.columns)]
        if fixed or taken:
            for r, ours in enumerate(rows):
                for c, theirs in enumerate(columns):
                    other_partner = fixed.get(ours.name, theirs.name) != theirs.name
                    if other_partner or taken.get(theirs.name, ours.name) != ours.name:
                        costs[r, c] = _NEVER
        mean, pairs = self._solution(costs, order)
        return mean, [(rows[r].name, columns[c].name) for r, c in pairs]

    def between(self, ours: list[Path], theirs: list[Path], order: Order) -> Iterator[tuple[float, int]]:
        """(mean cost, how many pairs) of the loops along every pair of paths, row by row."""
        columns = [self.numbers(path, self.columns) for path in theirs]
        for path in ours:
            block = self.matrix[self.numbers(path, self.rows)]
            for column in columns:
                mean, pairs = self._solution(block[:, column], order)
                yield mean, len(pairs)

    def numbers(self, path: Path, of: Mapping[str, int]) -> npt.NDArray[np.intp]:
        import numpy as np

        return np.array([of[loop.name] for loop in path.loops], dtype=np.intp)

    def _solution(self, costs: Matrix, order: Order) -> tuple[float, list[tuple[int, int]]]:
        key = (order, costs.shape[0], costs.tobytes())
        known = self._solved.get(key)
        if known is None:
            known = self._solved[key] = _solve(costs, order)
        self.crossed = self.crossed or known[2]
        return known[0], known[1]


def _solve(costs: Matrix, order: Order) -> tuple[float, list[tuple[int, int]], bool]:
    """(mean cost, pairs, whether they had to be kept from crossing)."""
    if order == "level":
        costs = costs.copy()
        for r in range(costs.shape[0]):
            for c in range(costs.shape[1]):
                if r != c:
                    costs[r, c] = _NEVER
    pairs = assign(costs)
    crossed = order == "outer" and pairs != sorted(pairs, key=lambda pair: pair[1])
    if crossed:
        pairs = in_order(costs)
    if not pairs:
        return 1.0, [], crossed
    return sum(float(costs[pair]) for pair in pairs) / len(pairs), pairs, crossed


def in_order(costs: Matrix) -> list[tuple[int, int]]:
    """The cheapest pairs that do not cross: most pairs first, then least cost.

    An assignment cannot say that outer stays outer; along a path that is the alignment of two sequences
    (Needleman and Wunsch 1970).
    """
    rows, columns = costs.shape
    best: list[list[tuple[int, float]]] = [[(0, 0.0)] * (columns + 1) for _ in range(rows + 1)]
    for r in range(rows):
        for c in range(columns):
            options = [best[r][c + 1], best[r + 1][c]]
            if costs[r, c] < _NEVER / 2:
                count, total = best[r][c]
                options.append((count - 1, total + float(costs[r, c])))
            best[r + 1][c + 1] = min(options)
    pairs = []
    r, c = rows, columns
    while r and c:
        if best[r][c] == best[r - 1][c]:
            r -= 1
        elif best[r][c] == best[r][c - 1]:
            c -= 1
        else:
            r, c = r - 1, c - 1
            pairs.append((r, c))
    return pairs[::-1]


def of_paths(apart: Matrix, rows: list[list[int]], columns: list[list[int]]) -> Matrix:
    """For each pair of paths how far, on average, a statement of the first is from the nearest of the second."""
    import numpy as np

    nearest = np.empty((len(apart), len(columns)))
    for c, numbers in enumerate(columns):
        nearest[:, c] = apart[:, numbers].min(axis=1)
    found = np.empty((len(rows), len(columns)))
    for r, numbers in enumerate(rows):
        found[r] = nearest[numbers].mean(axis=0)
    return found


def assign_paths(
    ours: list[Path],
    theirs: list[Path],
    costs: LoopCosts,
    statement_costs: Matrix,
    order: Order,
    known: Mapping[str, str],
) -> list[tuple[int, int]]:
    """Numbers of pairs of paths, those with most work first."""
    matrix = statement_costs.copy()
    heaviest = [max((path.work for path in paths), default=1.0) for paths in (ours, theirs)]
    solved = costs.between(ours, theirs, order)
    for r, one in enumerate(ours):
        partners = {known[key] for s in one.statements if (key := statement_key(s)) in known}
        for c, other in enumerate(theirs):
            loops, pairs = next(solved)
            longest = max(len(one.loops), len(other.loops))
            if partners:
                loops += _KEPT_DISCOUNT if partners.isdisjoint(other.statements) else -_KEPT_DISCOUNT
            matrix[r, c] += (
                loops
                + _LENGTH_COST * (longest - pairs) / max(longest, 1)
                + _LENGTH_COST * abs(one.work / heaviest[0] - other.work / heaviest[1])
            )
    return sorted(assign(matrix), key=lambda p: -min(ours[p[0]].work / heaviest[0], theirs[p[1]].work / heaviest[1]))
