"""Where nests are near each other whose schedules suit each other: a linear map of what the cost model sees of a nest,
and how much it counts beside the other parts of a vector.

Source: neighbourhood components analysis (Goldberger et al. 2004), with what a donor is worth to a nest
(`perfembed.retrieval.donations`) in the place of equal classes, and several neighbours in the place of one: the best of
them counts. Linear, because a database has hundreds of nests, not thousands. How much a part counts is learned on nests
that the map did not see (stacking, Wolpert 1992): among those that it was trained on, it would seem to know more than
it does.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfembed.embedding.network.checkpoint import ModelUnusable
from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from scheduler.cost.feature_table import PROBLEM, TREE, VERSION

if TYPE_CHECKING:
    from torch import Tensor

_KIND = "schedule-map"
_DIMENSION = 32
_STEPS = 300
_RATE = 3e-3
_DECAY = 1.0
_DROPOUT = 0.3  # of features: no single one decides
_SPREAD = 3.6  # of a map's vectors at first, at features of length 1
_BOUND = 4.0  # standard deviations
_FOLDS = 4  # of groups, each of which tells how good a map of the others is
_WEIGHING_STEPS = 400
_WEIGHING_RATE = 0.02
_DONORS = 5  # of which the best one counts
_CONSTANT = 1e-3  # what varies less was the same in training: a machine's numbers

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ScheduleMap:
    """`mean`, `scale` [features] and `weights` [features, d]; how long the `learned` part and the `structure` part of a
    vector are beside it; `card` says what it was trained on.
    """

    mean: Floats
    scale: Floats
    weights: Floats
    learned: float
    structure: float
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def map_id(self) -> str:
        """12 hex digits of the numbers."""
        digest = hashlib.sha256()
        for tensor in (self.mean, self.scale, self.weights, self._lengths):
            digest.update(tensor.tobytes())
        return digest.hexdigest()[:12]

    @property
    def _lengths(self) -> Floats:
        return np.array([self.learned, self.structure], dtype=np.float32)

    def apply(self, features: npt.NDArray[np.floating[Any]]) -> Floats:
        """[n, features] of nests as written (`FeatureExtractor.written`) -> [n, d]."""
        return np.asarray(standardized(features, self.mean, self.scale) @ self.weights, dtype=np.float32)

    def save(self, path: Path) -> None:
        """`path` ends in .safetensors; the card goes beside it. Raises ModelUnusable."""
        tensors = {"mean": self.mean, "scale": self.scale, "weights": self.weights, "lengths": self._lengths}
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
        shapes = {name: tensors[name].shape for name in ("mean", "scale", "weights", "lengths") if name in tensors}
        fits = len(shapes) == 4 and shapes["mean"] == shapes["scale"] == (count,) and shapes["weights"][:1] == (count,)
        fits = fits and shapes["lengths"] == (2,)
        if card.get("version") != VERSION or not fits:
            raise ModelUnusable(f"{path}: made for other features: train it again with perfembed train space")
        mean, scale, weights, lengths = (
            tensors[name].astype(np.float32) for name in ("mean", "scale", "weights", "lengths")
        )
        return ScheduleMap(mean, scale, weights, float(lengths[0]), float(lengths[1]), card)


def standardized(features: npt.NDArray[np.floating[Any]], mean: Floats, scale: Floats) -> Floats:
    """[n, features], of a length of about 1 in the mean; what was constant in training counts nothing."""
    bounded = np.clip((features - mean) * scale, -_BOUND, _BOUND)
    return np.asarray(bounded / math.sqrt(max(int(np.count_nonzero(scale)), 1)), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class MappedNests:
    """`features` [n, f] of nests, the `learned` [n, 128] and `structure` [n, s] parts of their vectors, each of length
    1, and `worth` [n, n]: what donor j is worth to nest i, 0 … 1, NaN where that is unknown; nests of one of the
    `groups` are no pairs, and nests to which no donor's worth is known are donors only.
    """

    features: npt.NDArray[np.floating[Any]]
    learned: Floats
    structure: Floats
    worth: npt.NDArray[np.floating[Any]]
    groups: tuple[str, ...]

    def only(self, chosen: npt.NDArray[np.bool_]) -> MappedNests:
        rows = np.flatnonzero(chosen)
        groups = tuple(self.groups[n] for n in rows)
        worth = self.worth[np.ix_(rows, rows)]
        return MappedNests(self.features[rows], self.learned[rows], self.structure[rows], worth, groups)


def train_schedule_map(nests: MappedNests, seed: int) -> ScheduleMap:
    """Maximizes what the best of five donors is worth to a nest that are drawn with probability exp(-distance²).

    First a map for each of some folds of groups, from the others; from how those place the nests of their fold among
    all, how much each part counts; then the map of all nests. Raises ValueError for fewer than two groups. The same
    input, seed and number of threads give the same map on one machine.
    """
    names = sorted(set(nests.groups))
    if len(names) < 2:
        raise ValueError("a map needs nests of two groups at least")
    order = np.random.default_rng(seed).permutation(len(names))
    fold_of = {names[n]: k % _FOLDS for k, n in enumerate(order)}
    folds = np.array([fold_of[group] for group in nests.groups])
    pairs = _Pairs(nests)
    held_out: list[tuple[npt.NDArray[np.bool_], Floats]] = []
    for fold in range(_FOLDS):
        outside = nests.only(folds != fold)
        if len(set(outside.groups)) > 1 and (folds == fold).any():
            mean, scale, weights, _ = _linear_map(outside, seed)
            held_out.append((folds == fold, standardized(nests.features, mean, scale) @ weights))
    learned, structure, mapped, found = _weights_of_parts(nests, pairs, held_out)
    mean, scale, weights, worth = _linear_map(nests, seed)
    card = {
        "nests": len(nests.groups),
        "groups": len(names),
        "seed": seed,
        "worth": worth,
        "held_out_worth": found,
        "lengths": {"learned": learned, "structure": structure, "schedules": mapped},
    }
    return ScheduleMap(mean, scale, (weights * np.float32(mapped)).astype(np.float32), learned, structure, card)


def _linear_map(nests: MappedNests, seed: int) -> tuple[Floats, Floats, Floats, float]:
    """(mean, scale, weights, expected worth)"""
    import torch

    mean, spread = nests.features.mean(axis=0), nests.features.std(axis=0)
    scale = np.where(spread > _CONSTANT, 1.0 / np.maximum(spread, _CONSTANT), 0.0).astype(np.float32)
    mean = mean.astype(np.float32)
    rows = torch.from_numpy(standardized(nests.features, mean, scale))
    pairs = _Pairs(nests)
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(rows.shape[1], _DIMENSION, generator=generator) * (_SPREAD / _DIMENSION**0.5)
    weights = torch.nn.Parameter(start)
    optimizer = torch.optim.AdamW([weights], lr=_RATE, weight_decay=_DECAY)
    for _ in range(_STEPS):
        kept = torch.rand(rows.shape, generator=generator) >= _DROPOUT
        placed = (rows * kept / (1 - _DROPOUT)) @ weights
        loss = -pairs.expected(torch.cdist(placed, placed) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return mean, scale, weights.detach().numpy().astype(np.float32), -float(loss.detach())


def _weights_of_parts(
    nests: MappedNests, pairs: _Pairs, held_out: Sequence[tuple[npt.NDArray[np.bool_], Floats]]
) -> tuple[float, float, float, float]:
    """By which the learned, the structure and the mapped part are multiplied, so that the donors near the nests of a
    fold are worth most to them, and what they are then; all 1 without any."""
    import torch

    own = [torch.from_numpy(np.ascontiguousarray(part)) for part in (nests.learned, nests.structure)]
    prepared = []
    for inside, placed in held_out:
        parts = [*own, torch.from_numpy(np.ascontiguousarray(placed, dtype=np.float32))]
        chosen = torch.from_numpy(inside)
        squares = torch.stack([torch.cdist(part[chosen], part) ** 2 for part in parts])
        prepared.append((squares, torch.from_numpy(np.flatnonzero(inside))))
    logarithms = torch.nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.Adam([logarithms], lr=_WEIGHING_RATE)
    worth = 0.0
    for _ in range(_WEIGHING_STEPS if prepared else 0):
        factors = (2 * logarithms).exp()[:, None, None]
        found = torch.cat([pairs.expected((factors * squares).sum(0), rows) for squares, rows in prepared])
        loss = -found.mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        worth = -float(loss.detach())
    learned, structure, mapped = logarithms.detach().exp().tolist()
    return learned, structure, mapped, worth


class _Pairs:
    """What donors are worth to nests: by row, from the least to the most."""

    def __init__(self, nests: MappedNests) -> None:
        import torch

        names = np.array(nests.groups)
        hidden = ~(np.isfinite(nests.worth) & (names[:, None] != names[None, :]))
        worth = np.where(hidden, 0.0, nests.worth).astype(np.float32)
        order = np.argsort(worth, axis=1, kind="stable")
        self._known = torch.from_numpy(np.flatnonzero(~hidden.all(axis=1)))
        self._hidden, self._order = torch.from_numpy(hidden), torch.from_numpy(order)
        self._worth = torch.from_numpy(np.take_along_axis(worth, order, axis=1))

    def expected(self, squares: Tensor, rows: Tensor | None = None) -> Tensor:
        """[m] of the nests with known donors among `rows` (None: all), whose squares of distances are given [rows, n]:
        the mean worth of the best of five donors that are drawn with probability exp(-distance²).
        """
        import torch

        rows = torch.arange(len(squares)) if rows is None else rows
        inside = torch.isin(rows, self._known)
        squares, rows = squares[inside], rows[inside]
        chances = (-squares).masked_fill(self._hidden[rows], -1e9).softmax(dim=1)
        below = chances.gather(1, self._order[rows]).cumsum(dim=1).clamp(max=1.0) ** _DONORS
        first = torch.zeros(len(rows), 1)
        return ((below - torch.cat((first, below[:, :-1]), dim=1)) * self._worth[rows]).sum(dim=1)
