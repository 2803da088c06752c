"""The 20 metrics of a profile as what a network learns, and back.

Data locality is not learned itself: nearly always 1, it would be predicted to be just that. The network learns the
least memory traffic a nest can do with, and the locality is that over the traffic it predicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from profilers.counters import metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

TARGET_VERSION = 2
_ZERO = {"s": 1e-7, "GB": 1e-6, "GB/s": 1e-2, "GFLOP/s": 1e-2, "1/ns": 1e-2, "FLOP/B": 1e-3}  # as good as nothing
_SMALL_RATIOS = {"l1_miss_ratio": 1e-3, "branch_miss_ratio": 1e-4, "load_store_ratio": 1e-1}


@dataclass(frozen=True, slots=True)
class Target:
    """The scale of one metric: "plain", or "log": log(1 + value / zero), where `zero` is as good as nothing."""

    name: str
    scale: OneOf["plain", "log"]
    zero: float


@cache
def targets() -> tuple[Target, ...]:
    """All 20, in the order of `profilers.counters.metrics`.

    Rates, volumes and ratios that are small or unbounded are logarithms; shares between 0 and 1 stay as they are.
    """
    found = []
    for metric in metrics():
        zero = _ZERO.get(metric.unit, _SMALL_RATIOS.get(metric.name, 0.0))
        found.append(Target(metric.name, "log" if zero else "plain", zero))
    return tuple(found)


def metric_row(values: Mapping[str, float]) -> tuple[float, ...]:
    """The metrics of `Profile.metrics` in the order of `targets`; NaN where one is missing."""
    return tuple(float(values.get(target.name, float("nan"))) for target in targets())


def scale_metrics(values: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """[n, 20] in the metrics' units -> each on its own scale. NaN stays, infinite becomes NaN."""
    import numpy as np

    rows = np.array(values, dtype=np.float64)
    rows[~np.isfinite(rows)] = np.nan
    for column, target in enumerate(targets()):
        if target.scale == "log":
            rows[:, column] = np.log1p(np.maximum(rows[:, column], 0.0) / target.zero)
    return rows


def to_learned(
    values: npt.NDArray[np.floating[Any]], least_bytes: npt.NDArray[np.floating[Any]]
) -> npt.NDArray[np.float64]:
    """Metrics [n, 20] and the least traffic with memory [n] -> what is learned [n, 20] (before standardization)."""
    import numpy as np

    rows = scale_metrics(values)
    rows[:, _column("data_locality")] = np.log1p(np.maximum(least_bytes / 1e9, 0.0) / _ZERO["GB"])
    return rows


def from_learned(values: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """What was learned [n, 20] -> metrics in their units; none is negative."""
    import numpy as np

    rows = np.array(values, dtype=np.float64)
    locality = _column("data_locality")
    for column, target in enumerate(targets()):
        zero = _ZERO["GB"] if column == locality else target.zero
        if zero:
            rows[:, column] = zero * np.expm1(np.minimum(rows[:, column], 80.0))
    rows = np.maximum(rows, 0.0)
    least, volume = rows[:, locality], rows[:, _column("memory_volume")]
    rows[:, locality] = np.where(volume > least, least / np.maximum(volume, 1e-30), 1.0)
    return rows


def _column(name: str) -> int:
    return next(n for n, target in enumerate(targets()) if target.name == name)
