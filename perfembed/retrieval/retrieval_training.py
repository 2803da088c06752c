"""Trains the towers on the cross-transfer matrix, with the vectors of nests and donors that are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfembed.errors import UsageError
from perfembed.retrieval.anchors import read_anchors
from perfembed.retrieval.cross_transfers import DISTURBED, Transfers, nest_vectors, read_transfers
from perfembed.retrieval.donor_vectors import seed_donors
from perfembed.retrieval.nest_space import parts
from perfembed.retrieval.recipe_index import recipes_of
from perfembed.retrieval.space_training import usable_space
from perfembed.retrieval.tower_training import TowerExamples, train_towers
from perfembed.retrieval.towers import NAME, Floats

if TYPE_CHECKING:
    from perfembed.retrieval.donors import Donors

# Without the network's numbers: with them nothing is found that is not found without (`tests.evaluation retrieval`).
PARTS = ("structure", "estimated")


def tower_examples(
    rows: Sequence[Transfers],
    donors: Donors,
    vectors: Mapping[tuple[str, str, str], Floats],
) -> TowerExamples:
    """What was asked of the rows' nests, whose `vectors` are given by `Transfers.key`.

    Of donors that have a vector; what is not known is left out, and so are nests of which nothing remains.
    """
    used = {one.donor for row in rows for one in row.asked}
    recipes = recipes_of({key: donor for key, donor in donors.by_id.items() if key in used}, donors.index.vector)
    places = {key: n for n, key in enumerate(recipes.keys)}
    nests, asked, gains = [], [], []
    for row in rows:
        known = [(places[one.key], row.gain(one)) for one in row.asked if one.key in places]
        known = [(place, gain) for place, gain in known if np.isfinite(gain)]
        if known and row.key in vectors:
            nests.append(vectors[row.key])
            asked.append(np.array([place for place, _ in known], dtype=np.int64))
            gains.append(np.array([gain for _, gain in known]))
    width = len(nests[0]) if nests else 0
    stacked = np.stack(nests) if nests else np.zeros((0, width), dtype=np.float32)
    return TowerExamples(stacked, recipes, tuple(asked), tuple(gains))


def used_numbers(space: int, used: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """[space]: which numbers of a vector belong to these parts of it."""
    found = np.zeros(space, dtype=bool)
    blocks = parts(space)
    for name in used:
        found[blocks[name]] = True
    return found


def train_retrieval(shards: Sequence[Path], seed: int, folder: Path, progress: Callable[[str], None]) -> Path:
    """On all nests of the shards but those whose measuring others disturbed; where the weights are.

    Raises UsageError without nests, EnvironmentMissing without an embedding.
    """
    rows = [row for row in read_transfers(shards) if row.other_load <= DISTURBED]
    if not rows:
        raise UsageError("there are no transfers to train on", "perfembed train transfers measures some")
    space = usable_space()
    vectors = nest_vectors(rows, space)
    progress(f"{len(rows)} nests")
    examples = tower_examples(rows, seed_donors(space), vectors)
    numbers = used_numbers(examples.nests.shape[1], PARTS)
    card = {"data": [shard.name for shard in shards], "parts": list(PARTS), "space": space.space_id}
    towers = train_towers(examples, numbers, read_anchors(), seed, card=card)
    folder.mkdir(parents=True, exist_ok=True)
    towers.save(folder / NAME)
    return folder / NAME
