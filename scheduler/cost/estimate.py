"""Time and traffic of a loop tree by closed forms: what a performance engineer would work out on paper.

Traffic into a cache of size C (Carr, McKinley and Tseng 1994, in the capacity form of Halide's autoscheduler): a loop
moves its own footprint once if one iteration's footprint fits in C, since iterations then find what they share; else
every iteration moves what its body moves. Between 2/3 and 3/2 of C the two are mixed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.cost.accesses import array_bytes, statement_facts
from scheduler.cost.body import Body, estimate_body, place_of
from scheduler.cost.estimated import Estimate, Line, Moved, Part, Region
from scheduler.cost.footprint import Frames, Shape
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode
from scheduler.machine.target import Target
from scheduler.polyhedral.model import Model

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_BANDWIDTH = (32.0, 16.0, 4.0)  # bytes a cycle from L2, L3 and memory
_SHARED = (1e9, 1e9, 1.6)  # how many times one thread's bandwidth all threads together have
_FORK_CYCLES = 8000.0
_CHUNK_CYCLES = 150.0
_ENTRY_CYCLES = 8.0
_MEMO = 4096


class Estimator:
    """Estimates trees of one nest at given parameter values; what schedules share is computed once."""

    def __init__(self, model: Model, parameters: Mapping[str, int], target: Target) -> None:
        self.model = model
        self.target = target
        known = {p.name: p.value for p in model.nest.parameters if p.value is not None}
        self.parameters: dict[str, int] = {**known, **parameters}
        self.numbers = {array.name: k for k, array in enumerate(model.nest.arrays)}
        self.expanded = frozenset(a.name for a in model.nest.arrays if a.expanded)
        self.array_sizes = np.array([array_bytes(a, self.parameters) for a in model.nest.arrays])
        self.written = np.zeros(len(self.numbers))
        self._used: dict[str, frozenset[str]] = {}
        for statement in model.placed:
            uses = model.uses(statement)
            self._used[statement] = frozenset(use.access.array for use in uses)
            for use in uses:
                self.written[self.numbers[use.access.array]] += use.is_write
        self.written = np.minimum(self.written, 1.0)
        self._frames: dict[tuple[str, frozenset[str]], Frames] = {}
        self._shapes: dict[tuple[object, ...], Shape] = {}
        self._bodies: dict[tuple[object, ...], Body] = {}
        self._parts: dict[tuple[TreeNode, frozenset[str] | None], Part] = {}

    def frames(self, statement: str, contracted: frozenset[str] | None = None) -> Frames:
        """Of a statement whose private arrays are as small as they can be, or those named."""
        chosen = (self.expanded if contracted is None else contracted) & self._used[statement]
        key = (statement, chosen)
        if key not in self._frames:
            facts = statement_facts(self.model, statement, self.parameters, chosen, self.numbers)
            self._frames[key] = Frames(facts, self.array_sizes, self.written)
        return self._frames[key]

    def estimate(self, tree: tuple[TreeNode, ...], contracted: frozenset[str] | None = None) -> Estimate:
        """Of a legal tree; `contracted` are the private arrays without added dimensions (None: all of them)."""
        if max(len(self._shapes), len(self._parts)) > _MEMO:  # together: bodies are found by the identity of shapes
            self._shapes.clear()
            self._bodies.clear()
            self._parts.clear()
        parts = []
        for node in tree:
            part = self._parts.get((node, contracted))
            if part is None:
                part = self._parts[node, contracted] = _TreeWalk(self, contracted).part(node)
            parts.append(part)
        return _TreeWalk(self, contracted).whole(tree, parts)

    def shape(self, statement: str, path: tuple[TreeLoop, ...], contracted: frozenset[str] | None) -> Shape:
        """A statement below a path of loops."""
        key = (statement, contracted, tuple(loop.row(statement) for loop in path))
        found = self._shapes.get(key)
        if found is None:
            found = self.frames(statement, contracted).shape(path)
            self._shapes[key] = found
        return found

    def body(
        self, path: tuple[TreeLoop, ...], shape: Shape, beside: tuple[tuple[Shape, int], ...], packed: frozenset[int]
    ) -> Body:
        """The innermost body of a path (`estimate_body`)."""
        marks = tuple((loop.vector, loop.unroll, loop.register) for loop in path)
        key = (id(shape), marks, tuple((id(s), level) for s, level in beside), packed)
        found = self._bodies.get(key)
        if found is None:
            found = estimate_body(path, shape, beside, packed, self.target.vector_bytes)
            self._bodies[key] = found
        return found


class _TreeWalk:
    """One pass over a tree: traffic comes up from the leaves, marks go down to them."""

    def __init__(self, estimator: Estimator, contracted: frozenset[str] | None) -> None:
        self.e = estimator
        self.contracted = contracted
        self.result = Estimate()
        self.shapes: dict[str, Shape] = {}
        self.paths: dict[str, tuple[TreeLoop, ...]] = {}
        t = estimator.target
        self.caches = (math.log2(t.l1_bytes), math.log2(t.l2_bytes), math.log2(t.l3_bytes))

    def part(self, node: TreeNode) -> Part:
        """One of a tree's outermost nodes."""
        self._place((node,), ())
        return Part(self.shapes, self.paths, self.result, self._visit(node, 0, None, frozenset(), []))

    def whole(self, tree: tuple[TreeNode, ...], parts: Sequence[Part]) -> Estimate:
        """All of them."""
        for part in parts:
            self.shapes |= part.shapes
            self.paths |= part.paths
            self.result.add(part.estimate)
        out = self.result
        size, moved = self._touched(tuple(self.shapes), 0)
        leaves = tuple(node.statement for node in tree if isinstance(node, Leaf))
        if leaves:
            self._lines(leaves, None, frozenset(), [size])
        out.footprint = size
        coming, sharing = _sums([part.moved for part in parts])
        traffic, waiting = [], []
        for c, fits in enumerate(self._fits(size, 1.0)):
            kept = min(fits * moved + (1 - fits) * coming[c], coming[c])
            traffic.append(kept)
            waiting.append(sharing[c] * kept / max(coming[c], 1.0) / _BANDWIDTH[c])
        out.traffic, out.waiting = tuple(traffic), tuple(waiting)
        return out

    def _place(self, nodes: tuple[TreeNode, ...], path: tuple[TreeLoop, ...]) -> None:
        for node in nodes:
            if isinstance(node, Leaf):
                self.paths[node.statement] = path
                self.shapes[node.statement] = self.e.shape(node.statement, path, self.contracted)
            else:
                self._place(node.children, (*path, node))

    def _touched(self, statements: tuple[str, ...], level: int) -> tuple[float, float]:
        """(bytes touched by statements in one run of the loops from a level inwards, the same with writes twice)."""
        if len(statements) == 1:
            return self.shapes[statements[0]].touched[level]
        total = self.shapes[statements[0]].footprints[level]
        for s in statements[1:]:
            total = np.maximum(total, self.shapes[s].footprints[level])
        size = float(total.sum())
        return size, size + float(total @ self.e.written)

    def _fits(self, size: float, sharers: float) -> list[float]:
        """How much of what fits is found again, from 0 (not at all) to 1, in each cache."""
        logs = math.log2(max(size, 1.0))
        first, second, third = self.caches
        over = (first - logs, second - logs, third - math.log2(sharers) - logs)
        return [1.0 if x > 0.585 else 0.0 if x < -0.585 else (x + 0.585) / 1.17 for x in over]

    def _visit(
        self,
        node: TreeNode,
        level: int,
        region: Region | None,
        packed: frozenset[int],
        sizes: list[float],
    ) -> Moved:
        if isinstance(node, Leaf):
            into = [self.shapes[node.statement].touched[level][1]] * 3
            return into, into
        statements = tuple(s for s, _ in node.rows)
        shapes = [self.shapes[s] for s in statements]
        trips, entries = shapes[0].trips[level], shapes[0].entries[level]
        for shape in shapes[1:]:
            trips, entries = max(trips, shape.trips[level]), max(entries, shape.entries[level])
        out = self.result
        out.iterations += entries * trips
        if node.packs:
            packed |= {self.e.numbers[mark.array] for mark in node.packs if mark.array in self.e.numbers}
        size, moved = self._touched(statements, level)
        body_size, body_moved = self._touched(statements, level + 1)
        entered = region
        if node.parallel is not None and region is None:
            own = min(1.0, max(0.0, size - body_size) / max(body_size * (trips - 1), 1.0))  # not shared by iterations
            sharers = 1 + own * (min(self.e.target.threads, trips) - 1)
            entered = self._enter(node, level, statements, entries, sharers)
        if node.packs:
            packs = sum(
                max(float(s.footprints[level + 1][self.e.numbers[m.array]]) for s in shapes)
                for m in node.packs
                if m.array in self.e.numbers
            )
            out.packed_bytes += packs * trips * entries
        sizes = [*sizes, size]
        below = [self._visit(child, level + 1, entered, packed, sizes) for child in node.children]
        leaves = [child.statement for child in node.children if isinstance(child, Leaf)]
        if leaves:
            self._lines(tuple(leaves), entered, packed, [*sizes, body_size])
        threads = 1.0
        if entered is not None and entered is not region:
            threads = max(1.0, min(float(self.e.target.threads), entered.trips) / entered.imbalance)
        totals, weighted = [], []
        coming, sharing = below[0] if len(below) == 1 else _sums(below)
        least = min(moved, trips * moved)
        for c, fits in enumerate(self._fits(body_size, entered.sharers if entered else 1.0)):
            bytes_in, shared = coming[c], sharing[c]
            once = trips * (fits * body_moved + (1 - fits) * bytes_in)
            total = max(min(fits * moved + (1 - fits) * once, once), least)
            totals.append(total)
            weighted.append(total * shared / max(bytes_in, 1.0) / min(threads, _SHARED[c]))
        return totals, weighted

    def _enter(self, node: TreeLoop, level: int, statements: tuple[str, ...], entries: float, sharers: float) -> Region:
        assert node.parallel is not None
        trips = 1.0
        for k in range(level, level + node.parallel.collapse):
            trips *= max((self.shapes[s].trips[k] for s in statements if k < len(self.shapes[s].trips)), default=1.0)
        step, reduction = math.inf, False
        for s in statements:
            shape = self.shapes[s]
            j = max(shape.coordinates[level], shape.blocks[level])
            for access, strides in zip(shape.facts.accesses, shape.strides, strict=True):
                if access.is_write and j >= 0:
                    reduction |= strides[j] == 0.0 and shape.facts.update_cycles > 0
                    if len(access.matrix) and strides[j] > 0:
                        chunk = node.parallel.chunk or max(1.0, trips / self.e.target.threads)
                        step = min(step, strides[j] * chunk * max(node.tile, 1))
        imbalance = self._imbalance(node, level, statements, trips)
        region = Region(node, level, entries, trips, imbalance, step, reduction, sharers)
        self.result.regions.append(region)
        chunks = 0.0
        if node.parallel.schedule == "dynamic":
            chunks = trips / max(node.parallel.chunk, 1) * _CHUNK_CYCLES
        self.result.fork += entries * (_FORK_CYCLES + chunks)
        return region

    def _imbalance(self, node: TreeLoop, level: int, statements: tuple[str, ...], trips: float) -> float:
        """The busiest thread's work over the mean, at least 1."""
        assert node.parallel is not None
        threads = self.e.target.threads
        chunk = max(node.parallel.chunk, 1) if node.parallel.schedule == "dynamic" or node.parallel.chunk else 1
        parts = max(1.0, math.ceil(trips / chunk))
        whole = math.ceil(parts / threads) * threads / parts if parts >= threads else threads / parts
        whole = min(whole, float(threads))
        if node.parallel.schedule == "dynamic" or node.parallel.chunk:
            return max(1.0, whole)
        worst = 1.0
        for s in statements:
            shape = self.shapes[s]
            j = max(shape.coordinates[level], shape.blocks[level])
            domain = shape.facts.domain
            if j < 0 or not domain.uneven or not len(domain.points):
                continue
            position = (domain.points / domain.scales) @ shape.forms[j]
            low, high = position.min(), position.max()
            if high > low:
                part = np.minimum(((position - low) / (high - low) * threads).astype(np.intp), threads - 1)
                loads = np.bincount(part, weights=domain.weights, minlength=threads)
                worst = max(worst, float(loads.max() / max(loads.mean(), 1e-12)))
        return max(worst, whole)

    def _lines(
        self,
        leaves: tuple[str, ...],
        region: Region | None,
        packed: frozenset[int],
        sizes: list[float],
    ) -> None:
        out = self.result
        places = {s: place_of(self.paths[s], self.shapes[s]) for s in leaves}
        beside = tuple((self.shapes[s], places[s].inner) for s in leaves)
        threads = float(self.e.target.threads)
        efficiency = 1.0
        if region is not None:
            efficiency = max(1.0, min(threads, region.trips) / region.imbalance)
        for s in leaves:
            shape, path = self.shapes[s], self.paths[s]
            body = self.e.body(path, shape, beside, packed)
            work = shape.facts.domain.instances * body.cycles
            out.lines.append(Line(shape, path, places[s], body, region, sizes, work, efficiency))
            out.compute += work / efficiency
            out.serial += work if region is None else 0.0
        entered = max(self.shapes[s].entries[max(places[s].inner, 0)] for s in leaves)
        out.entries += entered
        out.overhead += entered * _ENTRY_CYCLES / efficiency


def _sums(found: Sequence[Moved]) -> Moved:
    """Of what several nodes move, for each cache."""
    first, second = zip(*found, strict=True)
    return list(map(sum, zip(*first, strict=True))), list(map(sum, zip(*second, strict=True)))
