"""The trained embedding network: where it lies, and how it is trained from shards of profiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfembed.embedding.encoding.graph import encode
from perfembed.embedding.network.checkpoint import ModelUnusable, load_for_inference, save_model
from perfembed.embedding.network.examples import Example
from perfembed.embedding.network.inference import NumpyEmbeddingModel
from perfembed.embedding.network.interface import machine_numbers
from perfembed.embedding.network.targets import targets
from perfembed.errors import EnvironmentMissing, UsageError
from perfembed.learning.cost_models import SHIPPED, part_of
from perfembed.learning.training_data import is_generated
from perfembed.learning.training_profiles import is_nest, read_examples
from perfembed.retrieval.donors import StoredDonor, read_donors
from perfembed.retrieval.likeness import Recipe, good_recipes, likenesses
from perfembed.retrieval.nest_space import NestSpace
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest

if TYPE_CHECKING:
    from perfembed.embedding.network.train import EpochDone, Similarity

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
    donors: Sequence[Path] = (),
    contrast: float = 0.0,
) -> Path:
    """Trains on generated nests, a quarter of which tell when to stop; where the weights are.

    With a weight for `contrast` nests of the `donors` are pulled together whose good schedules are alike, but for
    those of the algorithms that `cost_models.part_of` keeps for tests. The same nest is never on both sides; what is
    not generated is for tests. Raises UsageError without data, ModelUnusable where the weights cannot be written.
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
    settings = TrainSettings(seed=seed, epochs=epochs, stress=_STRESS, contrast=contrast)
    known = {e.group for e in generated}
    alike = _donor_examples([d for d in read_donors(donors).values() if d.nest_id not in known]) if contrast else []
    similarity = _similarity(len(train), [recipes for _, recipes in alike]) if alike else None
    train += [example for example, _ in alike]
    unfinished = folder / "embedding-unfinished.safetensors"
    model = train_embedding(train, validation, settings, told, similarity=similarity, checkpoint=unfinished)
    save_model(folder / NAME, model)
    for left in (unfinished, unfinished.with_suffix(".json")):
        left.unlink(missing_ok=True)
    return folder / NAME


def _donor_examples(donors: Sequence[StoredDonor]) -> list[tuple[Example, tuple[Recipe, ...]]]:
    """(example without profile and metrics, good schedules) of each that may be trained on."""
    found = []
    for donor in donors:
        recipes = good_recipes(donor)
        if not recipes or not is_generated(donor.algorithm) or part_of(donor.algorithm) == "test":
            continue
        try:
            graph = encode(parse_nest(donor.text), donor.sizes)
        except SchedulerError:
            continue
        unknown = (math.nan,) * len(targets())
        found.append((Example(graph, None, unknown, machine_numbers(donor.target), donor.nest_id), recipes))
    return found


def _similarity(others: int, recipes: Sequence[tuple[Recipe, ...]]) -> Similarity:
    """Of examples of which the first `others` have no known schedules."""
    between = likenesses(recipes)

    def similarity(positions: Sequence[int]) -> npt.NDArray[np.float32]:
        rows = np.array(positions) - others
        known = rows >= 0
        found = np.full((len(rows), len(rows)), np.nan, dtype=np.float32)
        found[np.ix_(known, known)] = between[np.ix_(rows[known], rows[known])]
        return found

    return similarity
