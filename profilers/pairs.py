"""How far apart two programs are, from a handful of runs: an interval that is exact however the times are distributed.

Source: the interval between order statistics covers the median with a binomial probability (Thompson 1936, "On
confidence ranges for the median"; David and Nagaraja 2003, Order Statistics, section 7.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_ERROR = 0.04  # at most, where there are values enough


@dataclass(frozen=True, slots=True)
class Interval:
    """`low` … `high`; `coverage`: the probability, at least, with which such an interval has the true value in it."""

    low: float
    high: float
    coverage: float


def median_interval(values: Sequence[float]) -> Interval:
    """Of the median of what independent `values` are drawn from: between the k-th least and the k-th greatest of N.

    It misses the median where fewer than k of N values lie on one side: with the probability 2 P(Binomial(N, 1/2) < k).
    That is at most 4 % from six values on, with the greatest such k; of fewer it is the range of all, which covers the
    median with a probability of 1 - 2^(1-N). Raises ValueError without values.
    """
    ordered, count = sorted(values), len(values)
    if not count:
        raise ValueError("an interval of no values")
    k = max([1, *(k for k in range(1, count // 2 + 1) if _missed(count, k) <= _ERROR)])
    return Interval(ordered[k - 1], ordered[count - k], max(0.0, 1.0 - _missed(count, k)))


def both(one: Interval, other: Interval) -> Interval:
    """What lies in both; wrong only where one of them is, so the probabilities of that add up. They must meet."""
    missed = (1.0 - one.coverage) + (1.0 - other.coverage)
    return Interval(max(one.low, other.low), min(one.high, other.high), max(0.0, 1.0 - missed))


def _missed(count: int, k: int) -> float:
    return sum(math.comb(count, j) for j in range(k)) / float(2 ** (count - 1))
