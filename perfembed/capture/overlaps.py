"""Which arrays of a capture share memory in the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from scheduler.ir.nest import LoopNest

Ranges = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True, slots=True)
class Written:
    """One object as the program reported it."""

    address: int
    size: int
    known: int
    offset: int


@dataclass(frozen=True, slots=True)
class RowsWritten:
    """The pointers to rows as the program reported them: `count` places in a table, and addresses of used rows."""

    count: int
    used: int
    bytes: int  # of a row
    offset: int  # of the places in the file; the addresses follow


def overlaps(
    nest: LoopNest, names: Sequence[str], data: Path, written: Sequence[Written], tables: Mapping[int, RowsWritten]
) -> tuple[tuple[str, str], ...]:
    """Pairs of arrays that share bytes; an array with itself where rows of it do. `data`: the file written."""
    ranges = [_ranges(data, w, tables.get(k)) for k, w in enumerate(written[: len(names)])]
    found = [(n, n) for n, r in zip(names, ranges, strict=True) if bool((r[1:, 0] < r[:-1, 1]).any())]
    for (a, p), (b, q) in combinations(zip(names, ranges, strict=True), 2):
        if not nest.array(a).shares(nest.array(b)) and _meet(p, q):
            found.append((a, b))
    return tuple(found)


def _ranges(data: Path, written: Written, rows: RowsWritten | None) -> Ranges:
    """[n, 2]: where the memory of an object begins and ends, in order."""
    if rows is None:
        return np.array([[written.address, written.address + written.known]], dtype=np.uint64)
    begins = np.fromfile(data, np.uint64, rows.used, offset=rows.offset + 8 * rows.count)
    begins.sort()
    return np.stack((begins, begins + np.uint64(rows.bytes)), axis=1)


def _meet(first: Ranges, second: Ranges) -> bool:
    """Whether some range of the first meets one of the second; in each they begin in order and have one length."""
    after = np.searchsorted(second[:, 1], first[:, 0], side="right")
    inside = after < len(second)
    return bool((second[after[inside], 0] < first[inside, 1]).any())
