"""A nest and its schedules as arrays, for the recursive LSTM: rows side by side, equal ones once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from scheduler.ir.tree import TreeLoop
from scheduler.machine.target import Target
from scheduler.transform import NEST_STEPS, TRANSFORMATIONS, Reschedule, Stream

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


KINDS = tuple(
    kind for kind in TRANSFORMATIONS if kind not in (*NEST_STEPS, Reschedule, Stream)
)  # what models were trained on


STEP = len(KINDS) + 6


LEVEL, OPERAND, TAG = 18, 8, 14


Row = tuple[float, ...]


Operand = tuple[int, Row]  # axis, numbers


Record = tuple[Row, tuple[Operand, ...]]


@dataclass(frozen=True, slots=True)
class RecordArrays:
    """Records, and sequences of them, end to end."""

    features: Floats  # [records, STEP or LEVEL]
    operand_features: Floats  # [operands, OPERAND]
    operand_axes: Integers  # [operands]
    operand_records: Integers  # [operands]
    sequence: Integers  # [sum of the plans' lengths]: records
    counts: Integers  # [plans]


@dataclass(frozen=True, slots=True)
class ScheduleArrays:
    """Schedule number 0 is always the nest as written. Nodes are ordered by height (1: no loops below).

    Children and roots are numbers below `len(plan_statements)` for plans, above that for nodes.
    """

    steps: RecordArrays
    levels: RecordArrays
    plan_statements: Integers  # [plans]
    node_loops: Integers  # [nodes]
    node_tags: Floats  # [nodes, TAG]
    node_heights: Integers  # [nodes]
    children: Integers  # [sum of child_counts]
    child_counts: Integers  # [nodes]
    roots: Integers  # [sum of root_counts]
    root_counts: Integers  # [schedules]


@dataclass(slots=True)
class _Table:
    """Equal records once."""

    numbers: dict[Record, int] = field(default_factory=dict)

    def number(self, record: Record) -> int:
        return self.numbers.setdefault(record, len(self.numbers))

    def arrays(self, width: int, sequences: Sequence[tuple[int, ...]]) -> RecordArrays:
        operands = [(n, o) for n, (_, found) in enumerate(self.numbers) for o in found]
        return RecordArrays(
            features=_floats([features for features, _ in self.numbers], width),
            operand_features=_floats([numbers for _, (_, numbers) in operands], OPERAND),
            operand_axes=_integers(axis for _, (axis, _) in operands),
            operand_records=_integers(n for n, _ in operands),
            sequence=_integers(n for sequence in sequences for n in sequence),
            counts=_integers(map(len, sequences)),
        )


@dataclass(slots=True)
class Batch:
    steps: _Table = field(default_factory=_Table)
    levels: _Table = field(default_factory=_Table)
    plans: dict[tuple[int, tuple[int, ...], tuple[int, ...]], int] = field(default_factory=dict)
    nodes: dict[tuple[int, Row, tuple[int, ...]], int] = field(default_factory=dict)  # numbers are -1, -2, …
    heights: list[int] = field(default_factory=list)
    rows: list[tuple[int, ...]] = field(default_factory=list)

    def plan(self, statement: int, steps: list[Record], levels: list[Record]) -> int:
        key = (statement, tuple(map(self.steps.number, steps)), tuple(map(self.levels.number, levels)))
        return self.plans.setdefault(key, len(self.plans))

    def node(self, loop: int, tags: Row, children: tuple[int, ...]) -> int:
        key = (loop, tags, children)
        known = self.nodes.get(key)
        if known is None:
            known = self.nodes[key] = -1 - len(self.nodes)
            self.heights.append(1 + max((self.heights[-1 - c] for c in children if c < 0), default=0))
        return known

    def arrays(self) -> ScheduleArrays:
        heights = np.array(self.heights, np.int64)
        order = np.argsort(heights, kind="stable")
        place = np.argsort(order, kind="stable")

        def renumber(children: Iterable[int]) -> Iterator[int]:
            return (c if c >= 0 else len(self.plans) + int(place[-1 - c]) for c in children)

        nodes = list(self.nodes)
        nodes = [nodes[n] for n in order]
        return ScheduleArrays(
            steps=self.steps.arrays(STEP, [steps for _, steps, _ in self.plans]),
            levels=self.levels.arrays(LEVEL, [levels for _, _, levels in self.plans]),
            plan_statements=_integers(statement for statement, _, _ in self.plans),
            node_loops=_integers(loop for loop, _, _ in nodes),
            node_tags=_floats([tags for _, tags, _ in nodes], TAG),
            node_heights=heights[order],
            children=_integers(c for _, _, children in nodes for c in renumber(children)),
            child_counts=_integers(len(children) for _, _, children in nodes),
            roots=_integers(c for row in self.rows for c in renumber(row)),
            root_counts=_integers(map(len, self.rows)),
        )


def height_of(loop: TreeLoop) -> int:
    """Loops on the longest path below."""
    return max((1 + height_of(child) for child in loop.children if isinstance(child, TreeLoop)), default=0)


def _floats(rows: list[Row], width: int) -> Floats:
    return np.array(rows, np.float32).reshape(-1, width)


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, np.int64)
