"""Where nests whose good schedules are alike are near each other: a linear map of what the cost model sees of a nest.

Source: neighbourhood components analysis (Goldberger et al. 2004), with how alike two donors' schedules are
(`perfembed.retrieval.likeness`) in the place of equal classes. Linear, because a database has hundreds of nests, not
thousands.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfembed.embedding.network.checkpoint import ModelUnusable
from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from scheduler.cost.feature_table import PROBLEM, TREE, VERSION

_KIND = "schedule-map"
_DIMENSION = 32
_STEPS = 300
_RATE = 3e-3
_DECAY = 1.0
_DROPOUT = 0.3  # of features: no single one decides
_SPREAD = 3.6  # of a map's vectors at first, at features of length 1
_BOUND = 4.0  # standard deviations
_CONSTANT = 1e-3  # what varies less was the same in training: a machine's numbers

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ScheduleMap:
    """`mean`, `scale` [features] and `weights` [features, d]; `card` says what it was trained on."""

    mean: Floats
    scale: Floats
    weights: Floats
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def map_id(self) -> str:
        """12 hex digits of the numbers."""
        digest = hashlib.sha256()
        for tensor in (self.mean, self.scale, self.weights):
            digest.update(tensor.tobytes())
        return digest.hexdigest()[:12]

    def apply(self, features: npt.NDArray[np.floating[Any]]) -> Floats:
        """[n, features] of nests as written (`FeatureExtractor.written`) -> [n, d]."""
        return np.asarray(standardized(features, self.mean, self.scale) @ self.weights, dtype=np.float32)

    def save(self, path: Path) -> None:
        """`path` ends in .safetensors; the card goes beside it. Raises ModelUnusable."""
        tensors = {"mean": self.mean, "scale": self.scale, "weights": self.weights}
        try:
            save_checkpoint(path, _KIND, tensors, {**self.card, "map_id": self.map_id, "version": VERSION})
        except CheckpointError as problem:
            raise ModelUnusable(str(problem)) from None

    @staticmethod
    def load(path: Path) -> ScheduleMap:
        """Raises ModelUnusable unless the file is whole and made for the features of this program."""
        try:
            tensors, card = load_checkpoint(path, _KIND)
        except CheckpointError as problem:
            raise ModelUnusable(str(problem)) from None
        count = len(PROBLEM) + len(TREE)
        shapes = {name: tensors[name].shape for name in ("mean", "scale", "weights") if name in tensors}
        fits = len(shapes) == 3 and shapes["mean"] == shapes["scale"] == (count,) and shapes["weights"][:1] == (count,)
        if card.get("version") != VERSION or not fits:
            raise ModelUnusable(f"{path}: made for other features: train it again with perfembed train space")
        mean, scale, weights = (tensors[name].astype(np.float32) for name in ("mean", "scale", "weights"))
        return ScheduleMap(mean, scale, weights, card)


def standardized(features: npt.NDArray[np.floating[Any]], mean: Floats, scale: Floats) -> Floats:
    """[n, features], of a length of about 1 in the mean; what was constant in training counts nothing."""
    bounded = np.clip((features - mean) * scale, -_BOUND, _BOUND)
    return np.asarray(bounded / math.sqrt(max(int(np.count_nonzero(scale)), 1)), dtype=np.float32)


def train_schedule_map(
    features: npt.NDArray[np.floating[Any]], alike: npt.NDArray[np.floating[Any]], groups: Sequence[str], seed: int
) -> ScheduleMap:
    """`features` [n, f] of nests, `alike` [n, n]: 0 … 1, NaN where that is unknown; nests of one group are no pairs.

    Maximizes how alike a nest is to one drawn with probability exp(-distance²). Raises ValueError for fewer than two
    groups. The same input and seed give the same map on one machine.
    """
    import torch

    if len(set(groups)) < 2:
        raise ValueError("a map needs nests of two groups at least")
    mean, spread = features.mean(axis=0), features.std(axis=0)
    scale = np.where(spread > _CONSTANT, 1.0 / np.maximum(spread, _CONSTANT), 0.0).astype(np.float32)
    mean = mean.astype(np.float32)
    rows = torch.from_numpy(standardized(features, mean, scale))
    names = np.array(groups)
    likeness: Floats = np.asarray(alike, dtype=np.float32)
    known = np.isfinite(likeness) & (names[:, None] != names[None, :])
    hidden = torch.from_numpy(~known)
    wanted = torch.from_numpy(np.where(known, likeness, np.float32(0)))
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(rows.shape[1], _DIMENSION, generator=generator) * (_SPREAD / _DIMENSION**0.5)
    weights = torch.nn.Parameter(start)
    optimizer = torch.optim.AdamW([weights], lr=_RATE, weight_decay=_DECAY)
    for _ in range(_STEPS):
        kept = torch.rand(rows.shape, generator=generator) >= _DROPOUT
        placed = (rows * kept / (1 - _DROPOUT)) @ weights
        distances = torch.cdist(placed, placed) ** 2
        chances = torch.log_softmax((-distances).masked_fill(hidden, -1e9), dim=1).exp()
        loss = -(chances * wanted).sum(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    card = {"nests": len(groups), "groups": len(set(groups)), "seed": seed, "likeness": -float(loss.detach())}
    return ScheduleMap(mean, scale, weights.detach().numpy().astype(np.float32), card)
