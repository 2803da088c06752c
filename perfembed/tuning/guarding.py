"""Guards before what is measured: the surrogate classifier, or the cost model in its place.

Source: Ganser et al. 2018 (TACO), section 5; the cost model as a guard is ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from perfembed.tuning.options import Guarding
from scheduler.cost.problem import CostModel
from scheduler.cost.surrogate import PROFITABLE, Guard, SurrogateClassifier
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest
from scheduler.search.genetic import Accepts


class ModelGuard:
    """Takes what the cost model predicts to be at least half as fast as the best that it has been asked about."""

    def __init__(
        self,
        model: CostModel,
        replayer: Replayer,
        parameters: Mapping[str, int],
        target: Target,
        seconds: float | None = None,
    ) -> None:
        """`seconds`: of the nest as written, for the model."""
        self._model, self._replayer, self._parameters, self._target = model, replayer, parameters, target
        self._seconds = seconds
        self._best = 0.0

    def __call__(self, scheduled: ScheduledNest) -> bool:
        speedup = self._predicted(scheduled)
        self._best = max(self._best, speedup)
        return speedup >= PROFITABLE * self._best

    def _predicted(self, scheduled: ScheduledNest) -> float:
        predicted = self._model.predict(self._replayer, self._parameters, self._target, [scheduled], self._seconds)
        return float(predicted[0])


def guard_of(
    guard: Guarding, replayer: Replayer, parameters: Mapping[str, int], target: Target, model: CostModel | None,
    classifier: SurrogateClassifier | None, seconds: float | None = None,
) -> Accepts | None:  # fmt: skip
    """`model` and `classifier`: needed where the guard is one of them; `seconds`: of the nest as written.

    Raises QuotaExceeded.
    """
    match guard:
        case "none":
            return None
        case "classifier":
            assert classifier is not None
            return Guard(classifier, replayer, parameters)
        case "model":
            assert model is not None
            return ModelGuard(model, replayer, parameters, target, seconds)
