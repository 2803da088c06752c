"""Training of the recursive LSTM: mean absolute percentage error, AdamW, one learning-rate cycle, best epoch kept.

Source: Baghdadi et al. 2021 (MLSys), section 4. A batch holds groups of schedules, each of one nest, of several
nests of any shapes. The same data, seed and number of threads give the same weights on a CPU, bit for bit, whether
or not training was interrupted and resumed between epochs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from scheduler.cost.lstm_cost_model import RecursiveLstmCostModel
from scheduler.cost.problem import Problem
from scheduler.cost.recursive_lstm import LstmSettings, RecursiveLstm
from scheduler.cost.representation import FEATURE_VERSION, represent_nest
from scheduler.cost.schedule_arrays import NestArrays, ScheduleArrays
from scheduler.cost.schedule_representation import ScheduleEncoder
from scheduler.cost.training_state import restore_training, store_training
from scheduler.cost.tree_batch import nest_batch, schedule_batch
from scheduler.ir.text import nest_id
from scheduler.ir.tree import TreeNode
from scheduler.normalize.scalars import expand_privates
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform.initial import initial_tree

SLOWEST = 0.01  # labels below count as this (as in the papers): nobody needs to know how bad the worst ones are
_KIND = "recursive-lstm-training"
_GROUP = 32  # schedules of one nest in a batch
_CLIP = 1.0  # norm of the gradient


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """`groups`: how many groups of schedules a batch has; `rate`: the learning rate at the top of the cycle (three
    times as much learns next to nothing until it falls again).

    For the first `settling` part of the steps the loss is Huber's of ln predicted - ln measured, then the MAPE: of a
    network that predicts logarithms, the MAPE alone has hardly a gradient where it predicts far too little.
    """

    groups: int = 8
    rate: float = 3e-4
    weight_decay: float = 0.01
    settling: float = 0.7


@dataclass(frozen=True, slots=True)
class EpochDone:
    """`loss`: mean over the epoch; `validation`: MAPE of the validation problems, None without any."""

    epoch: int
    epochs: int
    loss: float
    validation: float | None
    best_epoch: int


@dataclass(frozen=True, slots=True)
class _Group:
    nest: NestArrays
    schedules: ScheduleArrays
    speedups: Tensor  # [schedules, the one as written left out]
    given_up: Tensor  # bool[schedules]: slower than that, nobody knows by how much


@dataclass(slots=True)
class _Progress:
    """What a checkpoint holds beside tensors."""

    epoch: int = 0  # done
    steps: int = 0
    best_epoch: int = 0
    best: float = float("inf")
    losses: list[float] = field(default_factory=list)
    validations: list[float | None] = field(default_factory=list)


def train_recursive_lstm(
    problems: Sequence[Problem],
    validation: Sequence[Problem],
    seed: int,
    epochs: int,
    progress: Callable[[EpochDone], None],
    *,
    settings: LstmSettings | None = None,
    training: TrainSettings | None = None,
    start: RecursiveLstmCostModel | None = None,
    checkpoint: Path | None = None,
    device: str | None = None,
) -> RecursiveLstmCostModel:
    """Trains from scratch, or goes on from the weights of `start` (then with its settings: for another machine).

    With `checkpoint` (*.safetensors) the state is stored after every epoch and taken up again from there. `device`:
    "cpu" or "cuda"; a GPU where there is one by default. Raises ValueError without any label, CheckpointError for a
    checkpoint that cannot be used, NotApplicable for a schedule that does not fit its nest.
    """
    settings = start.network.settings if start else settings or LstmSettings()
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = RecursiveLstm(settings)
    if start is not None:
        network.load_state_dict(start.network.state_dict())
    run = _Training(problems, validation, seed, epochs, training or TrainSettings(), network.to(where), where)
    identity = {
        "data": data_hash(problems),
        "validation_data": data_hash(validation),
        "seed": seed,
        "epochs": epochs,
        "settings": asdict(settings),
        "training": asdict(run.training),
        "start": start.card.get("sha256") if start else None,
        "features": FEATURE_VERSION,
    }
    if checkpoint is not None and checkpoint.exists():
        run.restore(checkpoint, identity)
    while run.state.epoch < epochs:
        progress(run.epoch())
        if checkpoint is not None:
            run.store(checkpoint, identity)
    return run.result({**identity, "problems": len(problems), "labels": sum(len(p.speedups) for p in problems)})


def data_hash(problems: Sequence[Problem]) -> str:
    """16 hex digits of everything a model can learn from the problems, names of nests' parts left out."""
    digest = hashlib.sha256()
    for p in problems:
        document = [nest_id(p.nest), sorted(p.parameters.values()), p.target.numbers()]
        digest.update(
            json.dumps(
                [*document, list(map(format_schedule, p.schedules)), list(p.speedups), sorted(p.given_up)]
            ).encode()
        )
    return digest.hexdigest()[:16]


def mape(network: RecursiveLstm, groups: Sequence[_Group], device: torch.device) -> float:
    """Mean of |predicted - measured| / measured over all schedules; 0 for one given up and predicted to be slower."""
    errors = []
    network.eval()
    with torch.no_grad():
        for first in range(0, len(groups), 16):
            errors.append((_errors(network, groups[first : first + 16], device).exp() - 1).abs().cpu())
    return float(torch.cat(errors).mean())


class _Training:
    def __init__(
        self,
        problems: Sequence[Problem],
        validation: Sequence[Problem],
        seed: int,
        epochs: int,
        training: TrainSettings,
        network: RecursiveLstm,
        device: torch.device,
    ) -> None:
        boxes = not network.settings.matrices
        rng = np.random.default_rng(seed)
        self.groups = [g for p in problems for g in _groups(p, boxes, rng)]
        self.validation = [g for p in validation for g in _groups(p, boxes, rng)]
        if not self.groups:
            raise ValueError("nothing to train on: no problem has a schedule")
        self.seed, self.epochs, self.training = seed, epochs, training
        self.network, self.device = network, device
        self.optimizer = torch.optim.AdamW(network.parameters(), lr=training.rate, weight_decay=training.weight_decay)
        batches = -(-len(self.groups) // training.groups)
        self.cycle = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=training.rate, total_steps=max(epochs * batches, 2)
        )
        self.state = _Progress()
        self.best = {name: t.detach().clone() for name, t in network.state_dict().items()}

    def epoch(self) -> EpochDone:
        state = self.state
        order = np.random.default_rng((self.seed, state.epoch)).permutation(len(self.groups))
        total, count = 0.0, 0
        self.network.train()
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(self.seed * 1_000_003 + state.epoch)  # of dropout
            for first in range(0, len(order), self.training.groups):
                batch = [self.groups[n] for n in order[first : first + self.training.groups]]
                errors = _errors(self.network, batch, self.device)
                settled = state.steps >= self.training.settling * self.cycle.total_steps
                loss = (errors.exp() - 1).abs().mean() if settled else nn.functional.huber_loss(errors, errors * 0)
                self.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(self.network.parameters(), _CLIP)
                self.optimizer.step()
                if state.steps < self.cycle.total_steps - 1:
                    self.cycle.step()
                state.steps += 1
                total += float(loss.detach()) * len(errors)
                count += len(errors)
        state.epoch += 1
        found = mape(self.network, self.validation, self.device) if self.validation else None
        state.losses.append(total / count)
        state.validations.append(found)
        if found is None or found < state.best:
            state.best = found if found is not None else state.best
            state.best_epoch = state.epoch
            self.best = {name: t.detach().clone() for name, t in self.network.state_dict().items()}
        return EpochDone(state.epoch, self.epochs, state.losses[-1], found, state.best_epoch)

    def result(self, identity: dict[str, Any]) -> RecursiveLstmCostModel:
        self.network.load_state_dict(self.best)
        state = self.state
        metrics = {"loss": state.losses, "validation_mape": state.validations, "best_epoch": state.best_epoch}
        return RecursiveLstmCostModel(self.network, {**identity, "metrics": metrics, "torch": torch.__version__})

    # ------------------------------------------------------------------------------ interruption

    def store(self, path: Path, identity: dict[str, Any]) -> None:
        store_training(path, _KIND, identity, asdict(self.state), self.network, self.best, self.optimizer)

    def restore(self, path: Path, identity: dict[str, Any]) -> None:
        found = restore_training(path, _KIND, identity, self.network, self.optimizer, self.cycle, self.device)
        self.state, self.best = _Progress(**found[0]), found[1]


def _groups(problem: Problem, boxes: bool, rng: np.random.Generator) -> Iterator[_Group]:
    """A problem's schedules in groups, drawn at random."""
    nest = expand_privates(problem.nest)
    arrays = represent_nest(nest, problem.parameters, problem.target, boxes=boxes)
    trees: dict[Schedule, tuple[TreeNode, ...]] = {(): initial_tree(nest)}

    def tree(schedule: Schedule) -> tuple[TreeNode, ...]:
        known = trees.get(schedule)
        if known is None:
            known = trees[schedule] = schedule[-1].apply(tree(schedule[:-1]))
        return known

    encoder = ScheduleEncoder(arrays, tree)
    order = rng.permutation(len(problem.schedules))
    for part in np.array_split(order, -(-len(order) // _GROUP)) if len(order) else ():
        schedules = [problem.schedules[n] for n in part]
        speedups = torch.tensor([problem.speedups[n] for n in part], dtype=torch.float32).clamp(min=SLOWEST)
        given_up = torch.tensor([int(n) in problem.given_up for n in part], dtype=torch.bool)
        yield _Group(arrays, encoder.encode([(s, tree(s)) for s in schedules]), speedups, given_up)


def _errors(network: RecursiveLstm, groups: Sequence[_Group], device: torch.device) -> Tensor:
    """Logarithms of predicted / measured speedups, [schedules]; none where a run was given up and would have been."""
    nests = [g.nest for g in groups]
    batch = schedule_batch(nests, [g.schedules for g in groups])
    asked = torch.ones(len(batch.row_nests), dtype=torch.bool)
    asked[batch.written] = False
    logarithms: Tensor = network(nest_batch(nests).to(device), batch.to(device))[asked.to(device)]
    errors = logarithms - torch.cat([g.speedups for g in groups]).to(device).log()
    return torch.where(torch.cat([g.given_up for g in groups]).to(device), errors.clamp(min=0), errors)
