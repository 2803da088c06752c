"""A nest as the recursive LSTM sees it: matrices, operations and loops, without names and without limits of size.

After LOOPer (Merouani et al. 2024, section 4.3): every statement has an iteration-domain matrix, one access matrix
for each access with the identity of its buffer, and the sequence of its operations. Its vectors of fixed length and
padded matrices are sequences here: a matrix is a sequence of columns (its loops, outermost first, then the constant),
a column a sequence of entries (rows). Parameters count with their values: they are part of the constants. An *axis*
is a loop around a statement; what all its matrices say about that loop meets in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import cos, sin

import numpy as np

from scheduler.cost.expressions import statement_operations
from scheduler.cost.ranges import Interval, lg, linear_part, loop_range, parameter_values
from scheduler.cost.schedule_arrays import Floats, LoopNode, NestArrays, target_features
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array, Expr, Guard, Loop, LoopNest, Node, Predicate, Statement, Storage
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import AccessUse, Placed, bound_names, loops, placed_statements, uses
from scheduler.machine.target import Target
from scheduler.moves.trip_counts import trip_counts

FEATURE_VERSION = 1  # raise it with every change of what a feature means: weights go with one version

ENTRY, MATRIX, AXIS, LOOP, STATEMENT, TARGET = 10, 18, 8, 8, 6, 5  # numbers of features


_CODE = 8  # numbers that identify a buffer


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a matrix: coefficients by loop, the constant at the parameters' values."""

    coefficients: Mapping[str, float]
    constant: float
    stride: float = 0.0  # bytes between neighbours in this dimension of an array
    guard: bool = False
    opaque: bool = False


def represent_nest(nest: LoopNest, parameters: Mapping[str, int], target: Target, *, boxes: bool = False) -> NestArrays:
    """`boxes`: domains become the boxes around them (the representation of Tiramisu's 2021 model), for ablation."""
    return _Builder(nest, parameters, target, boxes).build()


class _Builder:
    def __init__(self, nest: LoopNest, parameters: Mapping[str, int], target: Target, boxes: bool) -> None:
        self.nest = nest
        self.target = target
        self.boxes = boxes
        self.values = parameter_values(nest, parameters)
        self.ranges: dict[str, Interval] = {name: (value, value) for name, value in self.values.items()}
        self.loops = {loop.name: loop for loop in loops(nest)}
        for loop in self.loops.values():  # outer before inner
            self.ranges[loop.name] = loop_range(loop, self.ranges)
        self.extents = trip_counts(tuple(self.loops.values()), self.values)
        if boxes:
            self.extents = {name: self.ranges[name][1] - self.ranges[name][0] + 1 for name in self.loops}
        self.placed = tuple(placed_statements(nest))
        self.uses = {p.statement.name: uses(p) for p in self.placed}
        self.buffers: dict[str, int] = {}
        for found in self.uses.values():
            for use in found:
                self.buffers.setdefault(use.access.array, len(self.buffers))
        self.bytes = {name: self._bytes(nest.array(name)) for name in self.buffers}

    def build(self) -> NestArrays:
        operations: list[tuple[int, int]] = []
        entries: list[tuple[float, ...]] = []
        matrix_features: list[list[float]] = []
        axis_features: list[tuple[float, ...]] = []
        statement_features: list[tuple[float, ...]] = []
        counts: dict[str, list[int]] = {"operation": [], "entry": [], "column": [], "matrix": []}
        axis_columns, column_axes, column_matrices, axis_statements = (list[int]() for _ in range(4))
        axes: dict[tuple[str, str], int] = {}
        for number, placed in enumerate(self.placed):
            statement, around = placed.statement, tuple(loop.name for loop in placed.loops)
            first = len(axes)
            for position, name in enumerate(around):
                axes[statement.name, name] = first + position
                axis_features.append(self._axis(placed, position))
                axis_statements.append(number)
            conditions: list[Expr] = [a.condition for a in placed.ancestors if isinstance(a, Predicate)]
            tokens = statement_operations(self.nest, conditions, statement.body)
            operations.extend(tokens)
            counts["operation"].append(len(tokens))
            found = self.uses[statement.name]
            matrices = [(self._domain(placed), None), *((self._access(use), use) for use in found)]
            for rows, use in matrices:
                for position, column in enumerate((*around, None)):
                    if column is not None:
                        axis_columns.append(len(counts["entry"]))
                        column_axes.append(first + position)
                        column_matrices.append(len(counts["column"]))
                    entries.extend(self._entry(row, k, len(rows), column) for k, row in enumerate(rows))
                    counts["entry"].append(len(rows))
                counts["column"].append(len(around) + 1)
                matrix_features.append(self._matrix(placed, use, len(rows)))
            counts["matrix"].append(len(matrices))
            statement_features.append(self._statement(placed, len(tokens)))
        return NestArrays(
            roots=tuple(_tree(self.nest.body)),
            statements={p.statement.name: number for number, p in enumerate(self.placed)},
            loops={name: number for number, name in enumerate(self.loops)},
            axes=axes,
            extents=self.extents,
            buffers=self.bytes,
            operations=np.array(operations, np.int64).reshape(-1, 2),
            operation_counts=np.array(counts["operation"], np.int64),
            entries=_floats(entries, ENTRY),
            entry_counts=np.array(counts["entry"], np.int64),
            column_counts=np.array(counts["column"], np.int64),
            axis_columns=np.array(axis_columns, np.int64),
            column_axes=np.array(column_axes, np.int64),
            column_matrices=np.array(column_matrices, np.int64),
            matrix_features=_floats(matrix_features, MATRIX),
            matrix_counts=np.array(counts["matrix"], np.int64),
            axis_features=_floats(axis_features, AXIS),
            axis_statements=np.array(axis_statements, np.int64),
            loop_features=_floats([self._loop(loop) for loop in self.loops.values()], LOOP),
            statement_features=_floats(statement_features, STATEMENT),
            target_features=target_features(self.target),
        )

    # --------------------------------------------------------------------------------- matrices

    def _row(self, expr: Affine, stride: float = 0.0, guard: bool = False) -> _Row:
        parts = linear_part(expr)
        constant = expr.evaluate({**dict.fromkeys(self.loops, 0), **self.values})
        return _Row({n: c for n, c in parts.items() if n in self.loops}, constant, stride, guard)

    def _domain(self, placed: Placed) -> list[_Row]:
        """Rows that are at least 0 in the domain; those of guards are marked, alternatives follow one another."""
        rows: list[_Row] = []
        for ancestor in placed.ancestors:
            if isinstance(ancestor, Loop):
                rows.extend(self._bounds(ancestor))
            elif isinstance(ancestor, Guard) and not self.boxes:
                rows.extend(self._row(c.affine, guard=True) for part in ancestor.condition for c in part)
        return rows

    def _bounds(self, loop: Loop) -> Iterator[_Row]:
        iterator = Affine.of(loop.name)
        if self.boxes:
            low, high = self.ranges[loop.name]
            yield self._row(iterator - low)
            yield self._row(-iterator + high)
        elif isinstance(loop.start, tuple) and isinstance(loop.stop, tuple):
            sign = 1 if loop.step > 0 else -1
            yield from (self._row((iterator - part) * sign) for part in loop.start)
            yield from (self._row((part - iterator) * sign - 1) for part in loop.stop)
        else:
            yield _Row({loop.name: 1.0}, 0.0, opaque=True)

    def _access(self, use: AccessUse) -> list[_Row]:
        array = self.nest.array(use.access.array)
        strides = self._strides(array, len(use.access.subscripts))
        return [
            self._row(subscript, stride) if isinstance(subscript, Affine) else _Row({}, 0.0, stride, opaque=True)
            for subscript, stride in zip(use.access.subscripts, strides, strict=True)
        ]

    def _entry(self, row: _Row, number: int, rows: int, column: str | None) -> tuple[float, ...]:
        value = row.constant if column is None else row.coefficients.get(column, 0.0)
        return (
            lg(value),
            float(value != 0),
            float(value == 1),
            float(value == -1),
            lg(value * row.stride),
            1 / (rows - number),  # 1 for the last, which is the contiguous dimension of an array
            0.0 if column is None else lg(self.extents[column]),
            float(column is None),
            float(row.opaque),
            float(row.guard),
        )

    def _matrix(self, placed: Placed, use: AccessUse | None, rows: int) -> list[float]:
        if use is None:
            return [1.0, *(0.0,) * 5, rows / 8, *(0.0,) * (MATRIX - 7)]
        array = self.nest.array(use.access.array)
        written = {u.access.array for u in self.uses[placed.statement.name] if u.is_write}
        scalar = scalar_type(array.ctype)
        number = self.buffers[array.name]
        code = [f(number / 4.0**k) for k in range(_CODE // 2) for f in (sin, cos)]
        return [
            0.0,
            float(use.is_write),
            float(use.must),
            float(array.name in written),
            float(not use.access.is_affine),
            float(array.storage is Storage.PRIVATE),
            rows / 8,
            lg(self.bytes[array.name]),
            (scalar.bits if scalar else 64) / 64,
            float(scalar is not None and scalar.kind == "floating"),
            *code,
        ]

    # -------------------------------------------------------------------- loops, statements, arrays

    def _axis(self, placed: Placed, position: int) -> tuple[float, ...]:
        loop = placed.loops[position]
        found = self.uses[placed.statement.name]
        touching = [u.is_write for u in found for s in u.access.subscripts if _mentions(s, loop.name)]
        return (
            lg(self.extents[loop.name]),
            position / 8,
            (len(placed.loops) - 1 - position) / 8,
            float(loop.is_opaque),
            self._dependent(loop),
            float(any(touching)),  # 0: the loop of a reduction
            len(touching) / max(len(found), 1),
            lg(loop.step),
        )

    def _loop(self, loop: Loop) -> tuple[float, ...]:
        below = [p for p in self.placed if any(around.name == loop.name for around in p.loops)]
        depth = [around.name for around in below[0].loops].index(loop.name) if below else 0
        runs = 1.0
        for outer in below[0].loops[: depth + 1] if below else ():
            runs *= max(self.extents[outer.name], 1)
        return (
            lg(self.extents[loop.name]),
            lg(runs),
            depth / 8,
            max((len(p.loops) - 1 - depth for p in below), default=0) / 8,
            float(loop.is_opaque),
            self._dependent(loop),
            lg(len(below)),
            lg(loop.step),
        )

    def _dependent(self, loop: Loop) -> float:
        """Whether other loops are in its bounds; boxes do not tell."""
        return float(not self.boxes and not bound_names(loop).isdisjoint(self.loops))

    def _statement(self, placed: Placed, operations: int) -> tuple[float, ...]:
        instances = 1.0
        for loop in placed.loops:
            instances *= max(self.extents[loop.name], 1)
        return (
            lg(instances),
            len(placed.loops) / 8,
            lg(len(self.uses[placed.statement.name])),
            lg(operations),
            float(any(isinstance(a, Predicate) for a in placed.ancestors)),
            float(any(isinstance(a, Guard) for a in placed.ancestors)),
        )

    def _shape(self, array: Array, dimensions: int) -> list[int]:
        """Extents at the parameters' values, 1 where unknown."""
        shape = [1 if extent is None else max(extent.evaluate(self.values), 1) for extent in array.shape]
        return [1] * (dimensions - len(shape)) + shape

    def _strides(self, array: Array, dimensions: int) -> list[float]:
        """Bytes between neighbours in each dimension."""
        scalar = scalar_type(array.ctype)
        strides = [max(scalar.bits // 8, 1) * 1.0 if scalar else 8.0]
        for extent in self._shape(array, dimensions)[:0:-1]:
            strides.append(strides[-1] * extent)
        return strides[::-1][-dimensions:] if dimensions else []

    def _bytes(self, array: Array) -> float:
        scalar = scalar_type(array.ctype)
        return float(np.prod(self._shape(array, 0), dtype=np.float64)) * (scalar.bits / 8 if scalar else 8)


def _tree(nodes: tuple[Node, ...]) -> Iterator[LoopNode | str]:
    for node in nodes:
        if isinstance(node, Statement):
            yield node.name
        elif isinstance(node, Loop):
            inside = tuple(_tree(node.body))
            if inside:
                yield LoopNode(node.name, inside)
        else:
            yield from _tree(node.body)


def _mentions(subscript: object, name: str) -> bool:
    return isinstance(subscript, Affine) and name in subscript.names()


def _floats(rows: list[tuple[float, ...]] | list[list[float]], width: int) -> Floats:
    return np.array(rows, np.float32).reshape(-1, width)
