"""The space in which nests are placed: how they perform, and what is visibly there.

A nest is placed by its normal form (`scheduler.normalize.materialized_nest`): how somebody ordered it does not matter.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfembed.embedding.encoding.graph import encode
from perfembed.embedding.encoding.schema import NestGraph
from perfembed.embedding.network.interface import DIMENSION
from perfembed.transfer.embedders import HandmadeEmbedder
from scheduler.errors import SchedulerError
from scheduler.ir.walk import loops
from scheduler.machine.target import Target
from scheduler.moves.trip_counts import trip_counts
from scheduler.normalize.materialized_nest import normal_form
from scheduler.replay import Replayer

if TYPE_CHECKING:
    from perfembed.embedding.network.interface import EmbedsNests

_LEAST_SHARE = 0.05  # what hardly runs still counts so much
Vector = npt.NDArray[np.float32]

_VERSION = 7  # of what follows the learned numbers


class NestSpace:
    """Vectors of one space are comparable, those of different `space_id`s are not."""

    def __init__(self, model: EmbedsNests) -> None:
        self.model = model
        self.space_id = f"{model.model_id}+structure-{_VERSION}"
        self.handmade = HandmadeEmbedder()

    def vectors(
        self,
        nests: Sequence[tuple[Replayer, Mapping[str, int]]],
        target: Target,
        profiles: Sequence[Sequence[float] | None] | None = None,
    ) -> list[npt.NDArray[np.float32] | None]:
        """[d] for each nest in its normal form, at its sizes and on one machine; None where it cannot be embedded.

        `profiles` as in `EmbedsNests.embed`.
        """
        visible: dict[int, Vector] = {}
        graphs: dict[int, NestGraph] = {}
        for number, (written, sizes) in enumerate(nests):
            replayer = normal_form(written)
            with contextlib.suppress(SchedulerError):
                visible[number] = visible_structure(self.handmade, replayer, sizes)
                graphs[number] = encode(replayer.nest, sizes)
        given = [profiles[number] for number in graphs] if profiles is not None else None
        learned = self.model.embed(list(graphs.values()), given, target)
        found: list[Vector | None] = [None] * len(nests)
        for number, one in zip(graphs, learned, strict=True):
            found[number] = np.concatenate((one.vector, visible[number]))
        return found

    def vector(
        self, replayer: Replayer, sizes: Mapping[str, int], target: Target, profile: Sequence[float] | None = None
    ) -> Vector:
        """Of one nest. Raises SchedulerError."""
        replayer = normal_form(replayer)
        (learned,) = self.model.embed([encode(replayer.nest, sizes)], [profile], target)
        return np.concatenate((learned.vector, visible_structure(self.handmade, replayer, sizes)))


def parts(dimension: int) -> dict[str, slice]:
    """Which of a vector's numbers are `learned` from metrics, and which of its `structure`."""
    return {"learned": slice(0, DIMENSION), "structure": slice(DIMENSION, dimension)}


def visible_structure(embedder: HandmadeEmbedder, replayer: Replayer, sizes: Mapping[str, int]) -> Vector:
    """Averages of the hand-made features of a nest's loops, arrays and statements, by the work they have a part in;
    of length 1. Raises SchedulerError.
    """
    given = replayer, replayer.tree(()), sizes
    kinds = embedder.loops(*given), embedder.arrays(*given), embedder.statements(*given)
    shares = _shares(replayer, sizes)
    averages = []
    for vectors in kinds:
        weights = np.array([_LEAST_SHARE + shares.get(name, 0.0) for name in vectors])
        averages.append(weights @ np.stack(list(vectors.values())) / weights.sum())
    joined = np.concatenate(averages).astype(np.float32)
    return joined / np.float32(np.linalg.norm(joined) + 1e-12)


def _shares(replayer: Replayer, sizes: Mapping[str, int]) -> dict[str, float]:
    """Of all statement instances, how many each statement, loop and array has a part in, 0 … 1."""
    extents = trip_counts(tuple(loops(replayer.nest)), sizes)
    work = {
        name: math.prod(float(max(extents.get(i, 1), 1)) for i in replayer.model.iterators(name))
        for name in replayer.model.placed
    }
    total = max(sum(work.values()), 1.0)
    found: dict[str, float] = {}
    for name, instances in work.items():
        parts = {name, *replayer.model.iterators(name), *(u.access.array for u in replayer.model.uses(name))}
        for part in parts:
            found[part] = found.get(part, 0.0) + instances / total
    return found
