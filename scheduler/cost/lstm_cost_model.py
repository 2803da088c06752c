"""The recursive LSTM as a cost model: loaded, asked, stored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from scheduler.cost.recursive_lstm import CHUNK, KIND, REMEMBERED, LstmSettings, NestCodes, RecursiveLstm
from scheduler.cost.representation import (
    FEATURE_VERSION,
    represent_nest,
)
from scheduler.cost.schedule_representation import ScheduleEncoder
from scheduler.cost.tree_batch import nest_batch, schedule_batch
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest


class RecursiveLstmCostModel:
    """A trained network as a CostModel. `card`: how it came about (data, seed, metrics), for people and reports."""

    def __init__(self, network: RecursiveLstm, card: Mapping[str, object]) -> None:
        self.network = network.eval()
        self.card = dict(card)
        self._known: OrderedDict[object, tuple[Replayer, ScheduleEncoder, NestCodes]] = OrderedDict()

    @property
    def spread(self) -> None:
        """Not known."""

    def predict(
        self,
        replayer: Replayer,
        parameters: Mapping[str, int],
        target: Target,
        schedules: Sequence[ScheduledNest],
        seconds: float | None = None,
    ) -> npt.NDArray[np.float64]:
        """float64[len(schedules)], original time / time. What a nest's schedules share is computed once.

        `seconds` has no influence.
        """
        found = np.empty(len(schedules))
        with torch.inference_mode():
            encoder, codes = self._encoded(replayer, parameters, target)
            for first in range(0, len(schedules), CHUNK):
                chunk = schedules[first : first + CHUNK]
                arrays = encoder.encode([(s.schedule, s.tree) for s in chunk])
                batch = schedule_batch([encoder.arrays], [arrays]).to(self._device)
                logarithms = self.network.score(codes, batch)[1:]  # [0] is the nest as written
                found[first : first + CHUNK] = logarithms.double().exp().cpu().numpy()
        return found

    def embed(self, replayer: Replayer, parameters: Mapping[str, int], target: Target) -> npt.NDArray[np.float32]:
        """[W] of the nest as written: the last layer before the regression."""
        with torch.inference_mode():
            encoder, codes = self._encoded(replayer, parameters, target)
            batch = schedule_batch([encoder.arrays], [encoder.encode(())]).to(self._device)
            found: npt.NDArray[np.float32] = self.network.roots_of(codes, batch)[0].cpu().numpy()
        return found

    def _encoded(
        self, replayer: Replayer, parameters: Mapping[str, int], target: Target
    ) -> tuple[ScheduleEncoder, NestCodes]:
        key = (id(replayer), tuple(sorted(parameters.items())), target)
        known = self._known.pop(key, None)
        if known is None or known[0] is not replayer:
            boxes = not self.network.settings.matrices
            arrays = represent_nest(replayer.nest, parameters, target, boxes=boxes)
            codes = self.network.encode(nest_batch([arrays]).to(self._device))
            known = (replayer, ScheduleEncoder(arrays, replayer.tree), codes)
        self._known[key] = known
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return known[1], known[2]

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device

    def save(self, path: Path, *, half: bool = False) -> None:
        """Weights at `path` (*.safetensors), the card as JSON beside. `half`: in 16 bits. Raises CheckpointError."""
        tensors = {name: t.detach().cpu().numpy() for name, t in self.network.state_dict().items()}
        if half:
            tensors = {name: t.astype(np.float16) for name, t in tensors.items()}
        card = {**self.card, "features": FEATURE_VERSION, "settings": asdict(self.network.settings)}
        save_checkpoint(path, KIND, tensors, card)

    @classmethod
    def load(cls, path: Path) -> RecursiveLstmCostModel:
        """Raises CheckpointError: no such file, damaged, another kind of model, or made for other features."""
        tensors, card = load_checkpoint(path, KIND)
        if card.get("features") != FEATURE_VERSION:
            raise CheckpointError(
                f"{path}: made for version {card.get('features')} of the features, this program has {FEATURE_VERSION}; "
                "train it again"
            )
        try:
            settings = LstmSettings(**card["settings"])
            network = RecursiveLstm(settings)
            network.load_state_dict({name: torch.from_numpy(t.astype(np.float32)) for name, t in tensors.items()})
        except (KeyError, TypeError, ValueError, RuntimeError) as problem:
            raise CheckpointError(f"{path}: does not fit its card: {str(problem).splitlines()[0]}") from None
        return cls(network, card)
