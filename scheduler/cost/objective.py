"""What the boosted trees are trained for: the error of log speedups, runs given up as limits, the order within a nest.

The gradient is that of the squared error of logarithms, where a run that was given up counts only if it is predicted
to be faster than it can have been (a Tobit model), plus that of LambdaMART's pairs of schedules of one nest (Burges
2010, section 4), weighted with the speedup at stake; one ensemble sums both, so what it predicts stays a speedup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scheduler.cost.feature_table import NAMES

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_APART = 0.05  # of logarithms of speedups: closer ones have no order
_AT_STAKE = 1.0  # of logarithms: more does not make a pair more important
_LEAST_CURVATURE = 0.05  # of a pair


@dataclass(frozen=True, slots=True)
class Examples:
    """`features` [n, len(NAMES)], `logs` [n] natural logarithms of speedups, `nests` and `groups` [n] numbers.

    `limits` [n]: of runs that were given up; `weights` [n], the same total for every nest. Schedules of one nest with
    the same features are one example, with the mean of their logarithms.
    """

    features: npt.NDArray[np.float32]
    logs: npt.NDArray[np.float64]
    nests: npt.NDArray[np.intp]
    groups: npt.NDArray[np.intp]
    limits: npt.NDArray[np.bool_]
    weights: Floats

    def of(self, chosen: npt.NDArray[np.bool_]) -> Examples:
        """Those for which `chosen` [n] is true."""
        return Examples(*(getattr(self, name)[chosen] for name in self.__slots__))


class Objective:
    """Gradients and curvatures of the loss, by the predictions [n] for the examples."""

    def __init__(self, examples: Examples, order: float) -> None:
        self._examples = examples
        self._order = order
        timed = examples.features[:, NAMES.index("timed")] > 0
        first: list[npt.NDArray[np.intp]] = []
        second: list[npt.NDArray[np.intp]] = []
        weights: list[Floats] = []
        for nest in np.unique(examples.nests) if order else ():
            for version in (timed, ~timed):
                members = np.flatnonzero((examples.nests == nest) & version)
                faster, slower, stakes = _pairs(examples, members)
                if len(faster):
                    first.append(faster)
                    second.append(slower)
                    weights.append(stakes / stakes.sum() * examples.weights[members].sum())
        self._faster = np.concatenate(first) if first else np.zeros(0, dtype=np.intp)
        self._slower = np.concatenate(second) if second else np.zeros(0, dtype=np.intp)
        self._stakes = np.concatenate(weights) if weights else np.zeros(0)

    def __call__(self, predicted: Floats, _: object) -> tuple[Floats, Floats]:
        e, count = self._examples, len(predicted)
        error = predicted - e.logs
        error = np.where(e.limits & (error < 0), 0.0, error)
        gradient, curvature = e.weights * error, e.weights.copy()
        if len(self._stakes):
            wrong = 1.0 / (1.0 + np.exp(predicted[self._faster] - predicted[self._slower]))
            pull = self._order * self._stakes * wrong
            bend = self._order * self._stakes * np.maximum(wrong * (1.0 - wrong), _LEAST_CURVATURE)
            gradient += np.bincount(self._slower, pull, count) - np.bincount(self._faster, pull, count)
            curvature += np.bincount(self._slower, bend, count) + np.bincount(self._faster, bend, count)
        return gradient, curvature


def _pairs(
    examples: Examples, members: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """(the faster ones, the slower ones, how important that is): all pairs with an order; fast ones matter most."""
    logs = examples.logs[members]
    a, b = np.nonzero((logs[:, None] > logs[None, :] + _APART) & ~examples.limits[members][:, None])
    stakes = np.minimum(logs[a] - logs[b], _AT_STAKE) * np.exp(logs[a] - logs.max()) if len(a) else np.zeros(0)
    return members[a], members[b], stakes
