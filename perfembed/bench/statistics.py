"""The few statistics benchmarks report."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
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


def geometric_mean(ratios: Iterable[float]) -> float | None:
    """None of nothing; the ratios must be positive."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(statistics.fmean(logs)) if logs else None
