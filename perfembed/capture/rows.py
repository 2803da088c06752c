"""Tables of pointers to rows: what of them a nest follows, and how they are kept beside the contents of the rows.

The rows of an array `a` are captured as one block of memory in which they lie as they did in the program (with large
gaps cut to less than a page), and an array `a.rows` of `long`: how many pointers each level of tables has, and
for each pointer to a row how many bytes behind the block's beginning that begins. A kernel makes its tables of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import islpy as isl
import numpy as np

from perfembed.capture.captured import CapturedArray
from profilers.workload import CapturedFill
from scheduler.codegen.emit.workload import rows_name
from scheduler.codegen.runtime_checks.rows import followed, steps_of
from scheduler.errors import CodegenUnsupported
from scheduler.ir.nest import Array
from scheduler.polyhedral.model import Model

__all__ = ["RowsUnknown", "UsedRows", "even_places", "rows_name", "used_rows"]

Box = tuple[tuple[int, int, int], ...]  # the first and the last pointer, and the step, of each level


class RowsUnknown(Exception):
    """The rows that a nest uses cannot be told; the text is for the user."""


@dataclass(frozen=True, slots=True)
class UsedRows:
    """The pointers that are followed, in boxes, and the elements [first, end) that are used of what they lead to."""

    boxes: tuple[Box, ...]
    first: int
    end: int

    @property
    def table(self) -> tuple[int, ...]:
        """How many pointers the tables of each level have to have."""
        return tuple(max(box[k][1] for box in self.boxes) + 1 for k in range(len(self.boxes[0])))


def used_rows(array: Array, touched: isl.Set, model: Model) -> UsedRows:
    """Of a nest whose parameters have values; `touched`: the subscripts of the array. Raises RowsUnknown."""
    if array.members:
        raise RowsUnknown(f"{array.name} has rows of structures, which cannot be measured")
    if touched.is_empty():
        raise RowsUnknown(f"no row of {array.name} is used with these values")
    try:
        parts = followed(array, touched, array.rows, model)
    except CodegenUnsupported as problem:
        raise RowsUnknown(str(problem)) from None

    def value(found: isl.Val) -> int:
        if not found.is_int():
            raise RowsUnknown(f"which elements of {array.name} are accessed depends on data")
        return int(found.to_python())

    boxes = tuple(
        tuple((value(part.dim_min_val(k)), value(part.dim_max_val(k)), step) for k, step in enumerate(steps_of(part)))
        for part in parts
    )
    extents = [e.const for e in array.shape[array.rows + 1 :] if e is not None]
    weights = [math.prod(extents[k:]) for k in range(len(extents) + 1)]
    ends = [
        (value(touched.dim_min_val(array.rows + k)), value(touched.dim_max_val(array.rows + k)))
        for k in range(len(weights))
    ]
    if any(low < 0 for box in boxes for low, _, _ in box):
        raise RowsUnknown(f"the table of {array.name} is accessed before the address it points to")
    first = sum(w * low for w, (low, _) in zip(weights, ends, strict=True))
    end = sum(w * high for w, (_, high) in zip(weights, ends, strict=True)) + 1
    return UsedRows(boxes, first, end)


def even_places(rows: UsedRows, array: Array, width: int, path: Path) -> CapturedArray:
    """The array that says where rows lie, of `width` bytes an element, that follow one another; written to `path`."""
    length = rows.end - rows.first
    places = np.array(
        [*rows.table, *((k * length - rows.first) * width for k in range(math.prod(rows.table)))], dtype=np.int64
    )
    path.write_bytes(places.tobytes())
    return CapturedArray(rows_name(array.name), "long", places.shape, CapturedFill(str(path), 0), 0, 0, table=True)
