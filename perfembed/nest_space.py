"""The space in which donors are looked for: what the model learned of a nest beside what is visibly there.

A vector that was learned from metrics alone brings nests together that perform alike; schedules fit where loops, arrays
and statements are alike, too.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfembed.encoding.graph import NestGraph, encode
from perfembed.transfer.handmade import HandmadeEmbedder
from scheduler.errors import SchedulerError
from scheduler.ir.walk import loops
from scheduler.replay import Replayer
from scheduler.space import Target, trip_counts

if TYPE_CHECKING:
    from perfembed.model.gnn import EmbeddingModel

_LEAST_SHARE = 0.05  # what hardly runs still counts so much
Vector = npt.NDArray[np.float32]

_VERSION = 2  # of what follows the learned numbers
_WEIGHT = 2.5  # of the visible part: nests then differ by both about as much


class NestSpace:
    """Vectors of one model are comparable, those of different `space_id`s are not."""

    def __init__(self, model: EmbeddingModel) -> None:
        self.model = model
        self.space_id = f"{model.model_id}+structure-{_VERSION}"
        self.handmade = HandmadeEmbedder()

    def vectors(
        self,
        nests: Sequence[tuple[Replayer, Mapping[str, int]]],
        target: Target,
        profiles: Sequence[Sequence[float] | None] | None = None,
    ) -> list[npt.NDArray[np.float32] | None]:
        """[d] for each nest, as written, at its sizes and on one machine; None where it cannot be embedded.

        `profiles` as in `EmbeddingModel.embed`.
        """
        visible: dict[int, Vector] = {}
        graphs: dict[int, NestGraph] = {}
        for number, (replayer, sizes) in enumerate(nests):
            with contextlib.suppress(SchedulerError):
                visible[number] = _structure(self.handmade, replayer, sizes)
                graphs[number] = encode(replayer.nest, sizes)
        given = [profiles[number] for number in graphs] if profiles is not None else None
        learned = self.model.embed(list(graphs.values()), given, target)
        found: list[Vector | None] = [None] * len(nests)
        for number, one in zip(graphs, learned, strict=True):
            found[number] = _join(one.vector, visible[number])
        return found

    def vector(self, replayer: Replayer, sizes: Mapping[str, int], target: Target) -> Vector:
        """Of one nest. Raises SchedulerError."""
        (learned,) = self.model.embed([encode(replayer.nest, sizes)], None, target)
        return _join(learned.vector, _structure(self.handmade, replayer, sizes))


def _join(learned: Vector, visible: Vector) -> Vector:
    """Both scaled to a length of their own, one after the other."""
    return np.concatenate((_unit(learned), np.float32(_WEIGHT) * _unit(visible)))


def _structure(embedder: HandmadeEmbedder, replayer: Replayer, sizes: Mapping[str, int]) -> Vector:
    """Averages of the hand-made features of a nest's loops, arrays and statements, by the work they have a part in.

    Raises SchedulerError.
    """
    given = replayer, replayer.tree(()), sizes
    kinds = embedder.loops(*given), embedder.arrays(*given), embedder.statements(*given)
    shares = _shares(replayer, sizes)
    averages = []
    for vectors in kinds:
        weights = np.array([_LEAST_SHARE + shares.get(name, 0.0) for name in vectors])
        averages.append(weights @ np.stack(list(vectors.values())) / weights.sum())
    return np.concatenate(averages).astype(np.float32)


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


def _unit(vector: Vector) -> Vector:
    return vector / np.float32(np.linalg.norm(vector) + 1e-12)
