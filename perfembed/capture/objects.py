"""What the capture run is told of objects, as initializers of `struct pe_object` (capture_runtime.c)."""

from __future__ import annotations

from perfembed.capture.extents import Extents, element_bytes
from scheduler.ir.nest import Storage


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
