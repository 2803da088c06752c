"""How deep a tree carries dependences and re-uses of what is read, by the volume of what they pass on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

import islpy as isl

from scheduler.ir.tree import NodePath, TreeLoop, TreeNode, paths_of
from scheduler.matrices.volumes import volume
from scheduler.polyhedral.dependences import Kind, earlier_text
from scheduler.polyhedral.farkas import Pairs, Row, RowSpace
from scheduler.replay import Replayer

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
