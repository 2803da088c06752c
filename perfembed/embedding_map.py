"""The embedding space in the plane: t-SNE of all donors, with a file's nests among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfembed.donors import Donors
from perfembed.embedding import PlacedNest
from scheduler.errors import SchedulerError
from scheduler.schedule import parse_schedule

_FEW = 4  # vectors: fewer have no shape


@dataclass(frozen=True, slots=True)
class Point:
    """A nest at (x, y). `speedup` and `steps` (names of transformations) are of its best schedule; of a file's own
    nests, which have none, they are None and empty."""

    name: str
    place: str
    algorithm: str
    x: float
    y: float
    text: str
    speedup: float | None
    schedule: str
    steps: tuple[str, ...]
    own: bool


def map_points(sources: Sequence[Donors], own: Sequence[PlacedNest], path: str, seed: int) -> tuple[Point, ...]:
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
    points = [
        Point(
            d.name, d.place, d.algorithm, float(x), float(y), d.text, d.speedups[0], d.schedules[0],
            _steps(d.schedules[0]), False,
        )
        for (d, _), (x, y) in zip(stored, plane, strict=False)
    ]  # fmt: skip
    for (nest, _), (x, y) in zip(placed, plane[len(stored) :], strict=True):
        where = f"{path}:{nest.line}"
        points.append(Point(nest.name, where, "", float(x), float(y), "", None, "", (), True))
    return tuple(points)


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
