"""A schedule matrix as a schedule tree, simplified so that equivalent matrices give equal trees.

Row by row, for the statements that all rows so far leave together:

- Where no instances of some statements run later than any of others, they stand in a sequence.
- A row that is the same for all instances that the rows before run together makes a loop of one iteration: it goes.
- Rows outside the permutable band that a row belongs to are subtracted until its first iterators are gone; so is the
  shift of the first statement, which all share. This changes no order, and no distance that matters.
- Coefficients are divided by what divides them all. Where statements then are shifted against each other by less than
  the stride (2*i and 2*i + 1), they run one after the other inside the loop over i.

Source: Ganser et al. 2018 (TACO), section 3. Subtracting rows of outer bands is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.matrices.linked import ordered
from scheduler.polyhedral.farkas import Pairs, Row, RowSpace
from scheduler.polyhedral.model import Model, affine_text
from scheduler.transform.reschedule import Reschedule, TimeMap, rank

_MEMO_ENTRIES = 20_000

_Expressions = Mapping[str, Affine]  # of the statements at hand


@dataclass(frozen=True, slots=True)
class _Loop:
    row: _Expressions
    body: tuple[_Node, ...]


_Node = _Loop | str  # a statement


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a place in the tree.

    `rows` are those of the loops; the band at hand begins at loop `band`, and `left` is what the loops before it do not
    carry.
    """

    rows: tuple[_Expressions, ...]
    band: int
    left: tuple[Pairs, ...]


class Simplifier:
    """Makes trees of matrices of one nest; `pairs` are its dependences, which the matrices keep."""

    def __init__(self, model: Model, pairs: Sequence[Pairs], space: RowSpace | None = None) -> None:
        self.model = model
        self.space = space or RowSpace(model)
        self.pairs = tuple(pairs)
        self._together: dict[tuple[str, str, tuple[Affine, ...]], isl.Map] = {}
        self._orders: dict[tuple[str, str, tuple[Affine, ...]], frozenset[str]] = {}
        self._remaining: dict[tuple[Pairs, Affine, Affine], tuple[Pairs, ...]] = {}
        self._kept: dict[tuple[Pairs, Affine, Affine], bool] = {}

    def tree(self, matrix: Sequence[Row]) -> Reschedule:
        """The step that makes the tree; instances that the matrix runs at one time run as in the source.

        Raises QuotaExceeded.
        """
        if len(self._orders) > _MEMO_ENTRIES:
            for memo in (self._together, self._orders, self._remaining, self._kept):
                memo.clear()
        rows = [dict(row.of) for row in matrix]
        around = _Around((), 0, self.pairs)
        nodes = self._arranged(self._nodes(tuple(self.model.placed), rows, around), around)
        maps: dict[str, TimeMap] = {}

        def visit(nodes: Sequence[_Node], positions: tuple[int, ...], rows: tuple[_Expressions, ...]) -> None:
            for position, node in enumerate(nodes):
                here = (*positions, position)
                if isinstance(node, str):
                    maps[node] = TimeMap(node, here, tuple(row[node] for row in rows))
                else:
                    visit(node.body, here, (*rows, node.row))

        visit(nodes, (), ())
        return Reschedule(tuple(maps[name] for name in self.model.placed))

    def _nodes(self, names: tuple[str, ...], rows: Sequence[_Expressions], around: _Around) -> tuple[_Node, ...]:
        """The statements in the order that `rows` give them inside the loops around."""
        if not rows:
            return tuple(node for name in names for node in self._leaf(name, around))
        row, rest = rows[0], rows[1:]
        groups = self._sequence(names, row, around)
        if len(groups) > 1:
            return tuple(node for group in groups for node in self._nodes(group, rows, self._within(group, around)))
        if not any({"<", ">"} & self._order(a, b, row, around) for a in names for b in names):
            return self._nodes(names, rest, around)
        return self._loop(names, row, rest, around)

    def _loop(
        self, names: tuple[str, ...], row: _Expressions, rest: Sequence[_Expressions], around: _Around
    ) -> tuple[_Node, ...]:
        if not all(self._keeps(pairs, row) for pairs in around.left):
            left = around.left
            for outer in around.rows[around.band :]:
                left = tuple(dict.fromkeys(one for pairs in left for one in self._left(pairs, outer)))
            around = _Around(around.rows, len(around.rows), left)
        reduced = self._reduced(names, row, around.rows[: around.band])
        divisor = gcd(*(c for name in names for _, c in reduced[name].terms))
        if divisor > 1:
            residues = {name: reduced[name].const % divisor for name in names}
            reduced = {
                name: Affine(tuple((a, c // divisor) for a, c in old.terms), old.const // divisor)
                for name, old in reduced.items()
            }
            rest = ({name: Affine.constant(residues[name]) for name in names}, *rest)
        inside = _Around((*around.rows, reduced), around.band, around.left)
        return (_Loop(reduced, self._arranged(self._nodes(names, rest, inside), inside)),)

    def _arranged(self, nodes: tuple[_Node, ...], around: _Around) -> tuple[_Node, ...]:
        """A sequence whose members that never run in the same iterations of the loops around stand as in the source."""
        members = {_statements(node)[0]: node for node in nodes}
        before: dict[str, set[str]] = {}
        for name, node in members.items():
            before[name] = {first for first in before if self._meet(members[first], node, around)}
        names = [name for name in self.model.placed if name in members]
        return tuple(members[name] for (name,) in ordered(names, before))

    def _meet(self, first: _Node, second: _Node, around: _Around) -> bool:
        """Whether any instances of both run in the same iterations of the loops around."""
        with self.model.quota():
            return any(
                not self._same_time(a, b, tuple(r[name] for r in around.rows for name in (a, b))).is_empty()
                for a in _statements(first)
                for b in _statements(second)
            )

    def _leaf(self, name: str, around: _Around) -> tuple[_Node, ...]:
        """A statement, in loops over the iterators that no row separates since they have one value."""
        iterators = self.space.iterators[name]
        matrix = [[row[name].coefficient(i) for i in iterators] for row in around.rows]
        missing: list[str] = []
        for place, iterator in enumerate(iterators):
            unit = [int(k == place) for k in range(len(iterators))]
            if rank([*matrix, unit]) > rank(matrix):
                matrix.append(unit)
                missing.append(iterator)
        node: _Node = name
        for iterator in reversed(missing):
            node = _Loop({name: Affine.of(iterator)}, (node,))
        return (node,)

    @staticmethod
    def _within(names: tuple[str, ...], around: _Around) -> _Around:
        left = tuple(p for p in around.left if p.source in names and p.sink in names)
        return _Around(around.rows, around.band, left)

    # --------------------------------------------------------------------------------- sequence

    def _sequence(self, names: tuple[str, ...], row: _Expressions, around: _Around) -> list[tuple[str, ...]]:
        """The statements in sets of which each runs before the next, as fine as can be."""
        before: dict[str, set[str]] = {name: set() for name in names}
        for place, first in enumerate(names):
            for second in names[place + 1 :]:
                order = self._order(first, second, row, around)
                if order - {"<"}:
                    before[first].add(second)
                if order - {">"}:
                    before[second].add(first)
        return ordered(names, before)

    def _order(self, first: str, second: str, row: _Expressions, around: _Around) -> frozenset[str]:
        """How row(first) may compare with row(second) in instances that the loops around run together."""
        rows = tuple(r[name] for r in around.rows for name in (first, second))
        key = (first, second, (*rows, row[first], row[second]))
        if key not in self._orders:
            with self.model.quota():
                together = self._same_time(first, second, rows)
                self._orders[key] = frozenset(
                    op
                    for op in "<=>"
                    if not together.intersect(self._compared(first, second, row[first], row[second], op)).is_empty()
                )
        return self._orders[key]

    def _same_time(self, first: str, second: str, rows: tuple[Affine, ...]) -> isl.Map:
        key = (first, second, rows)
        if key not in self._together:
            if rows:
                outer = self._same_time(first, second, rows[:-2])
                found = outer.intersect(self._compared(first, second, rows[-2], rows[-1], "="))
            else:
                model = self.model
                conditions = f"{model.domain_text(first)} and {model.domain_text(second, '_t')}"
                found = isl.Map.read_from_str(
                    model.context,
                    f"{model.parameter_prefix()}{{ {model.tuple_text(first)} -> {model.tuple_text(second, '_t')} : "
                    f"{conditions} }}",
                )
            self._together[key] = found
        return self._together[key]

    def _compared(self, first: str, second: str, a: Affine, b: Affine, operator: str) -> isl.Map:
        model = self.model
        one = affine_text(a, "", frozenset(self.space.iterators[first]))
        other = affine_text(b, "_t", frozenset(self.space.iterators[second]))
        return isl.Map.read_from_str(
            model.context,
            f"{model.parameter_prefix()}{{ {model.tuple_text(first)} -> {model.tuple_text(second, '_t')} : "
            f"{one} {operator} {other} }}",
        )

    # ------------------------------------------------------------------------------------- rows

    def _reduced(self, names: tuple[str, ...], row: _Expressions, outer: Sequence[_Expressions]) -> _Expressions:
        """The row without what rows around determine, and without the shift of the first statement."""
        first = self._vector(names, row)
        pivots: list[tuple[int, list[int]]] = []
        for expressions in outer:
            vector = _cleared(self._vector(names, expressions), pivots)
            pivot = self._pivot(names, vector)
            if pivot is not None:
                pivots = [(p, _cleared(v, [(pivot, vector)])) for p, v in pivots]
                pivots.append((pivot, vector))
        first = _cleared(first, pivots)
        divisor = gcd(*first)
        first = [x // divisor for x in first] if divisor > 1 else first
        found = self._expressions(names, first)
        parameters = frozenset(self.space.parameters)
        shift = found[names[0]]
        shift = Affine(tuple(term for term in shift.terms if term[0] in parameters), shift.const)
        return {name: value - shift for name, value in found.items()}

    def _vector(self, names: tuple[str, ...], row: _Expressions) -> list[int]:
        found: list[int] = []
        for name in names:
            found += [row[name].coefficient(x) for x in (*self.space.iterators[name], *self.space.parameters)]
            found.append(row[name].const)
        return found

    def _expressions(self, names: tuple[str, ...], vector: Sequence[int]) -> dict[str, Affine]:
        found: dict[str, Affine] = {}
        start = 0
        for name in names:
            every = (*self.space.iterators[name], *self.space.parameters)
            end = start + len(every)
            found[name] = Affine.build(zip(every, vector[start:end], strict=True), vector[end])
            start = end + 1
        return found

    def _pivot(self, names: tuple[str, ...], vector: Sequence[int]) -> int | None:
        """Where the first coefficient of an iterator stands."""
        start = 0
        for name in names:
            count = len(self.space.iterators[name])
            for place in range(start, start + count):
                if vector[place]:
                    return place
            start += count + len(self.space.parameters) + 1
        return None

    def _keeps(self, pairs: Pairs, row: _Expressions) -> bool:
        key = (pairs, row[pairs.source], row[pairs.sink])
        if key not in self._kept:
            self._kept[key] = self.space.keeps(pairs, Row(tuple(row.items())))
        return self._kept[key]

    def _left(self, pairs: Pairs, row: _Expressions) -> tuple[Pairs, ...]:
        key = (pairs, row[pairs.source], row[pairs.sink])
        if key not in self._remaining:
            self._remaining[key] = self.space.left(pairs, Row(tuple(row.items())))
        return self._remaining[key]


def _statements(node: _Node) -> tuple[str, ...]:
    return (node,) if isinstance(node, str) else tuple(node.row)


def _cleared(vector: Sequence[int], pivots: Sequence[tuple[int, Sequence[int]]]) -> list[int]:
    """A positive multiple of the vector, less multiples of the others, that is 0 at their pivots."""
    found = list(vector)
    for pivot, other in pivots:
        if found[pivot]:
            divisor = gcd(found[pivot], other[pivot])
            scale, factor = other[pivot] // divisor, found[pivot] // divisor
            if scale < 0:
                scale, factor = -scale, -factor
            found = [scale * x - factor * y for x, y in zip(found, other, strict=True)]
    return found
