"""A nest as arrays: what the recursive LSTM is given of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scheduler.machine.target import Target

Floats = npt.NDArray[np.float32]


Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LoopNode:
    """A loop of the nest as written with what is below it: other loops and names of statements, in order."""

    name: str
    children: tuple[LoopNode | str, ...]


@dataclass(frozen=True, slots=True)
class NestArrays:
    """Sequences are stored end to end; `x_counts[k]` is how many belong to the k-th thing that has some.

    Statements and loops are numbered in textual order, axes by statement, outermost loop first. `axis_columns` are
    the columns that belong to a loop, `column_axes` the axes they belong to.
    """

    roots: tuple[LoopNode | str, ...]
    statements: Mapping[str, int]
    loops: Mapping[str, int]
    axes: Mapping[tuple[str, str], int]  # (statement, loop)
    extents: Mapping[str, int]  # of loops, typical ones
    buffers: Mapping[str, float]  # bytes
    operations: Integers  # [operations, 2]: operation, type
    operation_counts: Integers  # [statements]
    entries: Floats  # [entries, ENTRY]
    entry_counts: Integers  # [columns]
    column_counts: Integers  # [matrices]
    axis_columns: Integers  # [columns of loops]
    column_axes: Integers  # [columns of loops]
    column_matrices: Integers  # [columns of loops]: the matrix of each
    matrix_features: Floats  # [matrices, MATRIX]
    matrix_counts: Integers  # [statements]
    axis_features: Floats  # [axes, AXIS]
    axis_statements: Integers  # [axes]
    loop_features: Floats  # [loops, LOOP]
    statement_features: Floats  # [statements, STATEMENT]
    target_features: Floats  # [TARGET]


def target_features(target: Target) -> Floats:
    """float32[TARGET]: logarithms of threads, vector bytes and cache sizes, each around 1."""
    sizes = (target.threads, target.vector_bytes, target.l1_bytes, target.l2_bytes, target.l3_bytes)
    usual = (1.0, 5.0, 15.0, 19.0, 23.0)  # log2 of a common machine's numbers
    return np.array([1 + (np.log2(max(s, 1)) - u) / 4 for s, u in zip(sizes, usual, strict=True)], np.float32)
