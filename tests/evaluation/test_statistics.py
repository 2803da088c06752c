"""Distributions and means."""

import pytest

from perfembed.comparing.summary import geometric_mean
from tests.evaluation.statistics import Distribution, mean_interval


def test_distribution() -> None:
    d = Distribution.of([float(k) for k in range(10, 0, -1)])
    assert (d.count, d.least, d.median, d.p90, d.greatest) == (10, 1.0, 5.5, 9.0, 10.0)


def test_distribution_of_one_and_of_none() -> None:
    assert Distribution.of([3.0]) == Distribution(1, 3.0, 3.0, 3.0, 3.0)
    assert Distribution.of([]).count == 0


def test_geometric_mean() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([]) is None


def test_a_mean_has_an_interval_over_groups_drawn_whole() -> None:
    mean, low, high = mean_interval([[1.0, 1.0, 1.0], [3.0], []])
    assert mean == pytest.approx(1.5) and low == 1.0 and high == 3.0  # both draws may be of one group
    many = [[float(n % 2)] for n in range(400)]
    mean, low, high = mean_interval(many)
    assert mean == 0.5 and low == pytest.approx(0.451, abs=0.012) and high == pytest.approx(0.549, abs=0.012)
    assert mean_interval(many) == (mean, low, high)
    assert mean_interval([[2.0, 2.0]]) == (2.0, 2.0, 2.0)
    with pytest.raises(ValueError, match="no values"):
        mean_interval([[]])
