"""Names, units and ranges of the cost model's features. Changing anything here or what it means needs a new VERSION.

A vector is: PROBLEM features of the nest and the machine; TREE features of the scheduled loop tree; for each TREE
feature the difference to the same feature of the nest as written (a log-ratio where it is a logarithm); and MEASURED
features, which hold what is estimated of the tree against the measured time of the nest as written.
Trees are trained on them for the error of log speedups, runs given up as limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_APART = 0.05  # of logarithms of speedups: closer ones have no order
_AT_STAKE = 1.0  # of logarithms: more does not make a pair more important
_LEAST_CURVATURE = 0.05  # of a pair


@dataclass(frozen=True, slots=True)
class Examples:
    """`features` [n, len(NAMES)], `logs` [n] natural logarithms of speedups, `nests` and `groups` [n] numbers.

    `limits` [n]: of runs that were given up; `weights` [n], the same total for every nest. Schedules of one nest with
    the same features are one example, with the mean of their logarithms.
    """

    features: npt.NDArray[np.float32]
    logs: npt.NDArray[np.float64]
    nests: npt.NDArray[np.intp]
    groups: npt.NDArray[np.intp]
    limits: npt.NDArray[np.bool_]
    weights: Floats

    def of(self, chosen: npt.NDArray[np.bool_]) -> Examples:
        """Those for which `chosen` [n] is true."""
        return Examples(*(getattr(self, name)[chosen] for name in self.__slots__))


class Objective:
    """Gradients and curvatures of the loss, by the predictions [n] for the examples."""

    def __init__(self, examples: Examples, order: float) -> None:
        self._examples = examples
        self._order = order
        timed = examples.features[:, NAMES.index("timed")] > 0
        first: list[npt.NDArray[np.intp]] = []
        second: list[npt.NDArray[np.intp]] = []
        weights: list[Floats] = []
        for nest in np.unique(examples.nests) if order else ():
            for version in (timed, ~timed):
                members = np.flatnonzero((examples.nests == nest) & version)
                faster, slower, stakes = _pairs(examples, members)
                if len(faster):
                    first.append(faster)
                    second.append(slower)
                    weights.append(stakes / stakes.sum() * examples.weights[members].sum())
        self._faster = np.concatenate(first) if first else np.zeros(0, dtype=np.intp)
        self._slower = np.concatenate(second) if second else np.zeros(0, dtype=np.intp)
        self._stakes = np.concatenate(weights) if weights else np.zeros(0)

    def __call__(self, predicted: Floats, _: object) -> tuple[Floats, Floats]:
        e, count = self._examples, len(predicted)
        error = predicted - e.logs
        error = np.where(e.limits & (error < 0), 0.0, error)
        gradient, curvature = e.weights * error, e.weights.copy()
        if len(self._stakes):
            wrong = 1.0 / (1.0 + np.exp(predicted[self._faster] - predicted[self._slower]))
            pull = self._order * self._stakes * wrong
            bend = self._order * self._stakes * np.maximum(wrong * (1.0 - wrong), _LEAST_CURVATURE)
            gradient += np.bincount(self._slower, pull, count) - np.bincount(self._faster, pull, count)
            curvature += np.bincount(self._slower, bend, count) + np.bincount(self._faster, bend, count)
        return gradient, curvature


def _pairs(
    examples: Examples, members: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """(the faster ones, the slower ones, how important that is): all pairs with an order; fast ones matter most."""
    logs = examples.logs[members]
    a, b = np.nonzero((logs[:, None] > logs[None, :] + _APART) & ~examples.limits[members][:, None])
    stakes = np.minimum(logs[a] - logs[b], _AT_STAKE) * np.exp(logs[a] - logs.max()) if len(a) else np.zeros(0)
    return members[a], members[b], stakes


VERSION = 1


@dataclass(frozen=True, slots=True)
class Feature:
    """`unit` is of the value as stored; `log2 x` is log2 of x, at least `low`."""

    name: str
    unit: str
    low: float
    high: float


def _logs(unit: str, names: str, low: float = -40.0, high: float = 80.0) -> tuple[Feature, ...]:
    return tuple(Feature(name, f"log2 {unit}", low, high) for name in names.split())


def _shares(names: str) -> tuple[Feature, ...]:
    return tuple(Feature(name, "share", 0.0, 1.0) for name in names.split())


def _counts(names: str, high: float = 1024.0) -> tuple[Feature, ...]:
    return tuple(Feature(name, "count", 0.0, high) for name in names.split())


PROBLEM: tuple[Feature, ...] = (
    *_logs("instances", "instances"),
    *_counts("add mul div sqrt call simple integer convert branch"),  # an instance, mean over the work
    *_shares("narrow"),
    *_counts("accesses dimensions statements depth loops arrays"),
    *_logs("bytes", "data_bytes"),
    *_logs("caches", "data_over_l1 data_over_l2 data_over_l3"),
    *_shares("uneven opaque"),
    *_logs("flop/byte", "intensity"),
    *_counts("threads"),
    *_logs("bytes", "vector_bytes l1_bytes l2_bytes l3_bytes"),
    *_logs("elements", "lanes"),
)

_STRIDES = "invariant contiguous small large indirect"

TREE: tuple[Feature, ...] = (
    # bounds on the time
    *_logs("cycles", "cycles compute_cycles serial_cycles fork_cycles overhead_cycles l1_cycles l2_cycles l3_cycles"),
    *_logs("cycles/instance", "throughput latency"),
    # memory
    *_logs("bytes", "l1_traffic l2_traffic l3_traffic footprint packed_bytes"),
    *_logs("instances/byte", "l1_reuse l2_reuse l3_reuse"),
    *_logs("bytes", "inner_bytes second_bytes third_bytes tile_bytes"),
    *_logs(
        "caches", "inner_over_l1 second_over_l1 second_over_l2 third_over_l2 tile_over_l1 tile_over_l2 tile_over_l3"
    ),
    *_logs("instances", "resident_l1 resident_l2 resident_l3"),
    # strides in the innermost loop, by accesses weighted with the work
    *_shares(" ".join(f"read_{kind}" for kind in _STRIDES.split())),
    *_shares(" ".join(f"write_{kind}" for kind in _STRIDES.split())),
    *_logs("bytes", "stride outer_stride"),
    # vectors and registers
    *_shares("vector_marked vector_automatic registers"),
    *_logs("elements", "lanes_used accumulators unrolled copies"),
    *_counts("loads stores", 4096.0),
    *_shares("carried"),
    # loops
    *_logs("iterations", "inner_trips least_inner_trips second_trips inner_entries loop_iterations tile_trips"),
    *_logs("iterations/instance", "loop_share"),
    *_counts("tree_loops leaf_loops tree_depth tile_loops skewed skewed_tiles fused packs register_volume"),
    # parallel
    *_shares("parallel dynamic"),
    *_logs("entries", "regions"),
    *_logs("iterations", "parallel_trips parallel_share_trips"),
    *_logs("cycles", "grain region_cycles"),
    *_counts("parallel_depth chunk collapse", 1e6),
    *_logs("ratio", "imbalance efficiency"),
    *_logs("bytes", "written_step"),
    *_shares("parallel_reduction parallel_vector wavefront"),
)

BOUNDS = tuple(f.name for f in TREE[:8])  # on the time, in cycles
MEASURED: tuple[Feature, ...] = (
    *_shares("timed"),  # 0: nothing was measured, and the estimate of the nest as written stands for it
    *_logs("ns/instance", "measured"),
    *_logs("measured/estimated cycles", "slowness", -80.0),  # of the nest as written
    *_logs("measured cycles/bound of the tree", " ".join(f"{name}_gain" for name in BOUNDS), -80.0),
)

FEATURES: tuple[Feature, ...] = (
    *PROBLEM,
    *TREE,
    *(Feature(f"d_{f.name}", f"{f.unit}, difference to the original", f.low - f.high, f.high - f.low) for f in TREE),
    *MEASURED,
)
NAMES: tuple[str, ...] = tuple(f.name for f in FEATURES)
