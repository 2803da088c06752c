"""Nine numbers in [0, 1] that say what a schedule tree is like, whatever the nest.

Source: Ganser et al. 2018 (TACO), section 4. Where a choice is left, ours is told at each number. Loops over tiles are
no loops of a statement: they separate no iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from fractions import Fraction

from scheduler.ir.affine import Affine
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, paths_of, statements_below
from scheduler.matrices.locality import Carried, Locality
from scheduler.moves.trip_counts import OrThousand
from scheduler.polyhedral.farkas import Pairs, RowSpace, convex_parts
from scheduler.replay import Replayer
from scheduler.transform.reschedule import rank

Tree = tuple[TreeNode, ...]
Band = tuple[TreeLoop, ...]


@dataclass(frozen=True, slots=True)
class ScheduleFeatures:
    """`depth`: most nodes (bands, sequences, leaves) above each other, of statements + deepest loops + 1.
    `sequences`: nodes with several children, of statements - 1. `leaves`, of statements: statements side by side that
    need no order inside an iteration make one leaf.
    `sparse_iterators`, `sparse_sizes`: shares of the coefficients of iterators, and of sizes and 1, that are 0.
    `parallelism`: mean over statements of the share of their loops that are left from the outermost parallel one on.
    `locality`: mean over dependences and re-uses, by volume, of how deep the last loop stands that carries some of it.
    `tilability`: mean over statements of the share of their loops in the largest permutable band of two at least.
    `access_pattern`: share of accesses that, in the innermost loop, stay or go forwards in the last subscript alone.
    """

    depth: float
    sequences: float
    leaves: float
    sparse_iterators: float
    sparse_sizes: float
    parallelism: float
    locality: float
    tilability: float
    access_pattern: float

    @property
    def values(self) -> tuple[float, ...]:
        return astuple(self)


@dataclass(frozen=True, slots=True)
class _Shape:
    depth: int
    sequences: int
    leaves: int


class Features:
    """Computes them for trees of one nest; `parameters` are the sizes that volumes are counted for.

    Raises QuotaExceeded.
    """

    def __init__(self, replayer: Replayer, parameters: Mapping[str, int]) -> None:
        self._replayer = replayer
        model = self._model = replayer.model
        known = {p.name: p.value for p in replayer.nest.parameters if p.value is not None}
        sizes = OrThousand({**known, **parameters})
        self._locality = Locality(replayer, {name: sizes[name] for name in model.parameter_names()})
        self._carried = Carried(RowSpace(model))
        self._pairs = tuple(p for p in convex_parts(replayer.dependences) if p.source != p.sink)

    def of(self, tree: Tree) -> ScheduleFeatures:
        """Of a legal tree. Raises QuotaExceeded."""
        iterators = [self._model.iterators(name) for name in self._model.placed]
        count = len(iterators)
        bands: list[Band] = []
        shape = self._body(tree, tree, bands)
        sparse_iterators, sparse_sizes = self._sparsity(bands)
        own = {name: self._own_loops(name, tree) for name in self._model.placed}
        return ScheduleFeatures(
            depth=min(1.0, shape.depth / (count + max(map(len, iterators)) + 1)),
            sequences=shape.sequences / (count - 1) if count > 1 else 0.0,
            leaves=shape.leaves / count,
            sparse_iterators=sparse_iterators,
            sparse_sizes=sparse_sizes,
            parallelism=self._parallelism(tree, own),
            locality=self._locality.of(tree),
            tilability=self._tilability(bands, own),
            access_pattern=self._access_pattern(own),
        )

    # ------------------------------------------------------------------------------------ shape

    def _body(self, nodes: Tree, tree: Tree, bands: list[Band]) -> _Shape:
        """Of siblings: one leaf, a band, or a sequence; `bands` are added to."""
        if all(isinstance(node, Leaf) for node in nodes) and not self._ordered(nodes, tree):
            return _Shape(1, 0, 1)
        shapes = [_Shape(1, 0, 1) if isinstance(node, Leaf) else self._band(node, tree, bands) for node in nodes]
        several = int(len(nodes) > 1)
        return _Shape(
            max(s.depth for s in shapes) + several,
            sum(s.sequences for s in shapes) + several,
            sum(s.leaves for s in shapes),
        )

    def _band(self, outer: TreeLoop, tree: Tree, bands: list[Band]) -> _Shape:
        """A permutable run of loops is one node."""
        band = [outer]
        while len(band[-1].children) == 1 and isinstance(below := band[-1].children[0], TreeLoop):
            within = frozenset(statements_below(below))
            with self._model.quota():
                if not self._replayer.checker.never_decreases(tree, outer.name, below.row, within):
                    break
            band.append(below)
        bands.append(tuple(band))
        shape = self._body(band[-1].children, tree, bands)
        return _Shape(shape.depth + 1, shape.sequences, shape.leaves)

    def _ordered(self, leaves: Tree, tree: Tree) -> bool:
        """Whether any of the statements depends on another one in the same iteration of all loops."""
        names = {name for leaf in leaves for name in statements_below(leaf)}
        paths = paths_of(tree)
        for pairs in self._pairs:
            if pairs.source in names and pairs.sink in names:
                left: tuple[Pairs, ...] = (pairs,)
                for _, node in paths[pairs.source]:
                    if isinstance(node, TreeLoop):
                        left = tuple(one for part in left for one in self._carried.inside(part, node))
                if left:
                    return True
        return False

    # ------------------------------------------------------------------------------------ loops

    def _sparsity(self, bands: list[Band]) -> tuple[float, float]:
        iterators = sizes = zero_iterators = zero_sizes = 0
        parameters = self._model.parameter_names()
        for loop in (loop for band in bands for loop in band if not loop.tile):
            for name, row in loop.rows:
                own = [row.coefficient(i) for i in self._model.iterators(name)]
                others = [*(row.coefficient(p) for p in parameters), row.const]
                iterators, zero_iterators = iterators + len(own), zero_iterators + own.count(0)
                sizes, zero_sizes = sizes + len(others), zero_sizes + others.count(0)
        return (
            zero_iterators / iterators if iterators else 1.0,
            zero_sizes / sizes if sizes else 1.0,
        )

    def _own_loops(self, name: str, tree: Tree) -> list[TreeLoop]:
        """The loops around a statement that separate its iterations."""
        iterators = self._model.iterators(name)
        found: list[TreeLoop] = []
        matrix: list[list[int]] = []
        for _, node in paths_of(tree)[name]:
            if isinstance(node, TreeLoop):
                row = [node.row(name).coefficient(i) for i in iterators]
                if rank([*matrix, row]) > len(matrix):
                    matrix.append(row)
                    found.append(node)
        return found

    def _parallelism(self, tree: Tree, own: Mapping[str, list[TreeLoop]]) -> float:
        with self._model.quota():
            sequential = self._replayer.checker.sequential_loops(tree)
        shares = []
        for loops in own.values():
            first = next((k for k, loop in enumerate(loops) if loop.name not in sequential), len(loops))
            shares.append((len(loops) - first) / len(loops) if loops else 0.0)
        return sum(shares) / len(shares)

    def _tilability(self, bands: list[Band], own: Mapping[str, list[TreeLoop]]) -> float:
        shares = []
        for loops in own.values():
            names = {loop.name for loop in loops}
            sizes = [sum(loop.name in names for loop in band) for band in bands]
            largest = max((size for size in sizes if size > 1), default=0)
            shares.append(largest / len(loops) if loops else 0.0)
        return sum(shares) / len(shares)

    def _access_pattern(self, own: Mapping[str, list[TreeLoop]]) -> float:
        """1 where no array is accessed in loops."""
        good: list[bool] = []
        for name, loops in own.items():
            iterators = self._model.iterators(name)
            if not loops or len(loops) < len(iterators):
                continue
            rows = [[loop.row(name).coefficient(i) for i in iterators] for loop in loops]
            moved = dict(zip(iterators, _innermost_step(rows), strict=True))
            for use in self._model.uses(name):
                if use.access.subscripts:
                    good.append(_forwards(use.access.subscripts, moved))
        return sum(good) / len(good) if good else 1.0


def _forwards(subscripts: tuple[object, ...], moved: Mapping[str, Fraction]) -> bool:
    steps: list[Fraction] = []
    for subscript in subscripts:
        if not isinstance(subscript, Affine) or not subscript.is_linear:
            return False
        steps.append(sum((subscript.coefficient(i) * step for i, step in moved.items()), Fraction(0)))
    return not any(steps[:-1]) and steps[-1] >= 0


def _innermost_step(rows: list[list[int]]) -> list[Fraction]:
    """How iterators move where the last row grows by 1 and the others stay; the rows are a square regular matrix."""
    size = len(rows)
    matrix = [[*map(Fraction, row), Fraction(int(k == size - 1))] for k, row in enumerate(rows)]
    for column in range(size):
        pivot = next(k for k in range(column, size) if matrix[k][column])
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        head = [x / matrix[column][column] for x in matrix[column]]
        matrix = [
            head if k == column else [x - row[column] * y for x, y in zip(row, head, strict=True)]
            for k, row in enumerate(matrix)
        ]
    return [row[size] for row in matrix]
