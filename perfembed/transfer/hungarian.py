"""The assignment of least total cost, of small matrices without SciPy: its import takes as long as all others of tune.

Shortest augmenting paths (Crouse, "On implementing 2D rectangular assignment algorithms", IEEE Transactions on
Aerospace and Electronic Systems 52, 2016), as `scipy.optimize.linear_sum_assignment` does it: of assignments of equal
cost both give the same one.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
