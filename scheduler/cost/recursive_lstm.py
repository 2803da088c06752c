"""The recursive LSTM: a neural network that follows the loop tree of a nest to the speedup of a schedule.

Sources: Baghdadi et al. 2021 (MLSys), sections 4.2 and 4.3 (computation embeddings, recursive loop embeddings,
regression); Merouani et al. 2024 (LOOPer), section 4.3 (matrices, expressions and transformations through LSTMs).
Ours: matrices of any size through two LSTMs instead of padding, steps that name the loops they work on by what the
matrices say of these loops, the loops of the scheduled tree beside the steps, the machine as input, and (`relative`)
the difference to the nest as written, so that the empty schedule has speedup 1 exactly.

Letters in shapes: as in `scheduler.cost.tree_batch`; W the width, H = W / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from scheduler.cost.expressions import OPERATIONS, TYPES
from scheduler.cost.representation import (
    AXIS,
    ENTRY,
    LOOP,
    MATRIX,
    STATEMENT,
    TARGET,
)
from scheduler.cost.schedule_arrays import LEVEL, OPERAND, STEP, TAG
from scheduler.cost.tree_batch import NestBatch, RecordBatch, ScheduleBatch, Sequences

KIND = "recursive-lstm"
_LIMIT = 12.0  # of the logarithm of a speedup: e**12 is 160,000
CHUNK = 256  # schedules predicted at once
REMEMBERED = 8  # nests whose codes are kept


@dataclass(frozen=True, slots=True)
class LstmSettings:
    """The last three are for ablations: without them the model sees operation counts, boxes, or schedules only.

    Dropout is off: it hides different things in a schedule and in the nest as written that it is compared with.
    """

    width: int = 128
    dropout: float = 0.0
    relative: bool = True
    expressions: bool = True
    matrices: bool = True
    program: bool = True


@dataclass(frozen=True, slots=True)
class NestCodes:
    """What all schedules of a nest share."""

    axes: Tensor  # [X, H]
    statements: Tensor  # [S, W + TARGET]
    loops: Tensor  # [L, LOOP + TARGET]
    targets: Tensor  # [N, TARGET]


class RecursiveLstm(nn.Module):
    """Predicts natural logarithms of speedups."""

    def __init__(self, settings: LstmSettings) -> None:
        super().__init__()
        self.settings = settings
        width, half = settings.width, settings.width // 2
        drop = settings.dropout
        if settings.program:
            if settings.expressions:
                self.operation = nn.Embedding(len(OPERATIONS), 32)
                self.operation_type = nn.Embedding(len(TYPES), 16)
                self.expression = _Sequence(48, half)
            else:
                self.counts = nn.Linear(len(OPERATIONS), half)
            self.entry = _mlp(ENTRY, half // 2, half // 2)
            self.column = _Sequence(half // 2, half)
            self.matrix = _Sequence(half, half)
            self.matrix_merge = _mlp(half + MATRIX, width, width, drop)
            self.statement = _Sequence(width, width)
            self.axis_part = _mlp(half + MATRIX, half, half)
            self.axis_merge = _mlp(half + AXIS, half, half)
            self.statement_merge = _mlp(width + half + STATEMENT, width, width, drop)
        self.step = _Records(half, STEP)
        self.level = _Records(half, LEVEL)
        self.step_sequence = _Sequence(half, half)
        self.level_sequence = _Sequence(half, half)
        self.computation = nn.Sequential(
            _mlp(width + TARGET + 2 * half, 2 * width, width, drop), _mlp(width, width, width)
        )
        self.inside = _Sequence(width, width)
        self.loop = _mlp(width + LOOP + TARGET + TAG, 2 * width, width, drop)
        self.roots = _Sequence(width, width)
        last = nn.Linear(width, 1, bias=not settings.relative)  # a difference would not see the bias
        self.regression = nn.Sequential(_mlp(width + TARGET, width, width, drop), last)

    def forward(self, nests: NestBatch, schedules: ScheduleBatch) -> Tensor:
        """[R]."""
        return self.score(self.encode(nests), schedules)

    def encode(self, nests: NestBatch) -> NestCodes:
        """The part that no schedule changes."""
        half, width = self.settings.width // 2, self.settings.width
        if not self.settings.program:
            axes = nests.axis_features.new_zeros(len(nests.axis_features), half)  # [X, H]
            statements = nests.statement_features.new_zeros(len(nests.statement_features), width)  # [S, W]
            return self._codes(nests, axes, statements, torch.zeros_like(nests.loop_features))
        entries = self.entry(nests.entries)  # [E, H/2]
        columns = self.column(entries, nests.entry_sequences)  # [C, H]
        matrices = self.matrix(columns, nests.column_sequences)  # [M, H]
        matrices = self.matrix_merge(torch.cat((matrices, nests.matrix_features), 1))  # [M, W]
        statements = self.statement(matrices, nests.matrix_sequences)  # [S, W]

        parts = torch.cat((columns[nests.axis_columns], nests.matrix_features[nests.column_matrices]), 1)
        parts = self.axis_part(parts)  # [columns of loops, H]
        axes = _mean(parts, nests.column_axes, len(nests.axis_features))  # [X, H]
        axes = self.axis_merge(torch.cat((axes, nests.axis_features), 1))  # [X, H]

        statements = torch.cat((statements, self._expressions(nests), nests.statement_features), 1)
        return self._codes(nests, axes, self.statement_merge(statements), nests.loop_features)

    def _expressions(self, nests: NestBatch) -> Tensor:
        """[S, H]."""
        operations, types = nests.operations.unbind(1)  # [operations] each
        if self.settings.expressions:
            tokens = torch.cat((self.operation(operations), self.operation_type(types)), 1)  # [operations, 48]
            found: Tensor = self.expression(tokens, nests.operation_sequences)
            return found
        counts = nests.statement_features.new_zeros(len(nests.statement_features), len(OPERATIONS))
        ones = torch.ones_like(operations, dtype=counts.dtype)
        counts.index_put_((nests.operation_statements, operations), ones, accumulate=True)
        found = nn.functional.elu(self.counts(torch.log2(1 + counts) / 4))
        return found

    def _codes(self, nests: NestBatch, axes: Tensor, statements: Tensor, loops: Tensor) -> NestCodes:
        return NestCodes(
            axes,
            torch.cat((statements, nests.statement_targets), 1),
            torch.cat((loops, nests.loop_targets), 1),
            nests.targets,
        )

    def score(self, codes: NestCodes, schedules: ScheduleBatch) -> Tensor:
        """[R], the part that is new for every schedule."""
        roots = self.roots_of(codes, schedules)
        found: Tensor = self.regression(torch.cat((roots, codes.targets[schedules.row_nests]), 1)).squeeze(1)  # [R]
        if self.settings.relative:
            found = found - found[schedules.written][schedules.row_nests]
        return found.clamp(-_LIMIT, _LIMIT)

    def roots_of(self, codes: NestCodes, schedules: ScheduleBatch) -> Tensor:
        """[R, W]: what the regression is made from."""
        steps = self.step(codes.axes, schedules.steps)  # [steps, H]
        levels = self.level(codes.axes, schedules.levels)  # [levels, H]
        steps = self.step_sequence(steps, schedules.steps.sequences)  # [Q, H]
        levels = self.level_sequence(levels, schedules.levels.sequences)  # [Q, H]
        statements = codes.statements[schedules.plan_statements]  # [Q, W + TARGET]
        table = self.computation(torch.cat((statements, steps, levels), 1))  # [Q, W]: what loops hold
        for nodes in schedules.heights:
            inside = self.inside(table, nodes.children)  # [nodes, W]
            loops = self.loop(torch.cat((inside, codes.loops[nodes.loops], nodes.tags), 1))  # [nodes, W]
            table = torch.cat((table, loops))  # [Q + nodes so far, W]
        found: Tensor = self.roots(table, schedules.roots)  # [R, W]
        return found


class _Records(nn.Module):
    """Steps or loops of the resulting tree, with the axes they work on: a sum over any number of operands."""

    def __init__(self, half: int, features: int) -> None:
        super().__init__()
        self.operand = _mlp(half + OPERAND, half, half)
        self.merge = _mlp(half + features, half, half)

    def forward(self, axes: Tensor, records: RecordBatch) -> Tensor:
        operands = torch.cat((axes[records.operand_axes], records.operand_features), 1)  # [O, H + OPERAND]
        found = axes.new_zeros(len(records.features), axes.shape[1])  # [K, H]
        found = found.index_add(0, records.operand_records, self.operand(operands))
        merged: Tensor = self.merge(torch.cat((found, records.features), 1))  # [K, H]
        return merged


class _Sequence(nn.Module):
    """An LSTM's state after the last element, normalized: what distinguishes two sequences is small beside it."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, outputs)
        self.norm = nn.LayerNorm(outputs)
        with torch.no_grad():  # remember at first (Jozefowicz et al. 2015): the second quarter are forget gates
            dict(self.lstm.named_parameters())["bias_ih_l0"][outputs : 2 * outputs].fill_(1.0)

    def forward(self, rows: Tensor, found: Sequences) -> Tensor:
        """[found.count, outputs]; an empty sequence has the state zero."""
        states: Tensor = self.norm(last_states(self.lstm, rows, found))
        return states


def last_states(lstm: nn.LSTM, rows: Tensor, found: Sequences) -> Tensor:
    """[found.count, hidden]: the state after each sequence of rows, zeros after an empty one."""
    states = rows.new_zeros(found.count, lstm.hidden_size)
    if not found.sizes:
        return states
    packed = PackedSequence(rows[found.index], torch.tensor(found.sizes))
    _, (hidden, _) = lstm(packed)  # [1, sequences that are not empty, hidden]
    return states.index_copy(0, found.order, hidden[0])


def _mlp(inputs: int, hidden: int, outputs: int, dropout: float = 0.0) -> nn.Sequential:
    """Two layers; normalized, because what goes through many levels of a tree would fade otherwise."""
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.ELU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, outputs),
        nn.LayerNorm(outputs),
        nn.ELU(),
    )


def _mean(rows: Tensor, groups: Tensor, count: int) -> Tensor:
    """[count, features]: the mean of the rows of each group."""
    total = rows.new_zeros(count, rows.shape[1]).index_add(0, groups, rows)
    sizes = rows.new_zeros(count).index_add(0, groups, torch.ones_like(groups, dtype=rows.dtype))
    return total / sizes.clamp(min=1).unsqueeze(1)
