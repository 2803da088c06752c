"""The run-time test of arrays whose rows are reached through tables of pointers: no two rows share memory.

A table may hold any pointers: rows that lie one behind the other, permuted, shared, or a part of another array. The
polyhedral model takes `a[i][j]` for the element of a two-dimensional array, which is right where no row that is written
overlaps another row or array, and no store changes a pointer in a table. The test reads the pointers that the nest
reads for certain, and no others: the rest of a table may hold anything, or not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import islpy as isl

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.integer_text import OR, PRODUCT, SUM, wrap
from scheduler.codegen.tree.nodes import IntExpr
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array
from scheduler.polyhedral.existing import certain_uses
from scheduler.polyhedral.model import Model

_MOST = 64  # memory areas in one test: a bit each
_MOST_BOXES = 16  # of the pointers of one table

Box = tuple[
    tuple[str, str, int], ...
]  # the first and the last pointer followed, as C text, and the step, of each level


@dataclass(frozen=True, slots=True)
class Area:
    """An area of memory in the test; `table` and the bytes from `first` to `end` are C text."""

    name: str
    table: str
    levels: int
    boxes: tuple[Box, ...]
    first: str
    end: str
    written: bool
    array: Array | None = None  # whose elements it holds: None for pointers and numbers

    def texts(self, number: int, skip: int) -> list[str]:
        """Its parts, in C."""
        head = f"{self.table}, {self.levels}, {self.written:d}, {number}, {skip}ul"
        found = []
        for box in self.boxes:
            lows = ", ".join(low for low, _, _ in box) or "0"
            highs = ", ".join(high for _, high, _ in box) or "0"
            steps = ", ".join(str(step) for _, _, step in box) or "0"
            found.append(f"{{{head}, {{{lows}}}, {{{highs}}}, {{{steps}}},\n        {self.first}, {self.end}}}")
        return found


def plain_area(name: str, first: str, end: str, written: bool, array: Array | None = None) -> Area:
    """The memory between two pointers, given as C text."""
    size = f"(const char *)({end}) - (const char *)({first})"
    return Area(name, first, 0, ((),), "0", size, written, array)


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes the areas of arrays with rows. `bound`: what a value is; `holds`: a condition, None: it always is so."""

    model: Model
    printer: Printer
    bound: Callable[[isl.PwAff], IntExpr]
    holds: Callable[[isl.Set], IntExpr | None]

    def areas(
        self, array: Array, touched: isl.Set, corners: Sequence[tuple[IntExpr, IntExpr]], written: bool
    ) -> list[Area]:
        """What an array's rows have that is between the least and greatest subscripts, and the tables leading there.

        `touched`: the subscripts that are used. Raises CodegenUnsupported where a pointer might be read that the
        nest does not read.
        """
        base = f"({array.base or array.name})"
        found: list[Area] = []
        for level in range(array.rows, -1, -1):
            boxes = self._boxes(array, touched, level)
            if level == array.rows:
                first, end = self._bytes(array, corners[level:])
                found.append(Area(array.name, base, level, boxes, first, end, written, array))
                continue
            low, high = (wrap(self.printer.integer(value), SUM) for value in corners[level])
            size = "(long)sizeof(void *)"
            found.append(Area(array.name, base, level, boxes, f"({low}) * {size}", f"({high} + 1) * {size}", False))
        return found

    def _bytes(self, array: Array, corners: Sequence[tuple[IntExpr, IntExpr]]) -> tuple[str, str]:
        """Where what is used of a row begins and ends, in bytes from its beginning."""
        widths = [1]
        for extent in reversed(array.shape[array.rows + 1 :]):
            if extent is None or not extent.is_constant:
                raise CodegenUnsupported(f"the rows of {array.name} hold arrays of unknown size")
            widths.insert(0, widths[0] * extent.const)
        if array.members:  # whole structures
            corners = (*corners[:-1], (Affine.constant(0), Affine.constant(len(array.members) - 1)))
        ends = []
        for side in (0, 1):
            texts = [wrap(self.printer.integer(corner[side]), PRODUCT + 1) for corner in corners]
            total = " + ".join(t if w == 1 else f"{t} * {w}" for t, w in zip(texts, widths, strict=True))
            ends.append(f"({total}{' + 1' * side}) * (long)sizeof({array.ctype})")
        return ends[0], ends[1]

    def _boxes(self, array: Array, touched: isl.Set, level: int) -> tuple[Box, ...]:
        """The pointers of the first `level` subscripts that are followed, in parts: in all they are those read."""
        if level == 0:
            return ((),)
        return tuple(self._box(part) for part in followed(array, touched, level, self.model))

    def _box(self, part: isl.Set) -> Box:
        condition = self.holds(part.params())
        found = []
        for k, step in enumerate(steps_of(part)):
            low, high = (self.printer.integer(self.bound(end)) for end in (part.dim_min(k), part.dim_max(k)))
            if condition is None:
                found.append((low[0], high[0], step))
            else:
                when = wrap(self.printer.integer(condition), OR)
                found.append((f"{when} ? {wrap(low, OR)} : 0", f"{when} ? {wrap(high, OR)} : -1", step))
        return tuple(found)


def followed(array: Array, touched: isl.Set, level: int, model: Model) -> list[isl.Set]:
    """The first `level` subscripts with which pointers are followed, in boxes, with steps, that have none in common.

    `touched`: the subscripts of the array that are used. Raises CodegenUnsupported where the nest does not follow all
    of these pointers for certain, or they are no few boxes.
    """
    kind = isl.dim_type.set
    rest = len(array.shape) - level
    problem = (
        f"which rows of {array.name} are accessed depends on data, or some are left out: that they do not overlap "
        "cannot be tested beforehand"
    )
    certain: isl.Set | None = None
    for statement in model.placed:
        for use in certain_uses(statement, array, model):
            part = model.access_relation(statement, use).range()
            certain = part if certain is None else certain.union(part)
    if certain is None:
        raise CodegenUnsupported(problem)
    pointers = touched.project_out(kind, level, rest)
    if not pointers.is_subset(certain.project_out(kind, level, rest)):
        raise CodegenUnsupported(problem)
    if _is_box(pointers):
        return [pointers.coalesce()]
    parts = _disjoint(pointers)
    if len(parts) > _MOST_BOXES or not all(map(_is_box, parts)):
        raise CodegenUnsupported(problem)
    return parts


def steps_of(box: isl.Set) -> tuple[int, ...]:
    """Of each subscript: the largest of which all differences between its values are multiples."""
    strides = (int(box.get_stride(k).to_python()) for k in range(box.dim(isl.dim_type.set)))
    return tuple(max(1, stride) for stride in strides)


def _is_box(part: isl.Set) -> bool:
    """Whether it is, for all parameters, each subscript from its least value to its greatest in its steps."""
    kind = isl.dim_type.set
    rank = part.dim(kind)
    whole = part.subtract(part).complement()
    for k, step in enumerate(steps_of(part)):
        values = part.project_out(kind, k + 1, rank - k - 1).project_out(kind, 0, k)
        first = values if step == 1 else values.lexmin()
        up = isl.Map.read_from_str(part.get_ctx(), f"{{ [x] -> [y] : y >= x and (y - x) mod {step} = 0 }}")
        down = isl.Map.read_from_str(part.get_ctx(), "{ [x] -> [y] : y <= x }")
        between = first.reset_tuple_id().apply(up).intersect(values.reset_tuple_id().apply(down))
        between = between.insert_dims(kind, 0, k).insert_dims(kind, k + 1, rank - k - 1)
        whole = whole.intersect(between.set_tuple_name(part.get_tuple_name()) if part.has_tuple_name() else between)
    return bool(whole.intersect_params(part.params()).is_equal(part))


def _disjoint(pointers: isl.Set) -> list[isl.Set]:
    """The set in parts, none of which shares a point with another."""
    found: list[isl.Set] = []
    seen = pointers.subtract(pointers)
    for piece in pointers.get_basic_sets():
        whole = isl.Set.from_basic_set(piece)
        left = whole.subtract(seen).make_disjoint().get_basic_sets()
        found += [part for basic in left if not (part := isl.Set.from_basic_set(basic)).is_empty()]
        seen = seen.union(whole)
    return found


def rows_test(areas: Sequence[Area], apart: Iterable[frozenset[str]]) -> str:
    """The condition, in C, that no two areas share memory of which one is written.

    `apart`: pairs of arrays that need not be compared. Raises CodegenUnsupported where there are too many areas.
    """
    if len(areas) > _MOST:
        raise CodegenUnsupported(f"the overlaps of {len(areas)} arrays and tables of rows cannot be tested at once")
    known = set(apart)
    texts: list[str] = []
    for number, area in enumerate(areas):
        skip = 0
        for place, other in enumerate(areas):
            elements = area.array is not None and other.array is not None
            if elements and frozenset((area.name, other.name)) in known:
                skip |= 1 << place
        texts += area.texts(number, skip)
    listed = ",\n    ".join(texts)
    return f"pe_rows_apart((const struct pe_rows[]){{\n    {listed}}},\n    {len(texts)})"
