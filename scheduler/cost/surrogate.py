"""The surrogate classifier: nine features of a schedule tree say whether a schedule is worth measuring.

A decision tree (CART) or a random forest over `scheduler.matrices.features`, which hold for whatever nest: it learns
from nests measured before and is asked about new ones.

Source: Ganser et al. 2018 (TACO), section 5. What counts as profitable is ours: at least half as fast as the fastest
schedule that is known of the same nest under the same conditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

import numpy as np

from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from scheduler.cost.forest import Forest
from scheduler.errors import SchedulerError
from scheduler.matrices.features import Features, ScheduleFeatures
from scheduler.replay import Replayer, ScheduledNest

if TYPE_CHECKING:
    import numpy.typing as npt

ClassifierKind = OneOf["cart", "forest"]
NAMES = tuple(field.name for field in fields(ScheduleFeatures))
PROFITABLE = 0.5  # of the speed of the fastest known schedule
_KIND = "surrogate"
_TREES, _SMALLEST_LEAF = 50, 25


@dataclass(frozen=True, slots=True)
class SurrogateClassifier:
    """`importance` [9]: the mean decrease of GINI impurity of each feature, 1 in sum (0 where one class is all)."""

    forest: Forest
    importance: tuple[float, ...]
    card: Mapping[str, object]

    def probability(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """[n, 9] -> [n]: the share of trees' votes for profitable."""
        return self.forest.predict(features.astype(np.float32))  # as scikit-learn compares with thresholds

    def promising(self, features: ScheduleFeatures) -> bool:
        """Whether most votes are for profitable."""
        return bool(self.probability(np.array([features.values]))[0] >= 0.5)

    def save(self, path: Path) -> None:
        """`path` ends in .safetensors; the card goes beside it. Raises CheckpointError."""
        importance = dict(zip(NAMES, self.importance, strict=True))
        save_checkpoint(path, _KIND, self.forest.tensors, {**self.card, "features": list(NAMES), "gini": importance})

    @staticmethod
    def load(path: Path) -> SurrogateClassifier:
        """Raises CheckpointError for anything but a classifier over the features of this version."""
        tensors, card = load_checkpoint(path, _KIND)
        found = card.get("gini")
        if card.get("features") != list(NAMES) or not isinstance(found, dict) or set(found) != set(NAMES):
            raise CheckpointError(f"{path}: made for other features: train it again with perfembed train surrogate")
        try:
            forest = Forest.of_tensors(tensors, len(NAMES))
        except CheckpointError as problem:
            raise CheckpointError(f"{path}: {problem}") from None
        return SurrogateClassifier(forest, tuple(float(found[name]) for name in NAMES), card)


def profitable(speedups: Sequence[float]) -> list[bool]:
    """The class of each schedule of one nest under the same conditions."""
    best = max(speedups, default=0.0)
    return [speedup >= PROFITABLE * best for speedup in speedups]


def fit_classifier(
    kind: ClassifierKind,
    features: npt.NDArray[np.float64],
    good: npt.NDArray[np.bool_],
    seed: int,
    weights: npt.NDArray[np.float64] | None = None,
) -> SurrogateClassifier:
    """`features` [n, 9], `good` [n], `weights` [n]; both classes count the same. Raises ValueError for n = 0."""
    if not len(good):
        raise ValueError("no schedules to learn from")
    card: dict[str, object] = {"classifier": kind, "schedules": len(good), "profitable": int(good.sum()), "seed": seed}
    if good.all() or not good.any():
        return SurrogateClassifier(Forest.constant(float(good[0])), (0.0,) * len(NAMES), card)
    model, trees = _fitted(kind, seed)
    model.fit(features, good, sample_weight=weights)
    members = [model] if not trees else list(model.estimators_)
    return SurrogateClassifier(Forest.of_classifiers(members), tuple(map(float, model.feature_importances_)), card)


def _fitted(kind: ClassifierKind, seed: int) -> tuple[Any, int]:
    from sklearn.ensemble import RandomForestClassifier  # type: ignore[import-untyped]
    from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]

    shared = {"min_samples_leaf": _SMALLEST_LEAF, "class_weight": "balanced", "random_state": seed}
    if kind == "cart":
        return DecisionTreeClassifier(**shared), 0
    return RandomForestClassifier(n_estimators=_TREES, n_jobs=1, **shared), _TREES


class Guard:
    """Asks a classifier about schedules of one nest; what it cannot describe counts as worth measuring."""

    def __init__(self, classifier: SurrogateClassifier, replayer: Replayer, parameters: Mapping[str, int]) -> None:
        self._classifier = classifier
        self._features = Features(replayer, parameters)

    def __call__(self, scheduled: ScheduledNest) -> bool:
        try:
            return self._classifier.promising(self._features.of(scheduled.tree))
        except SchedulerError:  # QuotaExceeded
            return True
