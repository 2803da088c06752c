"""How the map of schedules is trained: on the donors, and on what they are worth to each other."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perfembed.embedding.network.schedule_map import MappedNests, train_schedule_map
from perfembed.errors import UsageError
from perfembed.learning.cost_models import SHIPPED, part_of
from perfembed.learning.training_data import is_generated
from perfembed.retrieval.donations import Donation, read_donations
from perfembed.retrieval.donors import read_donors
from perfembed.retrieval.nest_space import NestSpace, written_features
from perfembed.retrieval.space_training import MAP, NAME, usable_embedding_model
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.normalize.materialized_nest import normal_form
from scheduler.replay import Replayer


def train_space(shards: Sequence[Path], donations: Sequence[Path], seed: int, folder: Path) -> Path:
    """Trains the map of schedules on what donors are worth to each other, but for those of algorithms that are kept for
    tests; where it is.

    What it stands beside is the embedding of `folder`, or where there is none, the one that ships. Raises UsageError
    without donors of two algorithms or without donations, EnvironmentMissing without an embedding.
    """
    model = usable_embedding_model(folder if (folder / NAME).exists() else SHIPPED)
    space = NestSpace(model)
    features: list[npt.NDArray[np.float32]] = []
    vectors: list[npt.NDArray[np.float32]] = []
    donors = []
    for donor in read_donors(shards).values():
        if is_generated(donor.algorithm) and part_of(donor.algorithm) != "test":
            with contextlib.suppress(SchedulerError):
                written = Replayer(parse_nest(donor.text))
                vector = space.vector(written, donor.sizes, donor.target)
                features.append(written_features(normal_form(written), donor.sizes, donor.target))
                vectors.append(vector)
                donors.append(donor)
    if len({donor.algorithm for donor in donors}) < 2:
        raise UsageError("a map needs donors of two algorithms at least", "perfembed db donors exports some")
    worth = worth_matrix([donor.nest_id for donor in donors], read_donations(donations))
    if not np.isfinite(worth).any():
        raise UsageError(
            "nobody knows what these donors are worth to each other", "perfembed train space --export asks"
        )
    rows = np.stack(vectors)
    parts = {name: rows[:, part] for name, part in space.parts(rows.shape[1]).items()}
    groups = tuple(donor.algorithm for donor in donors)
    found = train_schedule_map(
        MappedNests(np.array(features), parts["learned"], parts["structure"], worth, groups), seed
    )
    path = folder / MAP
    data = {"data": [s.name for s in shards], "donations": [s.name for s in donations]}
    replace(found, card={**found.card, **data, "embedding": model.model_id}).save(path)
    return path


def worth_matrix(nests: Sequence[str], donations: Sequence[Donation]) -> npt.NDArray[np.float32]:
    """[n, n]: the speedup that donor j leads to at nest i over the best that any does.

    A donor that nobody asked is worth as much as those drawn at random are in the mean; NaN where none was asked.
    """
    places = {nest: n for n, nest in enumerate(nests)}
    found = np.full((len(nests), len(nests)), np.nan, dtype=np.float32)
    asked: dict[str, list[Donation]] = {}
    for one in donations:
        if one.nest in places and one.donor in places:
            asked.setdefault(one.nest, []).append(one)
    for nest, several in asked.items():
        best = max(one.speedup for one in several)
        drawn = [one.speedup for one in several if one.drawn] or [one.speedup for one in several]
        row = found[places[nest]]
        row[:] = np.mean(drawn) / best
        row[[places[one.donor] for one in several]] = [one.speedup / best for one in several]
        row[places[nest]] = np.nan
    return found
