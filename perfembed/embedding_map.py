"""The embedding space in the plane: t-SNE of all donors with a file's nests among them, or of the nodes of nests."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from perfembed.donors import Donors, StoredDonor
from perfembed.embedding import NestEmbedding, PlacedNest
from perfembed.nest_space import NestSpace
from profilers import counters
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.schedule import parse_schedule
from scheduler.space import Target

_FEW = 4  # vectors: fewer have no shape


@dataclass(frozen=True, slots=True)
class Point:
    """A nest, or a node of one, at (x, y).

    `speedup` and `steps` (names of transformations) are of its best schedule; of a file's `own` nests, which have none,
    they are None and empty. `metrics`: predicted for it as written, by name. `algorithm`: of a node, its kind.
    """

    name: str
    place: str
    algorithm: str
    x: float
    y: float
    text: str
    speedup: float | None
    schedule: str
    steps: tuple[str, ...]
    own: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)


def map_points(
    sources: Sequence[Donors], own: Sequence[PlacedNest], path: str, space: NestSpace, seed: int
) -> tuple[Point, ...]:
    """The donors of all sources and the nests of a file; the same for the same seed.

    Source: van der Maaten and Hinton 2008, t-SNE; started from the principal components, as scikit-learn does it.
    """
    donors = {d.nest_id: (d, s.index.vector(d.nest_id)) for s in sources for d in s.by_id.values()}
    stored = [(donor, vector) for donor, vector in donors.values() if vector is not None]
    placed = [(nest, nest.vector) for nest in own if nest.vector is not None]
    rows = [vector for _, vector in stored] + [vector for _, vector in placed]
    if not rows:
        return ()
    plane = _plane(np.stack(rows), seed)
    metrics = _metrics([donor for donor, _ in stored], space)
    points = [
        Point(
            d.name, d.place, d.algorithm, float(x), float(y), d.text, d.speedups[0], d.schedules[0],
            _steps(d.schedules[0]), metrics=metrics.get(d.nest_id, {}),
        )
        for (d, _), (x, y) in zip(stored, plane, strict=False)
    ]  # fmt: skip
    for (nest, _), (x, y) in zip(placed, plane[len(stored) :], strict=True):
        where = f"{path}:{nest.line}"
        points.append(Point(nest.name, where, "", float(x), float(y), "", None, "", (), own=True))
    return tuple(points)


def node_points(nests: Sequence[NestEmbedding], path: str, seed: int) -> tuple[Point, ...]:
    """The nodes of the graphs of a file's nests by their own embeddings. Source: Trümper et al. 2023, figure 6."""
    if not nests:
        return ()
    nodes = [(nest, kind, name) for nest in nests for kind, name in zip(nest.kinds, nest.names, strict=True)]
    plane = _plane(np.concatenate([nest.nodes for nest in nests]), seed)
    return tuple(
        Point(f"{kind} {name}", f"{nest.name}, {path}:{nest.line}", kind, float(x), float(y), "", None, "", ())
        for (nest, kind, name), (x, y) in zip(nodes, plane, strict=True)
    )


def _metrics(donors: Sequence[StoredDonor], space: NestSpace) -> dict[str, dict[str, float]]:
    """What the model predicts of each donor on the machine it was measured on; nothing of those it cannot read."""
    from perfembed.encoding.graph import NestGraph, encode

    by_target: dict[Target, dict[str, NestGraph]] = {}
    for donor in donors:
        with contextlib.suppress(SchedulerError):
            graph = encode(parse_nest(donor.text), donor.sizes)
            by_target.setdefault(donor.target, {})[donor.nest_id] = graph
    names = [metric.name for metric in counters.metrics()]
    return {
        key: dict(zip(names, map(float, row), strict=True))
        for target, graphs in by_target.items()
        for key, row in zip(graphs, space.model.predict(list(graphs.values()), None, target), strict=True)
    }


def _plane(vectors: npt.NDArray[np.float32], seed: int) -> npt.NDArray[np.float64]:
    """[n, 2]."""
    if len(vectors) < _FEW:
        return np.stack([np.arange(len(vectors)), np.zeros(len(vectors))], axis=1)
    from sklearn.manifold import TSNE  # type: ignore[import-untyped]

    perplexity = min(30.0, (len(vectors) - 1) / 3)
    return np.asarray(TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(vectors), np.float64)


def _steps(schedule: str) -> tuple[str, ...]:
    """The kinds of transformations in a schedule, each once, in their order."""
    try:
        return tuple(dict.fromkeys(step.keyword for step in parse_schedule(schedule)))
    except SchedulerError:
        return ()
