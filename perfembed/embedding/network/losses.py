"""What training is told: a loss that places nests as far apart as they perform, and profiles with gaps.

What ships was profiled by simulation, which counts everything; a machine counts what its event map has. No counts of a
machine were there to train on: what is shown as counted by one are simulated counts, of the counters that it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from perfembed.embedding.network.interface import SOURCES
from profilers.counters import STATISTICS, counters
from profilers.mapping import event_maps


def stress_loss(vectors: Tensor, metrics: Tensor) -> Tensor:
    """Kruskal 1964 (multidimensional scaling): squared differences between distances of nests and of their metrics.

    `vectors` [b, 128] of length 1, whose distances are stretched as fits best; `metrics` [b, 20] standardized, NaN
    where unknown, whose distances are root mean squares, of what both nests have. 0 without a pair.
    """
    rows, columns = torch.triu_indices(len(vectors), len(vectors), offset=1, device=vectors.device)
    apart = metrics[rows] - metrics[columns]
    known = ~apart.isnan()
    count = known.sum(1)
    rows, columns, apart, known, count = (t[count > 0] for t in (rows, columns, apart, known, count))
    if not len(count):
        return vectors.sum() * 0
    wanted = (torch.where(known, apart, 0.0).square().sum(1) / count).sqrt()
    found = ((vectors[rows] - vectors[columns]).square().sum(1) + 1e-12).sqrt()
    stretch = (found * wanted).sum() / found.square().sum()
    return (stretch * found - wanted).square().mean()


Floats = npt.NDArray[np.float32]

_MACHINE = 0.3  # share that is shown as counted by a machine
_WHOLE = 0.4  # share that stays as it is
_MOST = 0.6  # missing counters of the others: a share drawn between 0 and this
_NOISE = 0.1  # standard deviation of the logarithm of a machine's count


def with_gaps(profiles: Floats, rng: np.random.Generator) -> Floats:
    """`profiles` [n, 98] as `interface.profile_numbers` makes them, NaN where there is none; copies of the same shape.

    Some stay whole, some lose counters at random, some those that one event map of perf or LIKWID cannot count.
    """
    found = profiles.copy()
    each = len(STATISTICS)
    count = len(counters())
    maps = list(_countable().values())
    for row in found:
        kind = rng.random()
        if kind < _WHOLE:
            continue
        if kind < _WHOLE + _MACHINE:
            source, kept = maps[rng.integers(len(maps))]
            row[: count * each] *= np.repeat(np.exp(_NOISE * rng.standard_normal(count)), each)
            if not np.isnan(row[-len(SOURCES) :]).any():
                row[-len(SOURCES) :] = [name == source for name in SOURCES]
        else:
            kept = rng.random(count) >= rng.uniform(0, _MOST)
        row[: count * each][~np.repeat(kept, each)] = np.nan
    return found


def as_counted_by(name: str, profile: Sequence[float] | None) -> tuple[float, ...] | None:
    """The numbers of a profile that the event map of that name can count, marked with its tool."""
    if profile is None:
        return None
    source, kept = _countable()[name]
    counts = np.where(np.repeat(kept, len(STATISTICS)), profile[: -len(SOURCES)], np.nan)
    return (*counts.tolist(), *(float(source == one) for one in SOURCES))


@cache
def _countable() -> dict[str, tuple[str, npt.NDArray[np.bool_]]]:
    """Of every event map by its name: the tool, and which counters it has."""
    found = {}
    for tool in ("perf", "likwid"):
        for one in event_maps(tool):
            known = {counter.name for counter in one.counters}
            found[one.name] = (tool, np.array([counter.name in known for counter in counters()]))
    return found
