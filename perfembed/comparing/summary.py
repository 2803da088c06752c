"""What the rows say together: geometric means, the worst kernel, who was faster."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import Any

from perfembed.comparing.bound import Bound, bound_of
from perfembed.comparing.compilers import GCC, NAMES, OURS, THEIRS
from perfembed.comparing.model import OPENBLAS
from perfembed.comparing.rows import Row
from profilers.calibration import Calibration

SLOWER = 0.97  # a kernel below this is slower than its original, beyond noise


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Geometric means over the kernels where both sides ran, the worst kernel, and what was wrong."""
    gains = {name: _ratios(rows, GCC, name) for name in columns(rows) if name != GCC}
    ours = gains.get(OURS, {})
    over_best = {r.kernel: x for r in rows if (x := against_best(r)) is not None}
    worst = min(ours, key=lambda name: ours[name], default=None)
    return {
        "kernels": len(rows),
        "geomean_over_gcc": {name: geometric_mean(found.values()) for name, found in gains.items()},
        "geomean_over_best_peer": geometric_mean(over_best.values()),
        "best_peer_over_gcc": geometric_mean(
            gcc / best[1] for r in rows if (gcc := r.seconds(GCC)) and (best := best_peer(r)) and r.kernel in over_best
        ),
        "slower_than_best_peer": sorted(name for name, gain in over_best.items() if gain < SLOWER),
        "minimum": {"kernel": worst, "speedup": ours[worst]} if worst else None,
        "slower": sorted(name for name, gain in ours.items() if gain < SLOWER),
        "wrong": sorted(r.kernel for r in rows if r.status == "wrong"),
        "failed": sorted(r.kernel for r in rows if r.status == "failed"),
        "winners": dict(Counter(n.origin for r in rows for n in r.nests if n.origin).most_common()),
        "tuned": sum(r.status == "tuned" for r in rows),
        "noisy": sorted(r.kernel for r in rows if r.noisy),
        "median_tuning_s": {name: median(spent) for name in (THEIRS, OURS) if (spent := _tuning(rows, name))},
        "ours_over_theirs": geometric_mean(_ratios(rows, THEIRS, OURS).values()),
    }


def _ratios(rows: Sequence[Row], base: str, name: str) -> dict[str, float]:
    return {r.kernel: b / s for r in rows if (b := r.seconds(base)) and (s := r.seconds(name))}


def _tuning(rows: Sequence[Row], name: str) -> list[float]:
    return [p.tuning_s for r in rows if (p := r.programs.get(name)) and p.tuning_s is not None]


def columns(rows: Sequence[Row]) -> list[str]:
    """The ways to build a program that some row has, in the order of the table: ours last."""
    found = dict.fromkeys(name for row in rows for name in row.programs if name != OPENBLAS)
    known = [name for name in NAMES if name in found and name != OURS]
    return [*known, *(name for name in found if name not in NAMES), *([OURS] if OURS in found else [])]


def best_peer(row: Row) -> tuple[str, float] | None:
    """(name, seconds) of the fastest program that is not ours and whose result is right; gcc's own is among them."""
    found = [(name, s) for name in row.programs if name not in (OURS, THEIRS, OPENBLAS) and (s := row.seconds(name))]
    return min(found, key=lambda one: one[1], default=None)


def against_best(row: Row) -> float | None:
    best, ours = best_peer(row), row.seconds(OURS)
    return best[1] / ours if best and ours else None


def row_bound(row: Row, calibration: Calibration | None) -> Bound | None:
    """What the kernel cannot be faster than: OpenBLAS where it is made of products, else what was counted."""
    if blas := row.seconds(OPENBLAS):
        return Bound(blas, "OpenBLAS")
    return bound_of(row.work, row.seconds(GCC), calibration, row.conditions["threads"])


def geometric_mean(ratios: Iterable[float]) -> float | None:
    """None of nothing; the ratios must be positive."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(fmean(logs)) if logs else None
