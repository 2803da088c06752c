"""What every implementation of the embedding network shares: its settings, what goes in, what comes out. No torch."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from perfembed.embedding.encoding.schema import NestGraph
from profilers.counters import STATISTICS, feature_names
from profilers.profile import Profile
from scheduler.machine.target import Target

DIMENSION = 128
MACHINE_NUMBERS = ("threads", "vector_bytes", "l1_bytes", "l2_bytes", "l3_bytes")
SOURCES = ("simulated", "perf", "likwid")
Machine = Target | tuple[float, ...]
"""A machine, or its `machine_numbers`."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """`layers` of graph transformer with `heads` attention heads; `fusion`: hidden units of the MLP."""

    layers: int = 4
    heads: int = 4
    fusion: int = 256

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if not (1 <= self.layers <= 16 and self.heads >= 1 and DIMENSION % self.heads == 0 and self.fusion >= 1):
            raise ValueError(f"expected 1 to 16 layers and heads that divide {DIMENSION}: {self}")


@dataclass(frozen=True, slots=True)
class Embedding:
    """`vector` float32 [128] of the nest, of length 1; `nodes` float32 [n, 128] in the order of its graph's nodes."""

    vector: npt.NDArray[np.float32]
    nodes: npt.NDArray[np.float32]


class EmbedsNests(Protocol):
    """A trained network: in torch (`gnn`), which trains it, or in NumPy (`inference`), which starts fast."""

    @property
    def model_id(self) -> str:
        """The same for the same weights in either."""
        ...

    def embed(
        self, graphs: Sequence[NestGraph], profiles: Sequence[Sequence[float] | None] | None, machine: Machine
    ) -> list[Embedding]:
        """One embedding a graph; `profiles` are rows of `profile_numbers`, None where there is none."""
        ...

    def predict(
        self, graphs: Sequence[NestGraph], profiles: Sequence[Sequence[float] | None] | None, machine: Machine
    ) -> npt.NDArray[np.float64]:
        """The 20 metrics of each graph [n, 20], in their units and the order of `profilers.counters.metrics`."""
        ...


def machine_numbers(target: Target) -> tuple[float, ...]:
    """What a model is told about a machine: binary logarithms of `MACHINE_NUMBERS`, about 0 for small ones."""
    return tuple(math.log2(max(1, getattr(target, name))) / 8 for name in MACHINE_NUMBERS)


def profile_numbers(profile: Profile) -> tuple[float, ...]:
    """What a model is told about a profile [98]: its 95 features, NaN where a counter is missing, and for each of
    `SOURCES` whether it counted."""
    return (*profile.features(), *(float(profile.source == source) for source in SOURCES))


def profile_width() -> int:
    """Numbers of a profile."""
    return len(feature_names()) + len(SOURCES)


def told_width() -> int:
    """What the network makes of them: counts, for each of the counters whether it is known, and the source."""
    return len(feature_names()) + len(feature_names()) // len(STATISTICS) + len(SOURCES)


def weights_id(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """16 hex digits of all weights and constants: the `model_id` of vectors in the database."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()[:16]
