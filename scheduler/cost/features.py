"""The feature vector of a scheduled nest: what it touches, how it strides, vectorizes and runs in parallel.

>>> extractor = FeatureExtractor(replayer.model, {"n": 1000}, Target(threads=2))          # doctest: +SKIP
>>> extractor.matrix([scheduled])                                                   # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.cost.body import STRIDES
from scheduler.cost.estimate import Estimator
from scheduler.cost.estimated import Estimate, Line
from scheduler.cost.feature_table import BOUNDS, FEATURES, MEASURED, PROBLEM, TREE
from scheduler.ir.tree import Leaf, TreeNode, tree_loops
from scheduler.ir.walk import loops
from scheduler.machine.target import Target
from scheduler.polyhedral.model import Model
from scheduler.replay import ScheduledNest
from scheduler.transform.initial import initial_tree

if TYPE_CHECKING:
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

_LEAST_LOG = -40.0
_LEAST = 2.0**_LEAST_LOG
_LOW = np.array([f.low for f in FEATURES])
_HIGH = np.array([f.high for f in FEATURES])
_GHZ = 3.0  # cycles are those of a clock like this; which one it was is in the measured time
_BOUNDS = [place for place, f in enumerate(TREE) if f.name in BOUNDS]


class FeatureExtractor:
    """Features of schedules of one nest with given parameter values on one machine; shared parts are kept.

    `model` is of the nest with private arrays expanded (`Replayer.model`).
    """

    def __init__(self, model: Model, parameters: Mapping[str, int], target: Target) -> None:
        self.target = target
        self.estimator = Estimator(model, parameters, target)
        tree = initial_tree(model.nest)
        original = self.estimator.estimate(tree)
        self._cycles = original.cycles
        self.total = max(sum(line.shape.facts.domain.instances for line in original.lines), 1.0)
        self._tree = self._tree_features(original, tree)
        self._problem = self._problem_features(original)

    def vector(self, scheduled: ScheduledNest, seconds: float | None = None) -> Vector:
        """Shape [len(FEATURES)]; `seconds` as in `matrix`."""
        found: Vector = self.matrix([scheduled], seconds)[0]
        return found

    def _row(self, scheduled: ScheduledNest, seconds: float | None) -> npt.NDArray[np.float64]:
        contracted = frozenset(name for name, _ in scheduled.contracted)
        tree = self._tree_features(self.estimator.estimate(scheduled.tree, contracted), scheduled.tree)
        values: npt.NDArray[np.float64] = np.concatenate(
            [self._problem, tree, tree - self._tree, self._measured_features(tree, seconds)]
        )
        return values

    def matrix(self, schedules: Sequence[ScheduledNest], seconds: float | None = None) -> Vector:
        """Shape [len(schedules), len(FEATURES)]. The trees must be of the extractor's nest.

        `seconds`: what a run of the nest as written takes, where that was measured.
        """
        if not schedules:
            return np.zeros((0, len(FEATURES)), dtype=np.float32)
        bounded: Vector = np.clip(np.stack([self._row(s, seconds) for s in schedules]), _LOW, _HIGH).astype(np.float32)
        return bounded

    def without_time(self, rows: Vector) -> Vector:
        """Rows of `matrix` as they are where nothing was measured."""
        bounded: Vector = rows.copy()
        trees = rows[:, len(PROBLEM) : len(PROBLEM) + len(TREE)].astype(np.float64)
        measured = np.array([self._measured_features(tree, None) for tree in trees]).reshape(len(rows), len(MEASURED))
        bounded[:, -len(MEASURED) :] = np.clip(measured, _LOW[-len(MEASURED) :], _HIGH[-len(MEASURED) :])
        return bounded

    # ------------------------------------------------------------------------------- the nest

    def _problem_features(self, original: Estimate) -> npt.NDArray[np.float64]:
        e, t = self.estimator, self.target
        lines = original.lines
        shares = _weights([line.shape.facts.domain.instances for line in lines])

        def mean(values: Sequence[float]) -> float:
            return float(sum(s * v for s, v in zip(shares, values, strict=True)))

        facts = [line.shape.facts for line in lines]
        counts = {
            name: mean([getattr(f.operations, name) for f in facts])
            for name in ("add", "mul", "div", "sqrt", "call", "simple", "integer", "convert", "branch")
        }
        flops = sum(f.operations.flops * f.domain.instances for f in facts)
        data = original.footprint
        nest = e.model.nest
        values: dict[str, float] = {
            "instances": _log(self.total),
            **counts,
            "narrow": mean([min(1.0, f.operations.narrow / max(f.operations.flops, 1e-9)) for f in facts]),
            "accesses": mean([float(sum(len(a.matrix) > 0 for a in f.accesses)) for f in facts]),
            "dimensions": mean([max((float(len(a.matrix)) for a in f.accesses), default=0.0) for f in facts]),
            "statements": float(len(facts)),
            "depth": mean([float(len(f.iterators)) for f in facts]),
            "loops": float(sum(1 for _ in loops(nest))),
            "arrays": float(sum(not a.is_scalar for a in nest.arrays)),
            "data_bytes": _log(data),
            "data_over_l1": _log(data / t.l1_bytes),
            "data_over_l2": _log(data / t.l2_bytes),
            "data_over_l3": _log(data / t.l3_bytes),
            "uneven": mean([float(f.domain.uneven) for f in facts]),
            "opaque": mean([float(f.domain.opaque) for f in facts]),
            "intensity": _log(flops / max(data, 1.0)),
            "threads": float(t.threads),
            "vector_bytes": _log(t.vector_bytes),
            "l1_bytes": _log(t.l1_bytes),
            "l2_bytes": _log(t.l2_bytes),
            "l3_bytes": _log(t.l3_bytes),
            "lanes": mean([_log(t.vector_bytes / f.widest_bytes) for f in facts]),
        }
        return np.array([values[f.name] for f in PROBLEM])

    def _measured_features(self, tree: npt.NDArray[np.float64], seconds: float | None) -> npt.NDArray[np.float64]:
        """[len(MEASURED)], of the features of a tree."""
        known = seconds is not None and seconds > 0
        cycles = _log(1e9 * _GHZ * seconds if known and seconds is not None else self._cycles)
        own = [float(known), cycles - _log(_GHZ) - _log(self.total), cycles - _log(self._cycles)]
        measured: npt.NDArray[np.float64] = np.concatenate([own, cycles - tree[_BOUNDS]])
        return measured

    # ------------------------------------------------------------------------------- the tree

    def _tree_features(self, found: Estimate, tree: tuple[TreeNode, ...]) -> npt.NDArray[np.float64]:
        """[len(TREE)]: means over the statements, weighted with their work, and features of the tree as a whole."""
        t = self.target
        shares = np.array(_weights([line.work for line in found.lines]))
        means = shares @ np.array([_line_features(line, t) for line in found.lines])
        values = dict(zip(_LINE_NAMES, means.tolist(), strict=True))
        values |= _whole_features(found, tree, self.total)
        values |= _parallel_features(found)
        values["tile_over_l1"] = values["tile_bytes"] - _log(t.l1_bytes)
        values["tile_over_l2"] = values["tile_bytes"] - _log(t.l2_bytes)
        values["tile_over_l3"] = values["tile_bytes"] - _log(t.l3_bytes)
        values["inner_over_l1"] = values["inner_bytes"] - _log(t.l1_bytes)
        values["second_over_l1"] = values["second_bytes"] - _log(t.l1_bytes)
        values["second_over_l2"] = values["second_bytes"] - _log(t.l2_bytes)
        values["third_over_l2"] = values["third_bytes"] - _log(t.l2_bytes)
        values["throughput"], values["latency"] = _log(values["throughput"]), _log(2.0**-6 + values["latency"])
        return np.array([values[f.name] for f in TREE])


_LINE_NAMES = (
    "throughput", "latency", "inner_bytes", "second_bytes", "third_bytes", "tile_bytes",
    "resident_l1", "resident_l2", "resident_l3", "stride", "outer_stride", "vector_marked", "vector_automatic",
    "registers", "lanes_used", "accumulators", "unrolled", "copies", "loads", "stores", "carried",
    "inner_trips", "second_trips", "tile_trips", "skewed", "skewed_tiles", "efficiency",
    *(f"read_{kind}" for kind in STRIDES), *(f"write_{kind}" for kind in STRIDES),
)  # fmt: skip


def _line_features(line: Line, target: Target) -> tuple[float, ...]:
    """Of one statement, in the order of _LINE_NAMES."""
    body, place, shape, sizes = line.body, line.place, line.shape, line.sizes
    blocks = [k for k, loop in enumerate(line.path) if loop.tile]
    # Without tile loops the block is everything the statement touches.
    tile_bytes = sizes[min(blocks[-1] + 1, len(sizes) - 1)] if blocks else sizes[0]
    inner = place.inner
    return (
        body.throughput,
        body.latency,
        *(_log(sizes[max(inner - out, 0)]) for out in range(3)),
        _log(tile_bytes),
        *(_log(_resident(line, size)) for size in (target.l1_bytes, target.l2_bytes, target.l3_bytes)),
        body.mean_stride,
        body.outer_stride,
        float(place.marked),
        float(body.automatic),
        float(place.registers),
        _log(body.lanes),
        _log(1.0 + body.accumulators),
        _log(max(line.path[inner].unroll, 1)) if inner >= 0 else 0.0,
        _log(body.copies),
        body.loads,
        body.stores,
        float(body.carried),
        _log(body.trips),
        _log(shape.trips[inner - 1]) if inner > 0 else 0.0,
        _log(math.prod(shape.trips[k] for k in blocks)),
        float(shape.skewed),
        float(shape.skewed_blocks),
        _log(line.efficiency),
        *body.read_shares,
        *body.write_shares,
    )


def _whole_features(found: Estimate, tree: tuple[TreeNode, ...], total: float) -> dict[str, float]:
    nodes = list(tree_loops(tree))
    leaves = [sum(isinstance(child, Leaf) for child in node.children) for node in nodes]
    values = {
        "cycles": _log(found.cycles),
        "compute_cycles": _log(found.compute),
        "serial_cycles": _log(1.0 + found.serial),
        "fork_cycles": _log(1.0 + found.fork),
        "overhead_cycles": _log(1.0 + found.overhead),
        "footprint": _log(found.footprint),
        "packed_bytes": _log(1.0 + found.packed_bytes),
        "least_inner_trips": min((_log(line.body.trips) for line in found.lines), default=0.0),
        "inner_entries": _log(found.entries),
        "loop_iterations": _log(found.iterations),
        "loop_share": _log(found.iterations / total),
        "tree_loops": float(len(nodes)),
        "leaf_loops": float(sum(count > 0 for count in leaves)),
        "tree_depth": float(max((len(line.path) for line in found.lines), default=0)),
        "tile_loops": float(sum(node.tile > 0 for node in nodes)),
        "fused": float(max(leaves, default=0)),
        "packs": float(sum(len(node.packs) for node in nodes)),
        "register_volume": float(max((math.prod(n.register.sizes) for n in nodes if n.register), default=0)),
    }
    for name, moved, cycles in zip(("l1", "l2", "l3"), found.traffic, found.waiting, strict=True):
        values[f"{name}_cycles"] = _log(cycles)
        values[f"{name}_traffic"] = _log(1.0 + moved)
        values[f"{name}_reuse"] = _log(total / max(moved, 1.0))
    return values


_PARALLEL_NAMES = (
    "dynamic", "parallel_trips", "parallel_share_trips", "grain", "region_cycles", "parallel_depth", "chunk",
    "collapse", "imbalance", "written_step", "parallel_reduction", "parallel_vector", "wavefront",
)  # fmt: skip


def _parallel_features(found: Estimate) -> dict[str, float]:
    """Of the parallel loops, weighted with the work inside; zeros without any."""
    work: dict[str, float] = {}
    for line in found.lines:
        if line.region is not None:
            work[line.region.loop.name] = work.get(line.region.loop.name, 0.0) + line.work
    total, inside = sum(line.work for line in found.lines), sum(work.values())
    sums = [0.0] * len(_PARALLEL_NAMES)
    for line in found.lines:
        region = line.region
        mark = region.loop.parallel if region is not None else None
        if region is None or mark is None:
            continue
        cycles = work[region.loop.name] / max(region.entries, 1.0)
        row = (
            float(mark.schedule == "dynamic"),
            _log(region.trips),
            _log(region.trips / line.efficiency),
            _log(cycles / max(region.trips, 1.0)),
            _log(cycles),
            float(region.depth),
            float(mark.chunk),
            float(mark.collapse),
            _log(region.imbalance),
            _log(min(region.written_step, 2.0**40)),
            float(region.reduction),
            float(line.place.marked),
            float(region.depth > 0 and line.shape.skewed + line.shape.skewed_blocks > 0),
        )
        weight = line.work / inside if inside > 0 else 0.0
        sums = [a + weight * b for a, b in zip(sums, row, strict=True)]
    values = dict(zip(_PARALLEL_NAMES, sums, strict=True))
    values["parallel"] = inside / total if total > 0 else 0.0
    values["regions"] = _log(1.0 + sum(region.entries for region in found.regions))
    return values


def _log(value: float) -> float:
    return math.log2(value) if value > _LEAST else _LEAST_LOG


def _weights(values: Sequence[float]) -> list[float]:
    total = sum(values)
    return [v / total for v in values] if total > 0 else [1.0 / max(len(values), 1)] * len(values)


def _resident(line: Line, cache: int) -> float:
    """Instances of the outermost loop around the statement whose data fit in a cache."""
    for level, size in enumerate(line.sizes):
        if size <= cache:
            return line.shape.volumes[min(level, len(line.shape.volumes) - 1)]
    return line.shape.volumes[-1]
