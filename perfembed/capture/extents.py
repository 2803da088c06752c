"""How much of each array a nest touches when its parameters have given values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import islpy as isl

from perfembed.capture.rows import RowsUnknown, UsedRows, used_rows
from scheduler.errors import SchedulerError
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Constraint, Loop, LoopNest, Predicate, Storage
from scheduler.ir.types import known_type
from scheduler.ir.walk import AccessUse
from scheduler.polyhedral.dependences import earlier_text
from scheduler.polyhedral.model import Model


class ExtentUnknown(Exception):
    """The size of an array cannot be had; the text is for the user."""


@dataclass(frozen=True, slots=True)
class Extents:
    """`shape` with concrete extents; the outermost is None where only its allocation can tell.

    Elements below `sure` are certainly accessed (0: perhaps none). `rows`: of an array that is reached through tables
    of pointers, whose shape is that of the memory its rows lie in.
    """

    array: Array
    shape: tuple[int | None, ...]
    sure: int
    rows: UsedRows | None = None

    @property
    def row(self) -> int:
        """Elements for each step of the outermost subscript."""
        return math.prod(extent or 1 for extent in self.shape[1:])

    @property
    def count(self) -> int | None:
        if self.shape and self.shape[0] is None:
            return None
        return math.prod(extent or 0 for extent in self.shape)


def outer_arrays(nest: LoopNest) -> tuple[Array, ...]:
    """The arrays and scalars that exist outside the nest."""
    return tuple(a for a in nest.arrays if a.storage is not Storage.PRIVATE)


def element_bytes(ctype: str) -> int:
    """Raises KeyError for a type the compiler does not know."""
    return max(8, known_type(ctype).bits) // 8


def with_values(nest: LoopNest, values: Mapping[str, int]) -> LoopNest:
    """The nest with its parameters known."""
    return replace(nest, parameters=tuple(replace(p, value=values[p.name]) for p in nest.parameters))


def broken_assumption(nest: LoopNest, values: Mapping[str, int]) -> str | None:
    """The first assumption of the nest that does not hold for these parameters, as text."""
    for parameter in nest.parameters:
        value = values[parameter.name]
        low, high = parameter.low, parameter.high
        if (low is not None and value < low) or (high is not None and value > high):
            return f"{low if low is not None else ''} <= {parameter.name} <= {high if high is not None else ''}"
    return next((_text(c) for c in nest.assumptions if not _holds(c, values)), None)


def broken_assumptions(nest: LoopNest, values: Mapping[str, int]) -> int:
    """How many assumptions do not hold, of those about parameters that have values here."""
    return sum(c.affine.names() <= values.keys() and not _holds(c, values) for c in nest.assumptions)


def _holds(condition: Constraint, values: Mapping[str, int]) -> bool:
    value = condition.affine.evaluate(values)
    if condition.kind == "mod":
        return value % condition.modulus == 0
    return value == 0 if condition.kind == "==" else value >= 0


def _text(condition: Constraint) -> str:
    if condition.kind == "mod":
        return f"{condition.affine} is divisible by {condition.modulus}"
    return f"{condition.affine} {condition.kind} 0"


class Touched:
    """Answers, with isl, which elements a nest with known parameters accesses."""

    def __init__(self, nest: LoopNest, values: Mapping[str, int]) -> None:
        self._model = Model(with_values(nest, values))
        self._values = values
        self._uses: dict[str, dict[tuple[str, AccessUse], None]] = {}
        for statement in self._model.placed:
            for use in self._model.uses(statement):
                self._uses.setdefault(use.access.array, {})[statement, replace(use, is_write=False)] = None

    def uses(self, array: str) -> Iterable[tuple[str, AccessUse]]:
        """(statement, access), each once."""
        return self._uses.get(array, {})

    def extents(self, array: Array) -> Extents:
        """Raises ExtentUnknown for an array of which nothing is left, or that is accessed before its start."""
        if array.rows:
            return Extents(array, (None,), 0, self._rows(array))
        shape: list[int | None] = [None if e is None else e.evaluate(self._values) for e in array.shape]
        if any(extent is not None and extent < 1 for extent in shape):
            sizes = "".join(f"[{'' if e is None else e}]" for e in shape)
            raise ExtentUnknown(f"{array.name}{sizes} has no elements with these values")
        if not shape:
            return Extents(array, (), 1)
        pointed = array.storage in (Storage.POINTER, Storage.RESTRICT)
        if shape[0] is not None and not pointed:
            return Extents(array, tuple(shape), 0)
        row = math.prod(extent or 1 for extent in shape[1:])
        low, high, sure = self._range(array, shape)
        if low is not None and low < 0:
            raise ExtentUnknown(f"{array.name} is accessed {-low} elements before the address it points to")
        if high is None:
            return Extents(array, (shape[0], *shape[1:]), sure + 1)
        rows = high // row + 1
        return Extents(array, (max(rows, shape[0] or 1), *shape[1:]), sure + 1)

    def _rows(self, array: Array) -> UsedRows:
        try:
            with self._model.quota():
                parts = [self._model.access_relation(s, use).range() for s, use in self.uses(array.name)]
                touched = parts[0]
                for part in parts[1:]:
                    touched = touched.union(part)
                return used_rows(array, touched, self._model)
        except RowsUnknown as unknown:
            raise ExtentUnknown(str(unknown)) from None
        except SchedulerError as problem:
            raise ExtentUnknown(f"which rows of {array.name} are used cannot be told: {problem}") from None

    def reach(self, array: Array) -> int | None:
        """So many elements of an array with a known shape, from its first one on, hold all that are accessed."""
        shape: list[int | None] = [None if e is None else e.evaluate(self._values) for e in array.shape]
        if not shape:
            return 1
        _, high, _ = self._range(array, shape)
        return None if high is None else high + 1

    def overwritten(self, array: Array) -> bool:
        """Whether every element is certainly written before it is read, so that what it holds before does not matter.

        False where that cannot be told.
        """
        model = self._model
        uses = [(s, use) for s in model.placed for use in model.uses(s) if use.access.array == array.name]
        certain = [(s, u.access) for s, u in uses if u.is_write and u.must and u.access.is_affine and _always(model, s)]
        try:
            with model.quota():
                return all(_covered(model, s, u, certain) for s, u in uses if not u.is_write)
        except SchedulerError:
            return False

    def bounds(self, array: Array, dimension: int) -> tuple[int | None, int | None]:
        """The lowest and the highest affine subscript of one dimension; None where unbounded or unused."""
        lows: list[int] = []
        highs: list[int] = []
        for statement, use in self.uses(array.name):
            if isinstance(use.access.subscripts[dimension], Affine):
                low, high = self._interval(statement, use, [int(k == dimension) for k in range(len(array.shape))])
                if low is None or high is None:
                    return None, None
                if low <= high:
                    lows.append(low)
                    highs.append(high)
        return (min(lows), max(highs)) if lows else (None, None)

    def _range(self, array: Array, shape: list[int | None]) -> tuple[int | None, int | None, int]:
        """The lowest and highest element (row-major; None: unbounded), and the highest surely accessed (or -1)."""
        strides = [math.prod(extent or 1 for extent in shape[k + 1 :]) for k in range(len(shape))]
        low: int | None = 0
        high: int | None = -1
        sure = -1
        for statement, use in self.uses(array.name):
            first, last = self._interval(statement, use, strides)
            if first is not None and last is not None and first > last:
                continue
            low = None if first is None or low is None else min(low, first)
            high = None if last is None or high is None else max(high, last)
            if use.must and use.access.is_affine and last is not None:
                sure = max(sure, last)
        return low, high, sure

    def _interval(self, statement: str, use: AccessUse, weights: list[int]) -> tuple[int | None, int | None]:
        """Range of the weighted sum of the subscripts; None: unbounded; (0, -1): there is no access."""
        try:
            with self._model.quota():
                touched = self._model.access_relation(statement, use).range()
                names = [f"d{k}" for k in range(len(weights))]
                total = " + ".join(f"{w}*{n}" for w, n in zip(weights, names, strict=True))
                flat = isl.Map.read_from_str(
                    self._model.context, f"{{ {touched.get_tuple_name()}[{', '.join(names)}] -> [{total}] }}"
                )
                numbers = touched.apply(flat)
                if numbers.is_empty():
                    return 0, -1
                return _finite(numbers.dim_min_val(0)), _finite(numbers.dim_max_val(0))
        except SchedulerError:
            return None, None


def _always(model: Model, statement: str) -> bool:
    """Whether a statement runs in all of its domain."""
    placed = model.placed[statement]
    return not any(isinstance(a, Predicate) or (isinstance(a, Loop) and a.is_opaque) for a in placed.ancestors)


def _covered(model: Model, statement: str, use: AccessUse, writes: Iterable[tuple[str, Access]]) -> bool:
    """Whether an earlier one of the writes is to the element that is read, in every instance of the statement."""
    if not use.access.is_affine:
        return False
    left = model.domain(statement, "unbounded")
    for source, access in writes:
        text = earlier_text(model, source, access, statement, use.access)
        if text is not None:
            left = left.subtract(isl.Map.read_from_str(model.context, text).range())
    return bool(left.is_empty())


def _finite(value: isl.Val) -> int | None:
    return int(value.to_python()) if value.is_int() else None


def object_text(extents: Extents, unread: bool) -> str:
    """Of an array or scalar; `unread`: what it holds before does not matter."""
    width = element_bytes(extents.array.ctype)
    size = "PE_UNKNOWN" if extents.count is None else f"{extents.count * width}ULL"
    pointer = extents.array.storage in (Storage.POINTER, Storage.RESTRICT) or extents.count is None
    sizes = f"{size}, {extents.row * width}ULL, {extents.sure * width}ULL"
    return f"{{{sizes}, {pointer:d}, {unread:d}, 0, 0, 0, 0, 0, {{0}}}}"


def box_text(box: tuple[tuple[int, int, int], ...]) -> str:
    """Of the pointers from the first to the last of each level that are followed, and the steps between them."""
    parts = (", ".join(map(str, part)) for part in zip(*box, strict=True))
    return f"{{{', '.join(f'{{{part}}}' for part in parts)}}}"


def rows_text(extents: Extents, unread: bool, boxes: str) -> str:
    """Of an array with rows; `boxes`: the name of the array of its boxes."""
    rows, width = extents.rows, element_bytes(extents.array.ctype)
    assert rows is not None
    levels = f"{len(rows.table)}, {len(rows.boxes)}, {boxes}"
    ends = f"{rows.first * width}, {rows.end * width}"
    table = ", ".join(map(str, rows.table))
    return f"{{0, {width}, 0, 1, {unread:d}, {levels}, {ends}, {{{table}}}}}"
