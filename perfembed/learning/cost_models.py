"""The trained cost models: which there are, where they lie, and how they are trained and combined."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from perfembed.errors import EnvironmentMissing, UsageError
from scheduler.cost.checkpoint import CheckpointError
from scheduler.cost.problem import CostModel, Problem
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from scheduler.cost.boosted import BoostedCostModel
    from scheduler.cost.lstm_cost_model import RecursiveLstmCostModel

SHIPPED = Path(__file__).parents[1] / "weights"
KINDS: tuple[Kind, ...] = ("boosted", "lstm", "both")
DEFAULT: Kind = "boosted"  # what has the lower regret on programs held out: `tests.evaluation`
Kind = OneOf["boosted", "lstm", "both"]
ABLATIONS = ("expressions", "matrices", "program")  # what an LSTM can be trained without
Part = OneOf["train", "validation", "test"]


def part_of(group: str) -> Part:
    """Which part of the data programs of a group (a combination of patterns) belong to, the same for ever."""
    tenth = hashlib.sha256(group.encode()).digest()[0] % 10
    return "test" if tenth < 2 else "validation" if tenth == 2 else "train"


def weights_path(kind: str, folder: Path = SHIPPED) -> Path:
    return folder / f"cost-{kind}.safetensors"


def own_weights(folder: str | None) -> Path:
    """The folder of a user's own models, or what ships."""
    return SHIPPED if folder is None else Path(folder)


def load_cost_model(kind: Kind | None = None, folder: Path = SHIPPED) -> CostModel:
    """Without a kind the default one; of a folder without that, what there is.

    Raises EnvironmentMissing where the weights are not there or cannot be used.
    """
    if kind is None:
        there = [k for k in KINDS if k != "both" and weights_path(k, folder).exists()]
        kind = DEFAULT if DEFAULT in there or not there else there[0]
    if kind == "both":
        return Ensemble((load_cost_model("boosted", folder), load_cost_model("lstm", folder)))
    if kind == "lstm":
        return load_lstm(weights_path(kind, folder))
    return load_boosted(folder)


def load_boosted(folder: Path = SHIPPED) -> BoostedCostModel:
    """Raises EnvironmentMissing."""
    from scheduler.cost.boosted import BoostedCostModel

    try:
        return BoostedCostModel.load(weights_path("boosted", folder))
    except CheckpointError as problem:
        raise EnvironmentMissing(str(problem), "perfembed train cost makes it") from None


def load_cost_models(folder: Path = SHIPPED) -> dict[str, CostModel]:
    """All that are in a folder, by name, those trained without something among them. Raises EnvironmentMissing."""
    there = {kind for kind in KINDS if weights_path(kind, folder).exists()}
    if there == {"boosted", "lstm"}:
        there.add("both")
    found = {str(kind): load_cost_model(kind, folder) for kind in KINDS if kind in there}
    for missing in ABLATIONS:
        path = weights_path(_without(missing), folder)
        if path.exists():
            found[f"lstm without {missing}"] = load_lstm(path)
    return found


def _without(missing: str) -> str:
    return f"lstm-without-{missing}"


def load_lstm(path: Path) -> RecursiveLstmCostModel:
    """Raises EnvironmentMissing."""
    from scheduler.cost.lstm_cost_model import RecursiveLstmCostModel

    try:
        return RecursiveLstmCostModel.load(path)
    except CheckpointError as problem:
        raise EnvironmentMissing(str(problem), "perfembed train cost makes it") from None


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The geometric mean of several models' predictions."""

    models: tuple[CostModel, ...]

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
        import numpy as np

        found = [np.log(model.predict(replayer, parameters, target, schedules, seconds)) for model in self.models]
        return np.asarray(np.exp(np.mean(found, axis=0)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Trained:
    """A model and where it was stored."""

    path: Path
    labels: int
    nests: int


def train_cost_model(
    kind: str,
    problems: Sequence[Problem],
    seed: int,
    epochs: int,
    folder: Path,
    progress: Callable[[str], None],
    start: Path | None = None,
    without: str | None = None,
) -> Trained:
    """Trains on the training part and stores the weights in `folder`; with `start` on all, from these weights on.

    `without`: one of ABLATIONS, of the LSTM only. Raises UsageError without data.
    """
    validation = [p for p in problems if part_of(p.group) == "validation"]
    wanted = ("train", "test") if start is not None else ("train",)  # a user's own labels are for use, not for tests
    train = [p for p in problems if part_of(p.group) in wanted]
    labels = sum(len(p.speedups) for p in train)
    if not labels:
        raise UsageError(
            "there are no labels to train on", "perfembed populate --generate 1500 --schedules 32 makes some"
        )
    name = _without(without) if without else kind
    path = weights_path(name, folder)
    if kind == "boosted":
        from scheduler.cost.boosted import BoostedCostModel
        from scheduler.cost.train_boosted import finetune_boosted, train_boosted

        every = [*train, *validation]  # it holds groups out itself
        if start is None:
            train_boosted(every, seed).save(path)
        else:
            finetune_boosted(BoostedCostModel.load(start), every, seed).save(path)
    else:
        from scheduler.cost.lstm_cost_model import RecursiveLstmCostModel
        from scheduler.cost.recursive_lstm import LstmSettings
        from scheduler.cost.train_recursive_lstm import EpochDone, train_recursive_lstm

        def told(done: EpochDone) -> None:
            found = "" if done.validation is None else f", validation MAPE {done.validation:.1%}"
            progress(f"epoch {done.epoch} of {done.epochs}: loss {done.loss:.4f}{found}")

        train_recursive_lstm(
            train,
            validation,
            seed,
            epochs,
            told,
            settings=LstmSettings(**{without: False}) if without else None,
            start=RecursiveLstmCostModel.load(start) if start else None,
            checkpoint=folder / f"cost-{name}-unfinished.safetensors",
        ).save(path, half=True)
    return Trained(path, labels, len(train))
