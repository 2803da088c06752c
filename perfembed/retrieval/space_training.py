"""The trained embedding network: where it lies, and how it is trained from shards of profiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfembed.embedding.network.checkpoint import ModelUnusable, load_for_inference, save_model
from perfembed.embedding.network.examples import Example
from perfembed.embedding.network.inference import NumpyEmbeddingModel
from perfembed.embedding.network.interface import machine_numbers
from perfembed.errors import EnvironmentMissing, UsageError
from perfembed.learning.cost_models import SHIPPED
from perfembed.learning.training_profiles import is_nest, read_examples
from perfembed.retrieval.nest_space import NestSpace

if TYPE_CHECKING:
    from perfembed.embedding.network.train import EpochDone

NAME = "embedding.safetensors"
_STRESS = 0.3


def load_embedding_model(folder: Path = SHIPPED) -> NumpyEmbeddingModel:
    """Raises ModelUnusable."""
    return load_for_inference(folder / NAME)


def usable_embedding_model(folder: Path = SHIPPED) -> NumpyEmbeddingModel:
    """As `load_embedding_model`. Raises EnvironmentMissing, with advice."""
    try:
        return load_embedding_model(folder)
    except ModelUnusable as problem:
        raise EnvironmentMissing(str(problem), "perfembed train embedding makes it") from None


def usable_space(folder: Path = SHIPPED) -> NestSpace:
    """The space of a folder's embedding. Raises EnvironmentMissing."""
    return NestSpace(usable_embedding_model(folder))


def is_for_tests(example: Example) -> bool:
    """Whether it comes from a real program: no training sees those."""
    return not is_nest(example.group)


def train_embedding_model(
    shards: Sequence[Path],
    seed: int,
    epochs: int,
    folder: Path,
    progress: Callable[[str], None],
) -> Path:
    """Trains on generated nests, a quarter of which tell when to stop; where the weights are.

    The same nest is never on both sides; what is not generated is for tests. Raises UsageError without data,
    ModelUnusable where the weights cannot be written.
    """
    from perfembed.embedding.network.train import TrainSettings, train_embedding  # here, not above: torch

    generated = [e for e in read_examples(shards, machine_numbers) if not is_for_tests(e)]
    train = [e for e in generated if int(e.group, 16) % 4]
    validation = [e for e in generated if int(e.group, 16) % 4 == 0]
    if not train:
        raise UsageError(
            "there are no profiles to train on", "perfembed populate --generate 9000 --profiles makes them"
        )

    def told(done: EpochDone) -> None:
        found = (
            "" if done.static is None else f", validation {done.static:.4f} static, {done.profiled:.4f} with profile"
        )
        progress(f"epoch {done.epoch} of {done.epochs}: loss {done.loss:.4f}{found}")

    folder.mkdir(parents=True, exist_ok=True)
    settings = TrainSettings(seed=seed, epochs=epochs, stress=_STRESS)
    unfinished = folder / "embedding-unfinished.safetensors"
    model = train_embedding(train, validation, settings, told, checkpoint=unfinished)
    save_model(folder / NAME, model)
    for left in (unfinished, unfinished.with_suffix(".json")):
        left.unlink(missing_ok=True)
    return folder / NAME
