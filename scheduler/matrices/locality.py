"""How deep a tree carries dependences and re-uses of what is read, by the volume of what they pass on.

Volumes are counted where sets are small, and sampled otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import islpy as isl

from scheduler.ir.tree import NodePath, TreeLoop, TreeNode, paths_of
from scheduler.polyhedral.dependences import Kind, earlier_text
from scheduler.polyhedral.farkas import Pairs, Row, RowSpace
from scheduler.replay import Replayer

if TYPE_CHECKING:
    import numpy as np

_EXACT = 20_000
_SAMPLES = 4_000


@dataclass(frozen=True, slots=True)
class Volume:
    """`error`: the standard error of `cells`; 0 where they were counted."""

    cells: float
    error: float = 0.0


def volume(cells: isl.Set, parameters: Mapping[str, int], seed: int = 0) -> Volume:
    """The number of points of a set where its parameters have these values; 0 where it is empty.

    Raises ValueError where it is not bounded.
    """
    for position in range(cells.dim(isl.dim_type.param)):
        name = cells.get_dim_name(isl.dim_type.param, position)
        if name is not None and name in parameters:
            cells = cells.fix_val(isl.dim_type.param, position, isl.Val.int_from_si(cells.get_ctx(), parameters[name]))
    cells = cells.project_out(isl.dim_type.param, 0, cells.dim(isl.dim_type.param))
    if cells.is_empty():
        return Volume(0.0)
    cells = _independent(cells)
    count = cells.dim(isl.dim_type.set)
    box: list[tuple[int, int]] = []
    for position in range(count):
        low, high = cells.dim_min_val(position), cells.dim_max_val(position)
        if not (low.is_int() and high.is_int()):
            raise ValueError("a set that is not bounded")
        box.append((low.to_python(), high.to_python()))
    points = math.prod(high - low + 1 for low, high in box)
    if points <= _EXACT:
        return Volume(float(_inside(cells, _grid(box)).sum()))
    share = float(_inside(cells, _drawn(box, seed)).mean())
    return Volume(share * points, points * math.sqrt(max(share * (1 - share), 1 / _SAMPLES) / _SAMPLES))


def _independent(cells: isl.Set) -> isl.Set:
    """Without coordinates that the others determine."""
    position = 0
    while position < cells.dim(isl.dim_type.set):
        determined = any(
            c.is_equality() and abs(c.get_coefficient_val(isl.dim_type.set, position).to_python()) == 1
            for c in cells.affine_hull().remove_divs().get_constraints()
        )
        if determined:
            cells = cells.project_out(isl.dim_type.set, position, 1)
        else:
            position += 1
    return cells


def _grid(box: list[tuple[int, int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    import numpy as np  # here, not above: the command line must start fast

    axes = [np.arange(low, high + 1) for low, high in box]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], 1) if axes else np.zeros((1, 0), int)


def _drawn(box: list[tuple[int, int]], seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    import numpy as np

    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(low, high, _SAMPLES, endpoint=True) for low, high in box], 1)


def _inside(
    cells: isl.Set, points: np.ndarray[tuple[int, int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which points lie in the set, [points]."""
    import numpy as np

    found = np.zeros(len(points), bool)
    for part in cells.compute_divs().get_basic_sets():
        whole = np.ones(len(points), bool)
        values = [points[:, k] for k in range(points.shape[1])]
        for k in range(part.dim(isl.dim_type.div)):
            values.append(_floor(part.get_div(k), values))
        for constraint in part.get_constraints():
            total = np.full(len(points), constraint.get_constant_val().to_python())
            count = points.shape[1]
            for k, value in enumerate(values):
                kind, place = (isl.dim_type.set, k) if k < count else (isl.dim_type.div, k - count)
                total = total + constraint.get_coefficient_val(kind, place).to_python() * value
            whole &= (total == 0) if constraint.is_equality() else (total >= 0)
        found |= whole
    return found


def _floor(
    div: isl.Aff, values: list[np.ndarray[tuple[int], np.dtype[np.int64]]]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The value of a division that isl made explicit: floor of an affine expression over a denominator."""
    denominator = div.get_denominator_val().to_python()
    scaled = div.scale_val(div.get_denominator_val())
    count = scaled.dim(isl.dim_type.in_)
    total = values[0] * 0 + int(scaled.get_constant_val().to_python())
    for k, value in enumerate(values):
        kind, place = (isl.dim_type.in_, k) if k < count else (isl.dim_type.div, k - count)
        total = total + int(scaled.get_coefficient_val(kind, place).to_python()) * value
    return total // denominator


_MEMO_ENTRIES = 20_000
_MOST_READS = 48  # pairs of reads that are looked at


@dataclass(frozen=True, slots=True)
class Passed:
    """Instances that touch the same cells one after the other; how many cells, about."""

    pairs: Pairs
    cells: float


class Carried:
    """By pairs and trees of one nest: what is left of pairs inside each loop around both ends."""

    def __init__(self, space: RowSpace) -> None:
        self._space = space
        self._left: dict[tuple[Pairs, object, object], tuple[Pairs, ...]] = {}

    def inside(self, pairs: Pairs, loop: TreeLoop) -> tuple[Pairs, ...]:
        source, sink = loop.row(pairs.source), loop.row(pairs.sink)
        key = (pairs, source, sink)
        if len(self._left) > _MEMO_ENTRIES:
            self._left.clear()
        if key not in self._left:
            self._left[key] = self._space.left(pairs, Row(((pairs.source, source), (pairs.sink, sink))))
        return self._left[key]

    def level(self, pairs: Pairs, paths: Mapping[str, NodePath]) -> int:
        """The number of the last loop, from 1, that carries some of the pairs; a sequence counts as a loop."""
        left: tuple[Pairs, ...] = (pairs,)
        last = 0
        for level, ((p, node), (q, _)) in enumerate(zip(paths[pairs.source], paths[pairs.sink], strict=False), 1):
            if p != q:
                return level
            if not isinstance(node, TreeLoop) or not left:
                break
            inside = tuple(one for part in left for one in self.inside(part, node))
            if inside != left:
                last, left = level, inside
        return last


class Locality:
    """Of the trees of one nest. Raises QuotaExceeded."""

    def __init__(self, replayer: Replayer, parameters: Mapping[str, int]) -> None:
        self._replayer = replayer
        self._carried = Carried(RowSpace(replayer.model))
        with replayer.model.quota():
            found = (*self._dependences(parameters), *self._reads(parameters))
        self.passed = tuple({one.pairs: one for one in reversed(found)}.values())

    def of(self, tree: tuple[TreeNode, ...]) -> float:
        """The mean of the last level that carries, of all levels, by volume; 1 where nothing is used twice."""
        paths = paths_of(tree)
        deepest = 1 + max((_depth(path) for path in paths.values()), default=0)
        total = sum(one.cells for one in self.passed)
        if not total:
            return 1.0
        return sum(one.cells * self._carried.level(one.pairs, paths) / deepest for one in self.passed) / total

    def _dependences(self, parameters: Mapping[str, int]) -> Iterator[Passed]:
        model = self._replayer.model
        for dependence in self._replayer.dependences:
            writes = dependence.kind is not Kind.ANTI
            for part in dependence.relation.get_basic_maps():
                cells = None
                for use in model.uses(dependence.source):
                    if use.access.array == dependence.array and use.is_write == writes and use.access.is_affine:
                        touched = part.to_map().domain().apply(model.subscripts(dependence.source, use))
                        cells = touched if cells is None else cells.union(touched)
                yield from _passed(dependence.source, dependence.sink, part, cells, parameters)

    def _reads(self, parameters: Mapping[str, int]) -> Iterator[Passed]:
        """Of reads of the same cells, of one access twice first."""
        model = self._replayer.model
        every = [
            (name, use)
            for name in model.placed
            for use in dict.fromkeys(model.uses(name))
            if not use.is_write and use.access.is_affine and use.access.subscripts
        ]
        couples = [(a, b) for a, b in combinations_with_replacement(every, 2) if a[1].access.array == b[1].access.array]
        couples.sort(key=lambda couple: couple[0] != couple[1])
        for (source, first), (sink, second) in couples[:_MOST_READS]:
            text = earlier_text(model, source, first.access, sink, second.access)
            if text is None:
                continue
            relation = isl.Map.read_from_str(model.context, text)
            for part in relation.get_basic_maps():
                if not part.is_empty():
                    cells = part.to_map().domain().apply(model.subscripts(source, first))
                    yield from _passed(source, sink, part, cells, parameters)


def _passed(
    source: str, sink: str, part: isl.BasicMap, cells: isl.Set | None, parameters: Mapping[str, int]
) -> Iterator[Passed]:
    if cells is None:
        return
    try:
        count = volume(cells, parameters).cells
    except ValueError:
        return  # bounds that depend on data
    if count:
        yield Passed(Pairs.of(source, sink, part), count)


def _depth(path: NodePath) -> int:
    return sum(isinstance(node, TreeLoop) for _, node in path)
