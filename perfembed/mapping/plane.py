"""The embedding space in the plane: t-SNE of all donors and a file's nests among them, or of the nodes of nests."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfembed.mapping.embed_file import NestEmbedding, PlacedNest
from perfembed.retrieval.donors import SEED, Donors, StoredDonor
from perfembed.retrieval.nest_space import NestSpace
from profilers import counters
from profilers.contained.scratch import unfinished_file
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.schedule import parse_schedule

_FEW = 4  # vectors: fewer have no shape
_FEW_SHARE = 0.1  # of the donors laid out: so many more are placed among them


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
    sources: Sequence[Donors],
    own: Sequence[PlacedNest],
    path: str,
    space: NestSpace,
    seed: int,
    cache: Path | None = None,
) -> tuple[Point, ...]:
    """The donors of all sources and the nests of a file; the same for the same seed.

    Source: van der Maaten and Hinton 2008, t-SNE; started from the principal components, as scikit-learn does it.
    Only donors are laid out, and that is kept in the folder `cache`; a file's nests are placed among them
    (`place_among`), and so are the donors of later sources as long as they are few beside
    those of the first: else every new one would cost a minute. Without donors the nests lie side by side.
    """
    newer = {d.nest_id: (d, s.index.vector(d.nest_id)) for s in sources[1:] for d in s.by_id.values()}
    first = {d.nest_id: (d, s.index.vector(d.nest_id)) for s in sources[:1] for d in s.by_id.values()}
    base, late = _with_vectors(first), _with_vectors(newer)
    if late and len(late) > _FEW_SHARE * len(base):
        base, late = _with_vectors({**first, **newer}), []
    placed = [(nest, nest.vector) for nest in own if nest.vector is not None]
    again = {donor.nest_id for donor, _ in late}
    points: list[Point] = []
    spots = [(float(number), 0.0) for number in range(len(placed))]
    if base:
        vectors = np.stack([vector for _, vector in base])
        plane, metrics = _laid_out([donor for donor, _ in base], vectors, space, seed, cache)
        spots = [place_among(vector, vectors, plane) for _, vector in placed]
        points = [
            _point(donor, x, y, known)
            for (donor, _), (x, y), known in zip(base, plane, metrics, strict=True)
            if donor.nest_id not in again
        ]
        if late:
            where = [place_among(vector, vectors, plane) for _, vector in late]
            predicted = _known_metrics([donor for donor, _ in late], space, cache)
            points += [_point(d, x, y, known) for (d, _), (x, y), known in zip(late, where, predicted, strict=True)]
    for (nest, _), (x, y) in zip(placed, spots, strict=True):
        points.append(Point(nest.name, f"{path}:{nest.line}", "", x, y, "", None, "", (), own=True))
    return tuple(points)


def _with_vectors(
    donors: Mapping[str, tuple[StoredDonor, npt.NDArray[np.float32] | None]],
) -> list[tuple[StoredDonor, npt.NDArray[np.float32]]]:
    return [(donor, vector) for donor, vector in donors.values() if vector is not None]


def _point(d: StoredDonor, x: float, y: float, metrics: Mapping[str, float]) -> Point:
    schedule = d.schedules[0]
    return Point(
        d.name, d.place, d.algorithm, float(x), float(y), d.text, d.speedups[0], schedule, _steps(schedule),
        metrics=metrics,
    )  # fmt: skip


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


def _laid_out(
    donors: Sequence[StoredDonor], vectors: npt.NDArray[np.float32], space: NestSpace, seed: int, cache: Path | None
) -> tuple[npt.NDArray[np.float32], list[dict[str, float]]]:
    """(places [n, 2], what the model predicts of each by name; nothing of those it cannot read)."""

    def make() -> npt.NDArray[np.float64]:
        return np.concatenate((_plane(vectors, seed), _metrics(donors, space)), axis=1)

    key = layout_key(donors, vectors, space.space_id, seed)
    table = cached_table(key, (len(donors), 2 + len(counters.metrics())), make, cache, SEED)
    return table[:, :2], [_named(row) for row in table[:, 2:]]


def _known_metrics(donors: Sequence[StoredDonor], space: NestSpace, cache: Path | None) -> list[dict[str, float]]:
    """What the model predicts of a few donors, kept as layouts are."""
    key = layout_key(donors, np.zeros((len(donors), 0), np.float32), space.space_id, 0)
    table = cached_table(key, (len(donors), len(counters.metrics())), lambda: _metrics(donors, space), cache)
    return [_named(row) for row in table]


def _named(row: npt.NDArray[np.float32]) -> dict[str, float]:
    """The metrics by name; none of what the model cannot read."""
    names = [metric.name for metric in counters.metrics()]
    return {} if np.isnan(row).all() else dict(zip(names, map(float, row), strict=True))


def _metrics(donors: Sequence[StoredDonor], space: NestSpace) -> npt.NDArray[np.float64]:
    """[n, 20]: what the model predicts of each donor on the machine it was measured on; NaN where it cannot read it."""
    from perfembed.embedding.encoding.graph import encode
    from perfembed.embedding.encoding.schema import NestGraph

    by_target: dict[Target, dict[int, NestGraph]] = {}
    for number, donor in enumerate(donors):
        with contextlib.suppress(SchedulerError):
            graph = encode(parse_nest(donor.text), donor.sizes)
            by_target.setdefault(donor.target, {})[number] = graph
    found = np.full((len(donors), len(counters.metrics())), np.nan)
    for target, graphs in by_target.items():
        found[list(graphs)] = space.model.predict(list(graphs.values()), None, target)
    return found


def _plane(vectors: npt.NDArray[np.float32], seed: int) -> npt.NDArray[np.float64]:
    """[n, 2]."""
    if len(vectors) < _FEW:
        return np.stack([np.arange(len(vectors)), np.zeros(len(vectors))], axis=1)
    from sklearn.manifold import TSNE  # type: ignore[import-untyped]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    perplexity = min(30.0, (len(vectors) - 1) / 3)
    # Several threads wait for each other a thousand times where others use the cores, and round differently.
    with threadpool_limits(1):
        return np.asarray(TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(vectors), np.float64)


def _steps(schedule: str) -> tuple[str, ...]:
    """The kinds of transformations in a schedule, each once, in their order."""
    try:
        return tuple(dict.fromkeys(step.keyword for step in parse_schedule(schedule)))
    except SchedulerError:
        return ()


Floats = npt.NDArray[np.float32]

_VERSION = 1  # of how layouts are made
_MAGIC = b"perfembed-layout-1\n"
_KEPT = 4  # files in a cache: one for each database or so
_NEAR, _PERPLEXITY = 15, 5.0


def layout_key(donors: Sequence[StoredDonor], vectors: Floats, space_id: str, seed: int) -> str:
    """64 hex digits of everything a layout depends on; `vectors` [n, d] of the donors, in their order."""
    digest = hashlib.sha256()
    about = [[d.nest_id, sorted(d.sizes.items()), d.target.numbers()] for d in donors]
    digest.update(json.dumps([_VERSION, space_id, seed, vectors.shape, about]).encode())
    digest.update(np.ascontiguousarray(vectors, dtype=np.float32).data)
    return digest.hexdigest()


def cached_table(
    key: str, shape: tuple[int, int], make: Callable[[], npt.NDArray[Any]], cache: Path | None, *others: Path
) -> Floats:
    """float32 of that shape: of the file with this key in `cache` or other folders, else made, and kept in `cache`.

    A folder that cannot be read or written costs time only.
    """
    name = f"layout-{key[:16]}.table"
    for folder in (*(() if cache is None else (cache,)), *others):
        found = _load(folder / name, key, shape)
        if found is not None:
            return found
    made = np.ascontiguousarray(make(), dtype=np.float32).reshape(shape)
    if cache is not None:
        with contextlib.suppress(OSError):
            _save(cache / name, key, made)
    return made


def place_among(vector: Floats, vectors: Floats, plane: Floats) -> tuple[float, float]:
    """Where a nest that was not there when the `plane` [n, 2] of `vectors` [n, d] was laid out belongs: at the mean of
    its nearest neighbours' places, weighted as t-SNE weighs neighbours.

    Source: Poličar et al. 2019 (openTSNE), whose embedding of new points begins so.
    """
    squares = ((vectors - vector) ** 2).sum(axis=1, dtype=np.float64)
    near = np.argsort(squares, kind="stable")[:_NEAR]
    weights = _affinities(squares[near] - squares[near[0]], min(_PERPLEXITY, len(near)))
    x, y = weights @ plane[near].astype(np.float64)
    return float(x), float(y)


def _affinities(squares: npt.NDArray[np.float64], perplexity: float) -> npt.NDArray[np.float64]:
    """[n]: exp(-square * b), of sum 1, with the b at which their entropy is log(perplexity), by bisection."""
    low, high = 0.0, math.inf
    sharpness = 1.0 / max(float(squares.mean()), 1e-12)
    weights = np.full(len(squares), 1.0 / len(squares))
    for _ in range(60):
        powers = np.exp(-squares * sharpness)
        weights = powers / powers.sum()
        entropy = -float((weights * np.log(np.maximum(weights, 1e-300))).sum())
        if entropy > math.log(perplexity):
            low, sharpness = sharpness, sharpness * 2 if high == math.inf else (sharpness + high) / 2
        else:
            high, sharpness = sharpness, (sharpness + low) / 2
    return np.asarray(weights, dtype=np.float64)


def _load(path: Path, key: str, shape: tuple[int, int]) -> Floats | None:
    """None where it is missing, damaged or of something else."""
    size = len(_MAGIC) + 65 + 65 + 4 * shape[0] * shape[1]
    try:
        with path.open("rb") as file:
            data = file.read(size + 1)
    except OSError:
        return None
    head, rest = data[: len(_MAGIC) + 65], data[len(_MAGIC) + 65 :]
    if len(data) != size or head != _MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n":
        return None
    if rest[:65] != key.encode() + b"\n":
        return None
    return np.frombuffer(rest[65:], dtype="<f4").reshape(shape)


def _save(path: Path, key: str, table: Floats) -> None:
    """At once or not at all; the oldest others go. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rest = key.encode() + b"\n" + table.astype("<f4").tobytes()
    with unfinished_file(path.parent) as unfinished:
        unfinished.write_bytes(_MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
        os.replace(unfinished, path)
    files = sorted(path.parent.glob("layout-*.table"), key=lambda file: (file != path, -file.stat().st_mtime))
    for old in files[_KEPT:]:
        with contextlib.suppress(OSError):
            old.unlink()
