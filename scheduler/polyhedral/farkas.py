"""The rows a schedule may have: which affine time expressions keep, or carry, given dependences.

A row gives each statement S the expression a_S · iterators + p_S · sizes + c_S. It keeps a dependence s -> t where
row(t) - row(s) >= 0 on all its pairs, and carries it where that is >= 1. By the affine form of Farkas' lemma an
expression is nowhere negative on a polyhedron if and only if it is a sum of the polyhedron's constraints with
multipliers that are not negative; isl projects the multipliers out (`coefficients`). What is left are linear
constraints on the coefficients of the row.

Source: Feautrier 1992, "Some efficient solutions to the affine scheduling problem", part I; Pouchet et al. 2008 (PLDI).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Literal as OneOf

import islpy as isl

from scheduler.ir.affine import Affine
from scheduler.polyhedral.dependences import Dependence
from scheduler.polyhedral.generators import Constraint, Generators, Vector, generators, reduced_lines
from scheduler.polyhedral.model import Model, affine_text

How = OneOf["kept", "carried", "equal"]


@dataclass(frozen=True, slots=True)
class Row:
    """One dimension of time: an expression for each statement."""

    of: tuple[tuple[str, Affine], ...]

    def __getitem__(self, statement: str) -> Affine:
        return next(row for name, row in self.of if name == statement)

    def __str__(self) -> str:
        return ", ".join(f"{name}: {row}" for name, row in self.of)


@dataclass(frozen=True, slots=True)
class Pairs:
    """A convex part of dependences: instances of `source` that must stay before instances of `sink`.

    `text` is what it is known by.
    """

    source: str
    sink: str
    relation: isl.BasicMap
    text: str

    @staticmethod
    def of(source: str, sink: str, relation: isl.BasicMap) -> Pairs:
        return Pairs(source, sink, relation, str(relation))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def convex_parts(dependences: Iterable[Dependence]) -> tuple[Pairs, ...]:
    """Every convex part of the dependences once."""
    found = (Pairs.of(d.source, d.sink, part) for d in dependences for part in d.relation.get_basic_maps())
    return tuple(dict.fromkeys(found))


class RowSpace:
    """The coefficients of all statements' expressions as one vector: iterators, sizes and 1, statement by statement."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.parameters = model.parameter_names()
        self.iterators = {statement: model.iterators(statement) for statement in model.placed}
        self._start: dict[str, int] = {}
        self.dimensions = 0
        for statement, names in self.iterators.items():
            self._start[statement] = self.dimensions
            self.dimensions += len(names) + len(self.parameters) + 1
        self._dual: dict[str, tuple[tuple[Vector, bool], ...]] = {}

    def columns(self, statement: str) -> range:
        """Where the coefficients of a statement's iterators stand."""
        return range(self._start[statement], self._start[statement] + len(self.iterators[statement]))

    def _block(self, statement: str) -> range:
        start = self._start[statement]
        return range(start, start + len(self.iterators[statement]) + len(self.parameters) + 1)

    def row(self, vector: Sequence[int]) -> Row:
        found: list[tuple[str, Affine]] = []
        for statement, names in self.iterators.items():
            start = self._start[statement]
            every = (*names, *self.parameters)
            terms = zip(every, vector[start : start + len(every)], strict=True)
            found.append((statement, Affine.build(terms, vector[start + len(every)])))
        return Row(tuple(found))

    def constraints(self, pairs: Pairs, how: How) -> tuple[Constraint, ...]:
        """What a row's coefficients must meet to keep or carry the pairs, or to have no distance between them.

        Raises QuotaExceeded.
        """
        source, sink = self._start[pairs.source], self._start[pairs.sink]
        sources, sinks = len(self.iterators[pairs.source]), len(self.iterators[pairs.sink])
        sizes = len(self.parameters)
        found: list[Constraint] = []
        for factors, equality in self._multiplied_out(pairs):
            vector = [0] * self.dimensions
            for k in range(sizes + 1):  # 1, then the sizes: row(t) - row(s)
                place = sizes if k == 0 else k - 1
                vector[sink + sinks + place] += factors[k]
                vector[source + sources + place] -= factors[k]
            for k in range(sources):
                vector[source + k] -= factors[1 + sizes + k]
            for k in range(sinks):
                vector[sink + k] += factors[1 + sizes + sources + k]
            constant = -factors[0] if how == "carried" else 0
            if any(vector) or constant:
                found.append(Constraint(tuple(vector), constant, equality or how == "equal"))
        return tuple(found)

    def generators(self, statements: Iterable[str], constraints: Iterable[Constraint]) -> Generators:
        """The generators of the rows of these statements (all other coefficients are 0), with sparse lines.

        Raises TooManyGenerators.
        """
        columns = [k for name in self.iterators if name in statements for k in self._block(name)]
        first = {k for name in self.iterators for k in self.columns(name)}
        columns.sort(key=lambda k: (k not in first, k))
        projected = (Constraint(tuple(c.coefficients[k] for k in columns), c.constant, c.equality) for c in constraints)
        found = reduced_lines(generators(projected, len(columns)))

        def placed(vector: Vector) -> Vector:
            every = [0] * self.dimensions
            for k, value in zip(columns, vector, strict=True):
                every[k] = value
            return tuple(every)

        return Generators(
            tuple((placed(vector), denominator) for vector, denominator in found.vertices),
            tuple(map(placed, found.rays)),
            tuple(map(placed, found.lines)),
        )

    def left(self, pairs: Pairs, row: Row) -> tuple[Pairs, ...]:
        """The pairs that a row which keeps them runs at the same time; raises QuotaExceeded."""
        with self.model.quota():
            kept = pairs.relation.to_map().intersect(self._compared(pairs, row, "="))
            parts = [part for part in kept.get_basic_maps() if not part.is_empty()]
        return tuple(Pairs.of(pairs.source, pairs.sink, part) for part in parts)

    def carriable(self, pairs: Pairs, inner: Vector) -> bool:
        """Whether some multiple of a row carries the pairs, a row that keeps them."""
        return all(
            c.constant >= 0 or (not c.equality and sum(map(mul, c.coefficients, inner)) > 0)
            for c in self.constraints(pairs, "carried")
        )

    def keeps(self, pairs: Pairs, row: Row) -> bool:
        """Whether a row is nowhere less at a sink than at its source; raises QuotaExceeded."""
        with self.model.quota():
            return pairs.relation.to_map().intersect(self._compared(pairs, row, "<")).is_empty()

    def _compared(self, pairs: Pairs, row: Row, operator: str) -> isl.Map:
        """{source -> sink : row(sink) operator row(source)}"""
        model = self.model
        source = affine_text(row[pairs.source], "", frozenset(self.iterators[pairs.source]))
        sink = affine_text(row[pairs.sink], "_t", frozenset(self.iterators[pairs.sink]))
        return isl.Map.read_from_str(
            model.context,
            f"{model.parameter_prefix()}{{ {model.tuple_text(pairs.source)} -> {model.tuple_text(pairs.sink, '_t')} : "
            f"{sink} {operator} {source} }}",
        )

    def _multiplied_out(self, pairs: Pairs) -> tuple[tuple[Vector, bool], ...]:
        """Constraints on (1, sizes, source, sink) coefficients of what is nowhere negative on the pairs."""
        known = self._dual.get(pairs.text)
        if known is None:
            found: list[tuple[Vector, bool]] = []
            with self.model.quota():
                dual = pairs.relation.remove_divs().wrap().coefficients()
                count = dual.dim(isl.dim_type.set)
                for one in dual.get_constraints():
                    vector = tuple(one.get_coefficient_val(isl.dim_type.set, k).to_python() for k in range(count))
                    found.append((vector, one.is_equality()))
            known = self._dual[pairs.text] = tuple(found)
        return known
