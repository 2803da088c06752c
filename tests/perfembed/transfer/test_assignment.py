"""Least total costs, and of equal ones the same assignment as SciPy's."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from perfembed.transfer.assignment import SMALL, least_cost_pairs


@pytest.mark.parametrize("kind", ["various", "ties", "forbidden", "equal"])
def test_as_scipy(kind: str) -> None:
    generator = np.random.default_rng(3)
    for _ in range(400):
        rows, columns = generator.integers(1, 9, 2)
        costs = generator.random((rows, columns))
        if kind == "ties":
            costs = np.floor(costs * 3)
        elif kind == "forbidden":
            costs[generator.random((rows, columns)) < 0.4] = 1e6
        elif kind == "equal":
            costs[:] = 0.5
        expected = [(int(r), int(c)) for r, c in zip(*linear_sum_assignment(costs), strict=True)]
        assert least_cost_pairs(costs) == expected


def test_nothing_costs_less() -> None:
    generator = np.random.default_rng(4)
    for _ in range(60):
        costs = generator.integers(0, 6, (4, 5)).astype(float)
        found = sum(costs[pair] for pair in least_cost_pairs(costs))
        assert found == min(sum(costs[range(4), list(chosen)]) for chosen in itertools.permutations(range(5), 4))


def test_large_ones() -> None:
    costs = np.random.default_rng(5).random((SMALL // 10, 30))
    pairs = least_cost_pairs(costs)
    assert len(pairs) == 30 and len({r for r, _ in pairs}) == len({c for _, c in pairs}) == 30
    assert least_cost_pairs(np.zeros((0, 3))) == []
