"""Nests and schedules of any shapes side by side as tensors: no padding, one LSTM call for all sequences of a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from scheduler.cost.schedule_arrays import Floats, Integers, NestArrays, RecordArrays, ScheduleArrays

_B = TypeVar("_B", bound="_Movable")


class _Movable:
    """Tensors inside go to a device together."""

    __slots__ = ()

    def to(self: _B, device: torch.device) -> _B:
        changed: dict[str, Any] = {}
        for f in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, f.name)
            if isinstance(value, Tensor | _Movable):
                changed[f.name] = value.to(device)
            elif isinstance(value, tuple):
                changed[f.name] = tuple(v.to(device) for v in value)
        return replace(self, **changed)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True)
class Sequences(_Movable):
    """`count` sequences of rows of some table, in the layout of torch's PackedSequence.

    `index`: rows, first elements of all sequences, then second elements, …, long sequences first. `order`: which
    sequence stands where; empty ones do not stand anywhere.
    """

    index: Tensor  # int64[sum of lengths]
    sizes: tuple[int, ...]  # how many sequences have a first, second, … element
    order: Tensor  # int64[sequences that are not empty]
    count: int

    def to(self, device: torch.device) -> Sequences:
        return replace(self, index=self.index.to(device), order=self.order.to(device))


@dataclass(frozen=True, slots=True)
class NestBatch(_Movable):
    """Names as in NestArrays; E entries, C columns, M matrices, X axes, S statements, L loops, N nests."""

    operations: Tensor  # int64[operations, 2]
    operation_sequences: Sequences  # S sequences
    operation_statements: Tensor  # int64[operations]
    entries: Tensor  # [E, ENTRY]
    entry_sequences: Sequences  # C sequences
    column_sequences: Sequences  # M sequences
    axis_columns: Tensor  # int64[columns of loops]
    column_axes: Tensor  # int64[columns of loops]
    column_matrices: Tensor  # int64[columns of loops]
    matrix_features: Tensor  # [M, MATRIX]
    matrix_sequences: Sequences  # S sequences
    axis_features: Tensor  # [X, AXIS]
    axis_statements: Tensor  # int64[X]
    loop_features: Tensor  # [L, LOOP]
    statement_features: Tensor  # [S, STATEMENT]
    statement_targets: Tensor  # [S, TARGET]
    loop_targets: Tensor  # [L, TARGET]
    targets: Tensor  # [N, TARGET]


@dataclass(frozen=True, slots=True)
class RecordBatch(_Movable):
    """K records, O operands, Q plans."""

    features: Tensor  # [K, STEP or LEVEL]
    operand_features: Tensor  # [O, OPERAND]
    operand_axes: Tensor  # int64[O]
    operand_records: Tensor  # int64[O]
    sequences: Sequences  # Q sequences


@dataclass(frozen=True, slots=True)
class NodeBatch(_Movable):
    """Nodes of one height; their children are plans and nodes of lower heights, in this order in one table."""

    loops: Tensor  # int64[nodes]
    tags: Tensor  # [nodes, TAG]
    children: Sequences


@dataclass(frozen=True, slots=True)
class ScheduleBatch(_Movable):
    """R schedules of N nests; `written` are the places of the nests as written."""

    steps: RecordBatch
    levels: RecordBatch
    plan_statements: Tensor  # int64[Q]
    heights: tuple[NodeBatch, ...]
    roots: Sequences  # R sequences
    row_nests: Tensor  # int64[R]
    written: Tensor  # int64[N]


def sequences(index: Integers, counts: Integers) -> Sequences:
    """From sequences stored end to end: `index` are the rows, `counts` the lengths."""
    starts = np.cumsum(counts) - counts
    order = np.argsort(-counts, kind="stable")
    order = order[: np.count_nonzero(counts)]
    longest = int(counts.max(initial=0))
    # How many sequences are longer than t, for t below the longest.
    sizes = len(counts) - np.searchsorted(np.sort(counts), np.arange(longest), side="right")
    places = [starts[order[:size]] + t for t, size in enumerate(sizes)]
    found = index[np.concatenate(places)] if places else index[:0]
    return Sequences(torch.from_numpy(found), tuple(map(int, sizes)), torch.from_numpy(order), len(counts))


def nest_batch(nests: Sequence[NestArrays]) -> NestBatch:
    """Puts nests side by side."""
    statements = _offsets(len(n.operation_counts) for n in nests)
    columns = _offsets(len(n.entry_counts) for n in nests)
    axes = _offsets(len(n.axis_features) for n in nests)
    matrices = _offsets(len(n.matrix_features) for n in nests)
    targets = np.stack([n.target_features for n in nests])
    operation_counts = _joined(n.operation_counts for n in nests)
    return NestBatch(
        operations=_tensor(n.operations for n in nests),
        operation_sequences=_ordered(operation_counts),
        operation_statements=torch.from_numpy(np.repeat(np.arange(len(operation_counts)), operation_counts)),
        entries=_tensor(n.entries for n in nests),
        entry_sequences=_ordered(_joined(n.entry_counts for n in nests)),
        column_sequences=_ordered(_joined(n.column_counts for n in nests)),
        axis_columns=_shifted(nests, lambda n: n.axis_columns, columns),
        column_axes=_shifted(nests, lambda n: n.column_axes, axes),
        column_matrices=_shifted(nests, lambda n: n.column_matrices, matrices),
        matrix_features=_tensor(n.matrix_features for n in nests),
        matrix_sequences=_ordered(_joined(n.matrix_counts for n in nests)),
        axis_features=_tensor(n.axis_features for n in nests),
        axis_statements=_shifted(nests, lambda n: n.axis_statements, statements),
        loop_features=_tensor(n.loop_features for n in nests),
        statement_features=_tensor(n.statement_features for n in nests),
        statement_targets=torch.from_numpy(np.repeat(targets, [len(n.statement_features) for n in nests], axis=0)),
        loop_targets=torch.from_numpy(np.repeat(targets, [len(n.loop_features) for n in nests], axis=0)),
        targets=torch.from_numpy(targets),
    )


def schedule_batch(nests: Sequence[NestArrays], schedules: Sequence[ScheduleArrays]) -> ScheduleBatch:
    """Puts the schedules of nests side by side; `nests` as given to `nest_batch`."""
    axes = _offsets(len(n.axis_features) for n in nests)
    statements = _offsets(len(n.operation_counts) for n in nests)
    loops = _offsets(len(n.loop_features) for n in nests)
    rows = [len(s.root_counts) for s in schedules]
    plans = [len(s.plan_statements) for s in schedules]

    # One table: all plans, then all nodes of height 1, of height 2, … `tables[k]` takes the numbers of schedules[k].
    tables = [np.empty(p + len(s.node_loops), np.int64) for p, s in zip(plans, schedules, strict=True)]
    for table, plan, first in zip(tables, plans, _offsets(plans), strict=True):
        table[:plan] = first + np.arange(plan)
    total = sum(plans)
    heights: list[NodeBatch] = []
    for height in range(1, 1 + max((int(s.node_heights.max(initial=0)) for s in schedules), default=0)):
        parts: list[tuple[Integers, Floats, Integers, Integers]] = []
        for table, plan, loop, one in zip(tables, plans, loops, schedules, strict=True):
            low, high = np.searchsorted(one.node_heights, (height, height + 1))
            begin, end = one.child_counts[:low].sum(), one.child_counts[:high].sum()
            table[plan + low : plan + high] = total + np.arange(high - low)
            total += int(high - low)
            parts.append(
                (one.node_loops[low:high] + loop, one.node_tags[low:high], table[one.children[begin:end]],
                 one.child_counts[low:high])
            )  # fmt: skip
        node_loops, tags, children, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        heights.append(NodeBatch(torch.from_numpy(node_loops), torch.from_numpy(tags), sequences(children, counts)))
    roots = _joined(table[one.roots] for table, one in zip(tables, schedules, strict=True))
    return ScheduleBatch(
        steps=_records([s.steps for s in schedules], axes),
        levels=_records([s.levels for s in schedules], axes),
        plan_statements=_shifted(schedules, lambda s: s.plan_statements, statements),
        heights=tuple(heights),
        roots=sequences(roots, _joined(s.root_counts for s in schedules)),
        row_nests=torch.from_numpy(np.repeat(np.arange(len(rows)), rows)),
        written=torch.from_numpy(_offsets(rows)),
    )


def _records(parts: Sequence[RecordArrays], axes: Integers) -> RecordBatch:
    first = _offsets(len(p.features) for p in parts)
    index = _joined(p.sequence + f for p, f in zip(parts, first, strict=True))
    return RecordBatch(
        features=_tensor(p.features for p in parts),
        operand_features=_tensor(p.operand_features for p in parts),
        operand_axes=_shifted(parts, lambda p: p.operand_axes, axes),
        operand_records=_shifted(parts, lambda p: p.operand_records, first),
        sequences=sequences(index, _joined(p.counts for p in parts)),
    )


def _ordered(counts: Integers) -> Sequences:
    """Sequences of consecutive rows."""
    return sequences(np.arange(int(counts.sum())), counts)


def _offsets(lengths: Iterable[int]) -> Integers:
    """Where each part begins when parts of these lengths stand end to end."""
    found = np.fromiter(lengths, np.int64)
    return np.cumsum(found) - found


_Part = TypeVar("_Part")


def _shifted(parts: Sequence[_Part], values: Callable[[_Part], Integers], offsets: Integers) -> Tensor:
    return torch.from_numpy(_joined(values(p) + first for p, first in zip(parts, offsets, strict=True)))


def _joined(parts: Iterable[Integers]) -> Integers:
    return np.concatenate(list(parts))


def _tensor(parts: Iterable[Floats] | Iterable[Integers]) -> Tensor:
    return torch.from_numpy(np.concatenate(list(parts)))
