"""Contraction: which expanded private arrays a schedule lets us declare inside a loop without the added dimensions.

Theorem. Let x have the added index e, and let P(s) be the rows of the loops down to a loop L around every
access of x. If e determines P (all accesses of x[e, …] lie in one iteration of L) and P determines e (one
iteration of L uses only one e), then a copy of x declared in the body of L holds the same values.
"""

from __future__ import annotations

from fractions import Fraction

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array
from scheduler.ir.tree import TreeLoop, TreeNode, path_to, paths_of
from scheduler.ir.walk import bound_names
from scheduler.polyhedral.model import Model, affine_text


class Contractor:
    """Answers for the trees of one nest; remembers what it has proved."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.arrays = tuple(a for a in model.nest.arrays if a.expanded)
        self._users = {
            a.name: tuple(s for s in model.placed if any(u.access.array == a.name for u in model.uses(s)))
            for a in self.arrays
        }
        self._memo: dict[tuple[object, ...], bool] = {}

    def contracted(self, tree: tuple[TreeNode, ...]) -> tuple[tuple[str, str | None], ...]:
        """(array, loop in whose body it can be declared) for every array that can; None stands for the whole nest."""
        found: list[tuple[str, str | None]] = []
        for array in self.arrays:
            users = self._users[array.name]
            if not users:
                found.append((array.name, None))
                continue
            shared = _shared_loops(tree, users)
            for depth in range(len(shared), 0, -1):
                if self._one_to_one(array, users, shared[:depth]):
                    found.append((array.name, shared[depth - 1].name))
                    break
        return tuple(found)

    def _one_to_one(self, array: Array, users: tuple[str, ...], loops: tuple[TreeLoop, ...]) -> bool:
        key = (array.name, tuple(tuple(loop.row(s) for loop in loops) for s in users))
        if key not in self._memo:
            relation: isl.Map | None = None
            with self.model.quota():
                for statement in users:
                    for use in self.model.uses(statement):
                        if use.access.array == array.name:
                            piece = self._rows_to_index(array, statement, use.access.subscripts, loops)
                            relation = piece if relation is None else relation.union(piece)
                assert relation is not None
                self._memo[key] = relation.is_single_valued() and relation.is_injective()
        return self._memo[key]

    def _rows_to_index(
        self, array: Array, statement: str, subscripts: tuple[object, ...], loops: tuple[TreeLoop, ...]
    ) -> isl.Map:
        model = self.model
        names = frozenset(model.iterators(statement))
        rows = ", ".join(f"__p{k}" for k in range(len(loops)))
        index = ", ".join(f"__e{k}" for k in range(array.expanded))
        conditions = [model.domain_text(statement)]
        conditions += [f"__p{k} = {affine_text(loop.row(statement), '', names)}" for k, loop in enumerate(loops)]
        for k in range(array.expanded):
            subscript = subscripts[k]
            assert isinstance(subscript, Affine)
            conditions.append(f"__e{k} = {affine_text(subscript, '', names)}")
        inner = ", ".join(model.tuple_text(statement)[len(statement) + 1 : -1].split(", "))
        exists = f"exists {inner} : " if inner else ""
        return isl.Map.read_from_str(
            model.context,
            f"{model.parameter_prefix()}{{ [{rows}] -> [{index}] : {exists}{' and '.join(conditions)} }}",
        )


def _shared_loops(tree: tuple[TreeNode, ...], statements: tuple[str, ...]) -> tuple[TreeLoop, ...]:
    """The loops around all the statements, outermost first."""
    every = paths_of(tree)
    paths = [tuple(node for _, node in every[s] if isinstance(node, TreeLoop)) for s in statements]
    shared: list[TreeLoop] = []
    for level in zip(*paths, strict=False):
        if any(node.name != level[0].name for node in level):
            break
        shared.append(level[0])
    return tuple(shared)


def undetermined_bound(model: Model, tree: tuple[TreeNode, ...]) -> str | None:
    """A reason why some data-dependent bound could not be evaluated where its loop stands, or None.

    The bounds of an opaque loop p around statement s use iterators of loops around p; they are known
    at p's place if the linear rows of the loops above it determine them (rank test over the rationals).
    """
    for statement, placed in model.placed.items():
        opaque = [loop for loop in placed.loops if loop.is_opaque]
        if not opaque:
            continue
        path = [node for _, node in path_to(tree, statement) if isinstance(node, TreeLoop)]
        iterators = model.iterators(statement)
        for loop in opaque:
            needed = [i for i in iterators if i in bound_names(loop) and i != loop.name]
            above: list[Affine] = []
            for node in path:
                row = node.row(statement)
                if loop.name in row.names():
                    break
                above.append(row)
            rows = [[Fraction(r.coefficient(i)) for i in iterators] for r in above if r.is_linear]
            for name in needed:
                unit = [Fraction(int(i == name)) for i in iterators]
                if _rank([*rows, unit]) != _rank(rows):
                    return f"the bounds of loop {loop.name} depend on {name}, which is not known where it now stands"
    return None


def _rank(rows: list[list[Fraction]]) -> int:
    matrix = [list(row) for row in rows]
    rank = 0
    for column in range(len(matrix[0]) if matrix else 0):
        pivot = next((r for r in range(rank, len(matrix)) if matrix[r][column]), None)
        if pivot is None:
            continue
        matrix[rank], matrix[pivot] = matrix[pivot], matrix[rank]
        for r in range(rank + 1, len(matrix)):
            factor = matrix[r][column] / matrix[rank][column]
            if factor:
                matrix[r] = [a - factor * b for a, b in zip(matrix[r], matrix[rank], strict=True)]
        rank += 1
    return rank
