"""The scheduled-nest cost model: boosted trees over features of the transformed loop tree predict log speedups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from scheduler.cost.feature_table import NAMES, VERSION
from scheduler.cost.features import FeatureExtractor
from scheduler.cost.forest import Forest
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest

if TYPE_CHECKING:
    import numpy.typing as npt

_KIND = "boosted-trees"


class BoostedCostModel:
    """A `CostModel`; `card` says what it was trained on."""

    def __init__(self, forest: Forest, card: Mapping[str, object]) -> None:
        self.forest = forest
        self.card = dict(card)
        self._extractors: WeakKeyDictionary[Replayer, dict[object, FeatureExtractor]] = WeakKeyDictionary()

    @property
    def spread(self) -> tuple[float, float] | None:
        """What 8 of 10 measured speedups of programs held out in training were of those predicted, from and to."""
        found = self.card.get("held_out_spread")
        return (math.exp(found[0]), math.exp(found[1])) if isinstance(found, list | tuple) else None

    def predict(
        self,
        replayer: Replayer,
        parameters: Mapping[str, int],
        target: Target,
        schedules: Sequence[ScheduledNest],
        seconds: float | None = None,
    ) -> npt.NDArray[np.float64]:
        """Speedups [len(schedules)] over the nest as written, which takes `seconds` where that is known."""
        known = self._extractors.setdefault(replayer, {})
        key = (tuple(sorted(parameters.items())), target)
        if key not in known:
            known[key] = FeatureExtractor(replayer.model, parameters, target)
        return self.speedups(known[key].matrix(schedules, seconds))

    def speedups(self, features: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """[n] of rows of features [n, len(NAMES)]."""
        return np.exp(self.forest.predict(features))

    def save(self, path: Path) -> None:
        """`path` ends in .safetensors; the card goes beside it. Raises CheckpointError."""
        save_checkpoint(path, _KIND, self.forest.tensors, {**self.card, "features": list(NAMES), "version": VERSION})

    @staticmethod
    def load(path: Path) -> BoostedCostModel:
        """Raises CheckpointError for anything but a model over the features of this version."""
        tensors, card = load_checkpoint(path, _KIND)
        if card.get("version") != VERSION or card.get("features") != list(NAMES):
            raise CheckpointError(f"{path}: made for other features: train it again with perfembed train cost")
        try:
            return BoostedCostModel(Forest.of_tensors(tensors, len(NAMES)), card)
        except CheckpointError as problem:
            raise CheckpointError(f"{path}: {problem}") from None
