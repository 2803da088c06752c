"""Contraction: which expanded private arrays a schedule lets us declare inside a loop without the added dimensions.

Theorem. Let x have the added index e, and let P(s) be the rows of the loops down to a loop L around every
access of x. If e determines P (all accesses of x[e, …] lie in one iteration of L) and P determines e (one
iteration of L uses only one e), then a copy of x declared in the body of L holds the same values.

Where P determines all of e but one index, and that index lies in a block of a tile loop around, the copy has one
element for each index in the block: a window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array
from scheduler.ir.tree import TreeLoop, TreeNode, path_to, paths_of
from scheduler.ir.walk import bound_names
from scheduler.polyhedral.model import Model, affine_text


@dataclass(frozen=True, slots=True)
class Window:
    """A copy of `array` in the body of `loop`, with the added dimension `dimension` (0: the first) as its last one.

    It has `size` elements there, of the values of an iterator from that of the tile loop `tile` on; what an index has
    more than the iterator is `offset`.
    """

    array: str
    loop: str
    tile: str
    dimension: int
    size: int
    offset: Affine


class Contractor:
    """Answers for the trees of one nest; remembers what it has proved."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.arrays = tuple(a for a in model.nest.arrays if a.expanded)
        self._users = {
            a.name: tuple(s for s in model.placed if any(u.access.array == a.name for u in model.uses(s)))
            for a in self.arrays
        }
        # Of arrays that are accessed alike the first stands for all.
        first: dict[tuple[object, ...], Array] = {}
        self._alike = {a.name: first.setdefault(self._accesses(a), a) for a in self.arrays}
        self._memo: dict[tuple[object, ...], bool] = {}
        self._windows: dict[tuple[object, ...], tuple[int, int] | None] = {}

    def contracted(self, tree: tuple[TreeNode, ...]) -> tuple[tuple[str, str | None], ...]:
        """(array, loop in whose body it can be declared) for every array that can; None stands for the whole nest."""
        places = {array.name: self._place(array, tree) for array in {a.name: a for a in self._alike.values()}.values()}
        of = ((array.name, places[self._alike[array.name].name]) for array in self.arrays)
        return tuple((name, place[0]) for name, place in of if place)

    def _place(self, array: Array, tree: tuple[TreeNode, ...]) -> tuple[str | None, ...]:
        """The loop in whose body it can be declared; none where it cannot."""
        users = self._users[array.name]
        if not users:
            return (None,)
        shared = _shared_loops(tree, users)
        depths = range(len(shared), 0, -1)
        return next(((shared[d - 1].name,) for d in depths if self._one_to_one(array, users, shared[:d])), ())

    def _accesses(self, array: Array) -> tuple[object, ...]:
        """In which statements, and which elements of the added dimensions."""
        every = ((s, use) for s in self._users[array.name] for use in self.model.uses(s))
        mine = {
            (s, use.access.subscripts[: array.expanded]): None for s, use in every if use.access.array == array.name
        }
        return array.expanded, tuple(mine)

    def windows(self, tree: tuple[TreeNode, ...], contracted: frozenset[str]) -> tuple[Window, ...]:
        """Of arrays that are not `contracted`, those of which a block of elements is enough."""
        return tuple(
            window
            for array in self.arrays
            if array.name not in contracted
            and (window := self._window(array, _shared_loops(tree, self._users[array.name])))
        )

    def _window(self, array: Array, shared: Sequence[TreeLoop]) -> Window | None:
        if not any(loop.tile for loop in shared):
            return None
        users = self._users[array.name]
        if not all(isinstance(s, Affine) for found in self._subscripts(array, users) for s in found):
            return None  # code is made of places in a block only where these are affine
        for depth in range(len(shared), 0, -1):
            loops = shared[:depth]
            key = (array.name, tuple(tuple((loop.row(s), loop.tile) for loop in loops) for s in users))
            if key not in self._windows:
                with self.model.quota():
                    self._windows[key] = self._block(array, users, loops)
            block = self._windows[key]
            if block is not None:
                position, dimension = block
                offset, size = self._offset(array, users, dimension), loops[position].tile
                assert offset is not None
                return Window(array.name, loops[-1].name, loops[position].name, dimension, size, offset)
        return None

    def _block(self, array: Array, users: tuple[str, ...], loops: Sequence[TreeLoop]) -> tuple[int, int] | None:
        """(position of the tile loop, dimension) of a window in the last of the loops."""
        relation = self._relation(array, users, loops)
        if not relation.is_injective():
            return None
        open_ = []
        for k in range(array.expanded):
            one = relation.project_out(isl.dim_type.out, k + 1, array.expanded - k - 1)
            if not one.project_out(isl.dim_type.out, 0, k).is_single_valued():
                open_.append(k)
        offset = self._offset(array, users, open_[0]) if len(open_) == 1 else None
        if offset is None:
            return None
        index = f"__e{open_[0]} + {affine_text(-offset)}"
        for position in reversed(range(len(loops))):
            size = loops[position].tile
            if not size:
                continue
            inside = isl.Map.read_from_str(
                self.model.context,
                f"{self.model.parameter_prefix()}{{ [{_listed('p', len(loops))}] -> [{_listed('e', array.expanded)}] : "
                f"__p{position} <= {index} < __p{position} + {size} }}",
            )
            if relation.is_subset(inside):
                return position, open_[0]
        return None

    def _offset(self, array: Array, users: tuple[str, ...], dimension: int) -> Affine | None:
        """What an index has more than the iterator it is made of; None where that is not one, or differs."""
        found: set[Affine] = set()
        parameters = frozenset(self.model.parameter_names())
        for subscripts in self._subscripts(array, users):
            subscript = subscripts[dimension]
            assert isinstance(subscript, Affine)
            iterators = subscript.names() - parameters
            if len(iterators) != 1:
                return None
            found.add(subscript - Affine.of(next(iter(iterators))))
        return found.pop() if len(found) == 1 else None

    def _subscripts(self, array: Array, users: tuple[str, ...]) -> Iterator[tuple[object, ...]]:
        for statement in users:
            for use in self.model.uses(statement):
                if use.access.array == array.name:
                    yield use.access.subscripts

    def _relation(self, array: Array, users: tuple[str, ...], loops: Sequence[TreeLoop]) -> isl.Map:
        """Times of the loops -> added index, of all accesses."""
        relation: isl.Map | None = None
        for statement in users:
            for use in self.model.uses(statement):
                if use.access.array == array.name:
                    piece = self._rows_to_index(array, statement, use.access.subscripts, loops)
                    relation = piece if relation is None else relation.union(piece)
        assert relation is not None
        return relation

    def _one_to_one(self, array: Array, users: tuple[str, ...], loops: tuple[TreeLoop, ...]) -> bool:
        key = (array.name, tuple(tuple(loop.row(s) for loop in loops) for s in users))
        if key not in self._memo:
            with self.model.quota():
                relation = self._relation(array, users, loops)
                self._memo[key] = relation.is_single_valued() and relation.is_injective()
        return self._memo[key]

    def _rows_to_index(
        self, array: Array, statement: str, subscripts: tuple[object, ...], loops: Sequence[TreeLoop]
    ) -> isl.Map:
        model = self.model
        names = frozenset(model.iterators(statement))
        rows, index = _listed("p", len(loops)), _listed("e", array.expanded)
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


def _listed(letter: str, count: int) -> str:
    return ", ".join(f"__{letter}{k}" for k in range(count))


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
