"""The few statistics benchmarks report."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Distribution:
    """How values spread; of no values everything is 0."""

    count: int
    least: float
    median: float
    p90: float
    greatest: float

    @staticmethod
    def of(values: Sequence[float]) -> Distribution:
        if not values:
            return Distribution(0, 0.0, 0.0, 0.0, 0.0)
        ordered = sorted(values)
        nearest = ordered[math.ceil(0.9 * len(ordered)) - 1]
        return Distribution(len(ordered), ordered[0], statistics.median(ordered), nearest, ordered[-1])


def mean_interval(groups: Sequence[Sequence[float]], draws: int = 2000) -> tuple[float, float, float]:
    """(mean, low, high) of all values: a 95 % interval by the bootstrap over the groups, each drawn whole.

    Source: Efron and Tibshirani 1993, chapter 13 (percentiles). Raises ValueError without a value.
    """
    if not any(groups):
        raise ValueError("no values")
    rng = random.Random(0)
    whole = [group for group in groups if group]
    means = sorted(
        statistics.fmean(value for group in rng.choices(whole, k=len(whole)) for value in group) for _ in range(draws)
    )
    return statistics.fmean(value for group in whole for value in group), means[draws // 40], means[-draws // 40 - 1]
