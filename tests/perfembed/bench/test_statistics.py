"""Distributions and means."""

import pytest

from perfembed.bench.statistics import Distribution, geometric_mean


def test_distribution() -> None:
    d = Distribution.of([float(k) for k in range(10, 0, -1)])
    assert (d.count, d.least, d.median, d.p90, d.greatest) == (10, 1.0, 5.5, 9.0, 10.0)


def test_distribution_of_one_and_of_none() -> None:
    assert Distribution.of([3.0]) == Distribution(1, 3.0, 3.0, 3.0, 3.0)
    assert Distribution.of([]).count == 0


def test_geometric_mean() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([]) is None
