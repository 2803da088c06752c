"""Random parameters and data a nest can run on: subscripts found in arrays are in bounds, row pointers increase."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Array,
    Binary,
    Bound,
    Cast,
    Expr,
    Literal,
    Loop,
    LoopNest,
    Name,
    Read,
    Statement,
    Storage,
)
from scheduler.ir.types import known_type
from scheduler.ir.walk import assignments, loops, placed_statements, uses
from tests.doubles.arithmetic import numpy_type
from tests.generator.nests.fit import Box, interval, loop_box


def random_parameters(nest: LoopNest, rng: random.Random, low: int = 1, high: int = 9) -> dict[str, int]:
    """Values that fulfil the ranges and assumptions of the nest, larger ones more often.

    Raises ValueError when 200 tries find none.
    """
    for _ in range(200):
        values = {}
        for p in nest.parameters:
            least = low if p.low is None else max(low, p.low)
            most = max(least, high if p.high is None else min(high, p.high))
            values[p.name] = max(rng.randint(least, most), rng.randint(least, most))
        if all(_holds(c.affine.evaluate(values), c.kind, c.modulus) for c in nest.assumptions):
            return values
    raise ValueError(f"nest {nest.name}: no parameter values found")


def _holds(value: int, kind: str, modulus: int) -> bool:
    return value >= 0 if kind == ">=" else value == 0 if kind == "==" else value % modulus == 0


def random_inputs(nest: LoopNest, rng: random.Random, parameters: Mapping[str, int]) -> dict[str, np.ndarray[Any, Any]]:
    """Values in [-1, 1], integers in [-8, 8]; arrays used as subscripts or bounds hold what keeps accesses in bounds.

    That is inferred for `col[…]`, `col[…] + constant` (casts allowed) as subscripts, and for bounds that read an array.
    """
    plan = _Plan(nest, parameters)
    generator = np.random.default_rng(rng.getrandbits(64))
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for array in nest.arrays:
        if array.storage is Storage.PRIVATE:
            continue
        shape, scalar, dtype = plan.shape(array), known_type(array.ctype), numpy_type(array.ctype)
        if array.name in plan.limits:
            high = max(plan.limits[array.name], 0)
            values: np.ndarray[Any, Any] = generator.integers(0, high, shape, endpoint=True)
            if array.name in plan.sorted:
                values = np.sort(values, axis=None).reshape(shape)
        elif scalar.kind == "floating":
            values = generator.uniform(-1.0, 1.0, shape)
        else:
            low, high = -8 if scalar.signed else 0, 8 if scalar.kind == "integer" else 1
            values = generator.integers(low, high, shape, endpoint=True)
        arrays[array.name] = np.asarray(values).astype(dtype)
    return arrays


class _Plan:
    """`limits`: the largest value of an array of subscripts or bounds; `sorted`: arrays that must not decrease."""

    def __init__(self, nest: LoopNest, parameters: Mapping[str, int]) -> None:
        self.nest = nest
        self.parameters = parameters
        self.limits: dict[str, int] = {}
        self.sorted: set[str] = set()
        self.boxes: dict[str, Box] = {}
        self.known: dict[tuple[str, int], int] = {}
        self.plenty = 2 * max(parameters.values(), default=4)  # an extent or a bound that nothing decides
        placed = list(placed_statements(nest))
        self.copies = _copies(nest, [p.statement for p in placed])
        accesses = list(dict.fromkeys(use.access for p in placed for use in uses(p)))
        for array in nest.arrays:
            for place, extent in enumerate(array.shape):
                if extent is not None and extent.names() <= parameters.keys():
                    self.known[array.name, place] = extent.evaluate(parameters)
        for loop in loops(nest):
            if loop.is_opaque:
                self._opaque_loop(loop, accesses)
            else:
                self.boxes[loop.name] = loop_box(loop, self.boxes, {})
        unknown = [
            (a, p, s) for a in accesses for p, s in enumerate(a.subscripts) if nest.array(a.array).shape[p] is None
        ]
        for access, place, subscript in unknown:
            top = self._extent(subscript)
            self.known[access.array, place] = max(self.known.get((access.array, place), 1), top)
        for access in accesses:
            for place, subscript in enumerate(access.subscripts):
                source = None if isinstance(subscript, Affine) else self._source(subscript)
                if source:
                    limit = self.known.get((access.array, place), 1) - 1 - source[1]
                    self.limits[source[0]] = min(self.limits.get(source[0], limit), limit)

    def shape(self, array: Array) -> tuple[int, ...]:
        return tuple(max(self.known.get((array.name, place), 1), 0) for place in range(len(array.shape)))

    def _source(self, expr: Bound) -> tuple[str, int] | None:
        """(array, constant) of an expression `array[…] + constant`."""
        if isinstance(expr, Cast):
            return self._source(expr.operand)
        if isinstance(expr, Read):
            copied = self.copies.get(expr.access.array)
            return self._source(copied) if copied is not None else (expr.access.array, 0)
        if isinstance(expr, Binary) and expr.op in ("+", "-") and isinstance(expr.right, Literal):
            inner = self._source(expr.left)
            if inner and expr.right.text.isdigit():
                return inner[0], inner[1] + (1 if expr.op == "+" else -1) * int(expr.right.text)
        return None

    def _opaque_loop(self, loop: Loop, accesses: list[Access]) -> None:
        """Keeps the iterator within every known extent it is a subscript of."""
        limit: int | None = None
        for access in accesses:
            for place, subscript in enumerate(access.subscripts):
                extent = self.known.get((access.array, place))
                if extent is not None and isinstance(subscript, Affine) and subscript.coefficient(loop.name) == 1:
                    room = extent - subscript.const if len(subscript.terms) == 1 else 0
                    limit = room if limit is None else min(limit, room)
        if limit is None:
            limit = self.plenty
        start, stop = self._source(loop.start), self._source(loop.stop)
        for source in (start, stop):
            if source:
                self.limits[source[0]] = min(self.limits.get(source[0], limit), limit - max(source[1], 0))
        if start and stop and start[0] == stop[0]:
            self.sorted.add(start[0])
        self.boxes[loop.name] = Affine(), Affine.constant(limit - 1)

    def _extent(self, subscript: Affine | Expr) -> int:
        """How long a dimension of unknown extent has to be for a subscript."""
        if isinstance(subscript, Affine):
            return interval(subscript, self.boxes)[1].evaluate(self.parameters) + 1
        if isinstance(subscript, Binary) and subscript.op == "%" and isinstance(subscript.right, Name):
            return self.parameters.get(subscript.right.name, self.plenty)
        return self.plenty


def _copies(nest: LoopNest, statements: list[Statement]) -> dict[str, Expr]:
    """What PRIVATE scalars hold that only one assignment writes: `low = rowptr[i]`."""
    found: dict[str, list[Expr | None]] = {a.name: [] for a in nest.arrays if a.storage is Storage.PRIVATE}
    for statement in statements:
        for action in assignments(statement.body):
            if action.target.array in found:
                plain = action in statement.body and action.op == "=" and not action.target.subscripts
                found[action.target.array].append(action.value if plain else None)
    return {name: values[0] for name, values in found.items() if len(values) == 1 and values[0] is not None}
