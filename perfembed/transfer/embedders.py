"""What matching asks of an embedding (a vector for every loop, array and statement), and vectors made by hand.

These are what a loop, an array or a statement visibly is: no model, no training. They serve where there is no trained
model, beside one (`JoinedEmbedder`), and as the baseline it has to beat.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Action, Assign, Binary, Call, Conditional, Expr, If
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, tree_loops
from scheduler.ir.types import known_type
from scheduler.ir.walk import AccessUse, children, loops
from scheduler.moves.trip_counts import trip_counts
from scheduler.normalize.stride import access_stride
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]


Tree = tuple[TreeNode, ...]
Vectors = Mapping[str, "Vector"]


class NodeEmbedder(Protocol):
    """Node embeddings of a nest under a loop tree, for sizes `parameters`; vectors of one kind have one length.

    Distances are taken between nodes of one kind only. Same input, same vectors.
    """

    def loops(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        """By name, for every loop of the tree."""
        ...

    def arrays(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        """By name, for every array of the nest."""
        ...

    def statements(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        """By name, for every statement of the nest."""
        ...


class OnceEmbedder:
    """Embeds each nest as written, once; a loop that a step made has the vector of the loop it came from.

    For embeddings that are too dear to be made again after every step. What a step changes (tile loops, order) then
    shows only in what matching itself looks at: kinds of loops, their order, and which loops were matched before.
    """

    def __init__(self, base: NodeEmbedder) -> None:
        self._base = base
        self._known: dict[tuple[int, tuple[tuple[str, int], ...]], tuple[Replayer, Vectors, Vectors, Vectors]] = {}

    def loops(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        known = self._of(replayer, parameters)[1]
        return {loop.name: known[loop.origin] for loop in tree_loops(tree)}

    def arrays(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return self._of(replayer, parameters)[2]

    def statements(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return self._of(replayer, parameters)[3]

    def _of(self, replayer: Replayer, parameters: Mapping[str, int]) -> tuple[Replayer, Vectors, Vectors, Vectors]:
        key = (id(replayer), tuple(sorted(parameters.items())))
        if key not in self._known:
            given = (replayer, replayer.tree(()), parameters)
            vectors = self._base.loops(*given), self._base.arrays(*given), self._base.statements(*given)
            self._known[key] = (replayer, *vectors)  # the replayer is kept, so that its id stays its own
        return self._known[key]


class JoinedEmbedder:
    """Two embeddings side by side, each scaled to length one: what a model learned, and what is certain."""

    def __init__(self, first: NodeEmbedder, second: NodeEmbedder) -> None:
        self._pair = (first, second)

    def loops(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return _joined(*(e.loops(replayer, tree, parameters) for e in self._pair))

    def arrays(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return _joined(*(e.arrays(replayer, tree, parameters) for e in self._pair))

    def statements(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        return _joined(*(e.statements(replayer, tree, parameters) for e in self._pair))


def _joined(first: Vectors, second: Vectors) -> Vectors:
    import numpy as np

    if not first:
        return {}
    stacked = [np.stack([vectors[name] for name in first]) for vectors in (first, second)]
    units = [rows / (np.linalg.norm(rows, axis=1, keepdims=True) + np.float32(1e-12)) for rows in stacked]
    return dict(zip(first, np.concatenate(units, axis=1), strict=True))


Rows = tuple[tuple[str, Affine], ...]
Strides = tuple[float, float, float, float]
_OPERATORS = ("+", "-", "*", "/", "%", "<", "call", "?")


class HandmadeEmbedder:
    """Levels, extents, strides, dependences; ranks, sizes, roles; operations. Every feature is about 0 to 1."""

    def __init__(self) -> None:
        # Of a nest's arrays and statements a tree changes nothing.
        self._arrays: WeakKeyDictionary[Replayer, dict[tuple[tuple[str, int], ...], Vectors]] = WeakKeyDictionary()
        self._strides: WeakKeyDictionary[Replayer, dict[tuple[Rows, int], Strides]] = WeakKeyDictionary()
        self._statements: WeakKeyDictionary[Replayer, Vectors] = WeakKeyDictionary()

    def loops(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        extents = trip_counts(tuple(loops(replayer.nest)), parameters)
        first = replayer.tree(())  # what a loop carries is asked of the nest as written: cheaper, and most stays so
        sequential = sequential_loops(replayer, first, False)
        reduced = sequential - sequential_loops(replayer, first, True)
        strides = self._strides.setdefault(replayer, {})
        found: dict[str, npt.NDArray[np.float32]] = {}

        def visit(loop: TreeLoop, depth: int) -> int:
            inner = [visit(child, depth + 1) for child in loop.children if isinstance(child, TreeLoop)]
            height = 1 + max(inner, default=0)
            if (loop.rows, loop.tile) not in strides:
                strides[loop.rows, loop.tile] = _strides(replayer, loop)
            kept, contiguous, far, kept_writes = strides[loop.rows, loop.tile]
            found[loop.name] = _vector(
                1.0,
                math.log2(1 + max(extents.get(loop.origin, 16), 0)) / 12,
                depth / 6,
                height / 6,
                loop.origin in sequential,
                loop.origin in reduced,
                kept,
                1.5 * contiguous,
                far,
                1.5 * kept_writes,
                bool(loop.tile),
                math.log2(1 + loop.tile) / 10,
                loop.opaque,
                any(isinstance(child, Leaf) for child in loop.children),
            )
            return height

        for node in tree:
            if isinstance(node, TreeLoop):
                visit(node, 0)
        return found

    def arrays(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        known = self._arrays.setdefault(replayer, {})
        key = tuple(sorted(parameters.items()))
        if key not in known:
            known[key] = _arrays(replayer, parameters)
        return known[key]

    def statements(self, replayer: Replayer, tree: Tree, parameters: Mapping[str, int]) -> Vectors:
        if replayer not in self._statements:
            self._statements[replayer] = _statements(replayer)
        return self._statements[replayer]


_SEQUENTIAL: WeakKeyDictionary[Replayer, dict[tuple[Tree, bool], frozenset[str]]] = WeakKeyDictionary()


def sequential_loops(replayer: Replayer, tree: Tree, reductions: bool) -> frozenset[str]:
    """Loops that carry a dependence (with `reductions`: one that a clause does not cover); all where isl gives up."""
    known = _SEQUENTIAL.setdefault(replayer, {})
    if (tree, reductions) not in known:
        try:
            with replayer.model.quota():
                known[tree, reductions] = replayer.checker.sequential_loops(tree, reductions)
        except QuotaExceeded:
            known[tree, reductions] = frozenset(loop.name for loop in tree_loops(tree))
    return known[tree, reductions]


def _arrays(replayer: Replayer, parameters: Mapping[str, int]) -> Vectors:
    by_array: dict[str, list[AccessUse]] = {}
    for statement in replayer.model.placed:
        for use in replayer.model.uses(statement):
            by_array.setdefault(use.access.array, []).append(use)
    found = {}
    for array in replayer.nest.arrays:
        uses = by_array.get(array.name, [])
        kind = known_type(array.ctype)
        elements = 1
        for extent in array.shape:
            known = extent is not None and extent.names() <= parameters.keys()
            elements *= max(extent.evaluate(parameters), 1) if known and extent is not None else 1000
        found[array.name] = _vector(
            1.0,
            len(array.shape) / 3,
            kind.bits / 64,
            kind.kind == "floating",
            math.log2(elements) / 24,
            1.5 * any(u.is_write for u in uses),
            any(not u.is_write for u in uses),
            len({u.access for u in uses}) / 6,
            all(u.access.is_affine for u in uses),
            array.expanded > 0,
        )
    return found


def _statements(replayer: Replayer) -> Vectors:
    found = {}
    for name, placed in replayer.model.placed.items():
        counts = dict.fromkeys(_OPERATORS, 0)
        for operator in _operations(placed.statement.body):
            counts[operator] = counts.get(operator, 0) + 1
        uses = replayer.model.uses(name)
        reads = [u for u in uses if not u.is_write and u.access.subscripts]
        writes = [u for u in uses if u.is_write]
        iterators = replayer.model.iterators(name)
        summed = any(u.access.subscripts == r.access.subscripts for u in writes for r in uses if not r.is_write)
        used = {n for u in writes for n in _names(u.access)}
        found[name] = _vector(
            1.0,
            *(math.log2(1 + counts[operator]) / 3 for operator in _OPERATORS),
            len(reads) / 8,
            len(writes) / 2,
            summed,
            len(iterators) / 4,
            1.5 * sum(i not in used for i in iterators) / max(len(iterators), 1),
        )
    return found


def _vector(*values: float) -> npt.NDArray[np.float32]:
    import numpy as np

    return np.asarray(values, dtype=np.float32)


def _strides(replayer: Replayer, loop: TreeLoop) -> Strides:
    """Shares of accesses that stay, move by one and jump along a loop, and of the writes that stay."""
    kinds = [0, 0, 0]
    writes = kept = 0
    for statement, row in loop.rows:
        direction = {n: row.coefficient(n) for n in row.names() if row.coefficient(n)}
        if loop.tile or not direction:
            direction = dict.fromkeys(row.names(), 1)
        for use in replayer.model.uses(statement):
            if replayer.nest.array(use.access.array).is_scalar:
                continue
            stride = access_stride(replayer.nest, use, direction)
            kinds[min(stride, 2)] += 1
            if use.is_write:
                writes += 1
                kept += stride == 0
    total = max(sum(kinds), 1)
    return kinds[0] / total, kinds[1] / total, kinds[2] / total, kept / max(writes, 1)


def _names(access: Access) -> frozenset[str]:
    return frozenset(n for s in access.subscripts if isinstance(s, Affine) for n in s.names())


def _operations(actions: tuple[Action, ...]) -> Iterator[str]:
    for action in actions:
        if isinstance(action, Assign):
            if action.op != "=":
                yield action.op[:1]
            yield from _of_expression(action.value)
        elif isinstance(action, If):
            yield "?"
            yield from _of_expression(action.condition)
            yield from _operations(action.then)
            yield from _operations(action.orelse)


def _of_expression(expression: Expr) -> Iterator[str]:
    if isinstance(expression, Binary):
        yield expression.op if expression.op in _OPERATORS else "<"
    elif isinstance(expression, Call):
        yield "call"
    elif isinstance(expression, Conditional):
        yield "?"
    for child in children(expression):
        yield from _of_expression(child)
