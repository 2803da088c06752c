"""How good predicted speedups are: as numbers, as an order, and as a choice.

Definitions, for the schedules of one program with measured speedups y and predictions p:
MAPE: mean of |p - y| / y, and its median; of a run that was given up y is only an upper limit, and a p below it is
right. Spearman:
correlation of the ranks, ties at their mean rank. nDCG@k: with the speedups as relevance, DCG@k = sum over the first k
ranks of y / log2(rank + 1) in the order of p, over the same in the order of y. Top-k regret: 1 - (best y among the k
greatest p) / (best y). Equal predictions count as if their order were the least favourable one for nDCG and regret, so
that a constant prediction earns nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Of predictions for several programs; all but `mape` and `spearman` are means over programs.

    Programs with a single schedule, or whose speedups are all equal, say nothing about order: `spearman_program`,
    nDCG and regrets are of the others, NaN where there are none.
    """

    programs: int
    labels: int
    mape: float
    median_ape: float
    spearman: float
    spearman_program: float
    ndcg: float
    ndcg_1: float
    ndcg_5: float
    ndcg_10: float
    regret_1: float
    regret_5: float


def score(
    measured: Sequence[Sequence[float]],
    predicted: Sequence[Sequence[float]],
    given_up: Sequence[Collection[int]] | None = None,
) -> Scores:
    """One pair of sequences a program, of positive speedups, and which of them are of runs that were given up.

    Raises ValueError where lengths differ or all are 0.
    """
    pairs = [(np.asarray(y, np.float64), np.asarray(p, np.float64)) for y, p in zip(measured, predicted, strict=True)]
    if not any(len(y) for y, _ in pairs) or any(y.shape != p.shape for y, p in pairs):
        raise ValueError("every measured speedup needs a prediction, and there must be some")
    y_all, p_all = (np.concatenate(side) for side in zip(*pairs, strict=True))
    limits = np.zeros(len(y_all), dtype=bool)
    first = 0
    for number, (y, _) in enumerate(pairs):
        if given_up is not None:
            limits[[first + n for n in given_up[number]]] = True
        first += len(y)
    errors = absolute_errors(y_all, p_all, limits)
    ordered = [(y, p) for y, p in pairs if len(y) > 1 and np.ptp(y) > 0]

    def mean(values: list[float]) -> float:
        return float(np.mean(values)) if values else math.nan

    return Scores(
        len(pairs),
        len(y_all),
        float(np.mean(errors)),
        float(np.median(errors)),
        spearman(y_all, p_all),
        mean([spearman(y, p) for y, p in ordered]),
        mean([ndcg(y, p) for y, p in ordered]),
        *(mean([ndcg(y, p, k) for y, p in ordered]) for k in (1, 5, 10)),
        *(mean([regret(y, p, k) for y, p in ordered]) for k in (1, 5)),
    )


def absolute_errors(measured: Floats, predicted: Floats, limits: npt.NDArray[np.bool_]) -> Floats:
    """Of `measured`, as fractions; none for predictions below those that are `limits`."""
    errors = (predicted - measured) / measured
    return np.abs(np.where(limits, np.maximum(errors, 0.0), errors))


def spearman(measured: Floats, predicted: Floats) -> float:
    """Rank correlation in [-1, 1]; 0 where either side is constant."""
    if len(measured) < 2 or np.ptp(measured) == 0 or np.ptp(predicted) == 0:
        return 0.0
    return float(np.corrcoef(_ranks(measured), _ranks(predicted))[0, 1])


def _ranks(values: Floats) -> Floats:
    """From the smallest value on; equal ones share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[inverse], dtype=np.float64)


def ndcg(measured: Floats, predicted: Floats, k: int | None = None) -> float:
    """Discounted cumulative gain of the predicted order over that of the best one (all schedules without k)."""
    order = _order(measured, predicted)[:k]
    ideal = np.sort(measured)[::-1][:k]
    discounts = 1.0 / np.log2(np.arange(len(order)) + 2.0)
    return float((measured[order] * discounts).sum() / (ideal * discounts).sum())


def regret(measured: Floats, predicted: Floats, k: int) -> float:
    """What measuring the k best predictions would lose against the best schedule, as a fraction of its speedup."""
    return float(1.0 - measured[_order(measured, predicted)[:k]].max() / measured.max())


def _order(measured: Floats, predicted: Floats) -> npt.NDArray[np.intp]:
    """Greatest prediction first; among equal ones the slowest first."""
    return np.lexsort((measured, -predicted))
