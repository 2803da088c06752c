"""Training of the performance embedding: mean absolute error over 20 scaled metrics, AdamW, one learning-rate cycle.

Source: Trümper et al. 2023, section 3.3 (MAE). Beyond the paper: the profile is left out of a share of the examples,
and the graph of a share of the others (what a profile says is not to be learned by heart from graphs), counters are
missing and other sources' counts imitated (`gaps`), and distances between nests are made those between their metrics
(Kruskal 1964).
Same data, seed and number of threads: the same weights on a CPU, whether or not training was interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from perfembed.embedding.encoding.schema import FEATURE_VERSION
from perfembed.embedding.network.checkpoint import ModelUnusable
from perfembed.embedding.network.examples import Example, data_hash, learned
from perfembed.embedding.network.gnn import EmbeddingModel, Network, Output, collate, profile_tensor, torch_threads
from perfembed.embedding.network.interface import NetworkSettings
from perfembed.embedding.network.losses import stress_loss, with_gaps
from perfembed.embedding.network.standardization import standardize
from scheduler.cost.checkpoint import CheckpointError
from scheduler.cost.training_state import restore_training, store_training

_KIND = "performance-embedding-training"
_CLIP = 1.0  # norm of the gradient


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """`profile_dropout`: share of the examples that are shown without profile, `graph_dropout`: of the others, share of
    those shown without graph; `patience`: epochs without a better validation before it stops (0: never); `stress`:
    weight of the loss that makes nests lie as far apart as their metrics; `gaps`: whether counters go missing;
    `threads`: on a CPU, where more than one seldom helps and beside other work hurts.
    """

    seed: int = 0
    epochs: int = 60
    batch: int = 64
    rate: float = 1e-3
    weight_decay: float = 0.01
    profile_dropout: float = 0.5
    graph_dropout: float = 0.3
    patience: int = 20
    stress: float = 0.0
    gaps: bool = True
    threads: int = 1
    network: NetworkSettings = field(default_factory=NetworkSettings)

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if not (min(self.epochs, self.batch, self.threads) >= 1 and self.rate > 0 and self.patience >= 0):
            raise ValueError(f"epochs, batch, threads and rate must be positive: {self}")
        shares = (self.profile_dropout, self.graph_dropout)
        if not (all(0 <= s <= 1 for s in shares) and self.stress >= 0):
            raise ValueError(f"expected 0 <= dropout <= 1, stress >= 0: {self}")


@dataclass(frozen=True, slots=True)
class EpochDone:
    """Errors are means over scaled, standardized metrics; `loss` has what is added to them in training; `static` and
    `profiled` are of the validation examples.
    """

    epoch: int
    epochs: int
    loss: float
    static: float | None
    profiled: float | None
    best_epoch: int


@dataclass(slots=True)
class _State:
    """What a checkpoint holds beside tensors."""

    epoch: int = 0  # done
    steps: int = 0
    best_epoch: int = 0
    best: float = math.inf
    losses: list[float] = field(default_factory=list)
    static: list[float | None] = field(default_factory=list)
    profiled: list[float | None] = field(default_factory=list)


def train_embedding(
    examples: Sequence[Example],
    validation: Sequence[Example],
    settings: TrainSettings | None = None,
    progress: Callable[[EpochDone], None] = lambda done: None,
    *,
    checkpoint: Path | None = None,
    device: str | None = None,
) -> EmbeddingModel:
    """The model of the epoch that was best on `validation` (the last one without any).

    With `checkpoint` (*.safetensors) the state is stored after every epoch and taken up again from there. `device`:
    "cpu" or "cuda", a GPU by default where there is one. Raises ValueError without examples, or with a group on both
    sides; ModelUnusable for a checkpoint of another training.
    """
    settings = settings or TrainSettings()
    if not examples:
        raise ValueError("nothing to train on: there are no examples")
    both = {e.group for e in examples} & {e.group for e in validation}
    if both:
        raise ValueError(f"group {min(both)!r} is both trained and validated on: split examples by group")
    run = _Training(examples, validation, settings, torch.device(device or _default_device()))
    identity = {
        "data": data_hash(examples),
        "validation_data": data_hash(validation),
        "features": FEATURE_VERSION,
        "settings": asdict(settings),
    }
    if checkpoint is not None and checkpoint.exists():
        run.restore(checkpoint, identity)
    with torch_threads(settings.threads):
        while not run.finished:
            progress(run.epoch())
            if checkpoint is not None:
                run.store(checkpoint, identity)
    return run.result({**identity, "examples": len(examples), "validation_examples": len(validation)})


class _Training:
    def __init__(
        self,
        examples: Sequence[Example],
        validation: Sequence[Example],
        settings: TrainSettings,
        device: torch.device,
    ) -> None:
        self.examples, self.validation, self.settings = examples, validation, settings
        self.device = device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            network = Network(settings.network)
        standardize(network, examples)
        self.network = network.to(device)
        self.optimizer = torch.optim.AdamW(network.parameters(), lr=settings.rate, weight_decay=settings.weight_decay)
        batches = -(-len(examples) // settings.batch)
        self.cycle = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=settings.rate, total_steps=max(settings.epochs * batches, 2)
        )
        self.state = _State()
        self.best = self._weights()

    @property
    def finished(self) -> bool:
        state, patience = self.state, self.settings.patience
        waited = bool(self.validation) and 0 < patience <= state.epoch - state.best_epoch
        return state.epoch >= self.settings.epochs or waited

    def epoch(self) -> EpochDone:
        state, settings = self.state, self.settings
        rng = np.random.default_rng((settings.seed, state.epoch))
        order = rng.permutation(len(self.examples))
        shown = rng.random(len(self.examples)) >= settings.profile_dropout
        alone = rng.random(len(self.examples)) < settings.graph_dropout
        total = 0.0
        self.network.train()
        for first in range(0, len(order), settings.batch):
            positions = [int(n) for n in order[first : first + settings.batch]]
            batch = [self.examples[n] for n in positions]
            seen, only = [bool(shown[n]) for n in positions], [bool(alone[n]) for n in positions]
            loss = self._loss(batch, seen, only, rng if settings.gaps else None)
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.network.parameters(), _CLIP)
            self.optimizer.step()
            if state.steps < self.cycle.total_steps - 1:
                self.cycle.step()
            state.steps += 1
            total += float(loss.detach()) * len(positions)
        state.epoch += 1
        state.losses.append(total / len(order))
        state.static.append(self._error(profiled=False))
        state.profiled.append(self._error(profiled=True))
        scores = [s for s in (state.static[-1], state.profiled[-1]) if s is not None]
        score = sum(scores) / len(scores) if scores else None
        if score is None or score < state.best:
            state.best = score if score is not None else state.best
            state.best_epoch = state.epoch
            self.best = self._weights()
        errors = (state.losses[-1], state.static[-1], state.profiled[-1])
        return EpochDone(state.epoch, settings.epochs, *errors, state.best_epoch)

    def result(self, card: dict[str, Any]) -> EmbeddingModel:
        self.network.load_state_dict(self.best)
        state = self.state
        metrics = {
            "loss": state.losses,
            "validation_static": state.static,
            "validation_profiled": state.profiled,
            "best_epoch": state.best_epoch,
        }
        return EmbeddingModel(self.network.cpu(), {**card, "metrics": metrics, "torch": torch.__version__})

    def _loss(
        self,
        batch: Sequence[Example],
        shown: Sequence[bool],
        alone: Sequence[bool] | None = None,
        gaps: np.random.Generator | None = None,
    ) -> Tensor:
        """The mean absolute error over the metrics that are known; in training, and what is added to it.

        `shown`: whose profile is an input; `alone`: of those, whose graph is not; `gaps`: draws what is missing.
        """
        profiles = profile_tensor([e.profile if s else None for e, s in zip(batch, shown, strict=True)])
        if gaps is not None:
            profiles = torch.from_numpy(with_gaps(profiles.numpy(), gaps))
        machine = torch.tensor([e.machine for e in batch], dtype=torch.float32)
        graphs = collate([e.graph for e in batch])
        hidden = None
        if alone is not None:
            only = [e.profile is not None and s and a for e, s, a in zip(batch, shown, alone, strict=True)]
            hidden = torch.tensor(only, dtype=torch.float32, device=self.device)[:, None]
        output: Output = self.network(graphs.to(self.device), profiles.to(self.device), machine.to(self.device), hidden)
        wanted = torch.from_numpy(learned(batch)).to(self.device, torch.float32)
        standard = (wanted - self.network.target_mean) / self.network.target_std
        known = ~standard.isnan()
        errors = torch.where(known, output.metrics - torch.where(known, standard, 0.0), 0.0).abs()
        loss = errors.sum() / known.sum().clamp(min=1)
        if self.settings.stress > 0 and self.network.training:
            loss = loss + self.settings.stress * stress_loss(output.nest, standard)
        return loss

    def _error(self, *, profiled: bool) -> float | None:
        """Of the validation examples, with their profiles (those that have one) or without; None without any."""
        chosen = [e for e in self.validation if e.profile is not None or not profiled]
        if not chosen:
            return None
        total = 0.0
        self.network.eval()
        with torch.no_grad():
            for first in range(0, len(chosen), self.settings.batch):
                batch = chosen[first : first + self.settings.batch]
                total += float(self._loss(batch, [profiled] * len(batch))) * len(batch)
        return total / len(chosen)

    def _weights(self) -> dict[str, Tensor]:
        return {name: t.detach().clone() for name, t in self.network.state_dict().items()}

    # ------------------------------------------------------------------------------ interruption

    def store(self, path: Path, identity: dict[str, Any]) -> None:
        """Raises ModelUnusable."""
        try:
            store_training(path, _KIND, identity, asdict(self.state), self.network, self.best, self.optimizer)
        except CheckpointError as problem:
            raise ModelUnusable(str(problem)) from None

    def restore(self, path: Path, identity: dict[str, Any]) -> None:
        """Raises ModelUnusable."""
        try:
            found = restore_training(path, _KIND, identity, self.network, self.optimizer, self.cycle, self.device)
            self.state, self.best = _State(**found[0]), found[1]
        except (CheckpointError, TypeError) as problem:
            raise ModelUnusable(str(problem), "remove it to begin again") from None


def _default_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
