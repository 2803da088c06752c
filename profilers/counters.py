"""The 19 counters a profile holds, their statistics over threads, and the metrics derived from them.

Source: Trümper et al. 2023 (Performance Embeddings, ICS), section 3.2 and table 5. Each counter is kept per
thread; min, max, mean, std and sum over the threads make 5 * 19 = 95 features.
"""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from profilers.formula import evaluate

GROUPS_FOLDER = Path(__file__).parent / "groups"
STATISTICS = ("min", "max", "mean", "std", "sum")


@dataclass(frozen=True, slots=True)
class Counter:
    """One of the 19: `group` are the eight LIKWID-like groups that are measured together."""

    name: str
    group: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure derived from the sums of the counters; see `groups/metrics.toml` for the names in formulas."""

    name: str
    unit: str
    formula: str
    meaning: str


@cache
def counters() -> tuple[Counter, ...]:
    """All 19, in the order of the feature vector."""
    data = tomllib.loads((GROUPS_FOLDER / "counters.toml").read_text(encoding="utf-8"))
    return tuple(Counter(**entry) for entry in data["counter"])


@cache
def metrics() -> tuple[Metric, ...]:
    """All 20, in the order of the target vector."""
    data = tomllib.loads((GROUPS_FOLDER / "metrics.toml").read_text(encoding="utf-8"))
    return tuple(Metric(**entry) for entry in data["metric"])


@cache
def feature_names() -> tuple[str, ...]:
    """`loads.mean` and so on, 95 of them."""
    return tuple(f"{counter.name}.{statistic}" for counter in counters() for statistic in STATISTICS)


def statistics_of(values: tuple[float, ...]) -> tuple[float, float, float, float, float]:
    """min, max, mean, (population) standard deviation and sum over the threads."""
    mean = statistics.fmean(values)
    return min(values), max(values), mean, statistics.pstdev(values, mean), sum(values)


def derived(sums: Mapping[str, float], conditions: Mapping[str, float]) -> dict[str, float]:
    """Every metric from the counters' sums and `runtime`, `threads`, `line`, `lower_bound`; NaN spreads."""
    values = {**sums, **conditions}
    return {metric.name: evaluate(metric.formula, values) for metric in metrics()}
