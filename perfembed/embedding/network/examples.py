"""What the performance embedding learns from: graphs with measured metrics, split by group."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from perfembed.embedding.encoding.schema import NestGraph
from perfembed.embedding.network.targets import targets, to_learned
from scheduler.machine.target import Target


@dataclass(frozen=True, slots=True)
class Example:
    """One nest at one size on one machine.

    `profile`: its `interface.profile_numbers` or None; `metrics`: 20 in their units (`targets.metric_row`), NaN where
    unknown; `machine`: `interface.machine_numbers`; `group`: what must not be on both sides of a split (an algorithm, a
    generated program). `text`, `sizes` and `target`: the nest itself, for other models. `least_bytes`: of traffic with
    memory that the nest can do with, NaN where unknown.
    """

    graph: NestGraph
    profile: tuple[float, ...] | None
    metrics: tuple[float, ...]
    machine: tuple[float, ...]
    group: str
    text: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    target: Target | None = None
    least_bytes: float = math.nan


def data_hash(examples: Sequence[Example]) -> str:
    """16 hex digits of everything a model can learn from."""
    digest = hashlib.sha256()
    for e in examples:
        for array in (e.graph.features, e.graph.edges, e.graph.edge_features):
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(repr((e.profile, e.metrics, e.machine, e.group, e.least_bytes)).encode())
    return digest.hexdigest()[:16]


def learned(examples: Sequence[Example]) -> npt.NDArray[np.float64]:
    """[n, 20], as `targets.to_learned` makes them."""
    metrics = np.array([e.metrics for e in examples], dtype=np.float64).reshape(-1, len(targets()))
    return to_learned(metrics, np.array([e.least_bytes for e in examples], dtype=np.float64))
