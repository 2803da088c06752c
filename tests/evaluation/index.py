"""How fast and how exact the nearest-neighbour index is, on synthetic clusters."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfembed.retrieval.index import VectorIndex

_CLUSTERS = 1000
_SPREAD = 0.35  # of a cluster, where the centres have variance 1


@dataclass(frozen=True, slots=True)
class IndexBench:
    """`recall_at_10`: share of the ten nearest that were found; `bytes`: of the index without the ids."""

    count: int
    dimension: int
    exact: bool
    build_s: float
    p50_ms: float
    p99_ms: float
    recall_at_10: float
    bytes: int


def bench_index(
    count: int, dimension: int = 128, seed: int = 0, queries: int = 500, exact: bool | None = None
) -> IndexBench:
    """Queries one after another, each a new point of some cluster; recall against all distances."""
    import faiss

    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((_CLUSTERS, dimension), dtype=np.float32)
    vectors, asked = _points(rng, centres, count), _points(rng, centres, queries)
    ids = [f"{n:016x}" for n in range(count)]
    began = time.perf_counter()
    index = VectorIndex.build(ids, vectors, "synthetic", exact)
    build_s = time.perf_counter() - began
    nearest = faiss.knn(asked, vectors, min(10, count))[1]
    times, hits = [], 0
    for query, wanted in zip(asked, nearest, strict=True):
        began = time.perf_counter()
        found = index.search(query, 10)
        times.append(time.perf_counter() - began)
        hits += len({ids[n] for n in wanted} & {neighbour.id for neighbour in found})
    p50, p99 = np.percentile(times, (50, 99)) * 1e3
    return IndexBench(
        count, dimension, index.is_exact, build_s, float(p50), float(p99), hits / nearest.size, index.bytes
    )


def _points(rng: np.random.Generator, centres: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.float32]:
    points = rng.standard_normal((count, centres.shape[1]), dtype=np.float32) * np.float32(_SPREAD)
    points += centres[rng.integers(0, len(centres), count)]
    return points
