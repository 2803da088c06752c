"""Schedules as the recursive LSTM sees them: for each statement the steps that touch it and the loops it ends up in.

After the papers, a transformation is a vector and a schedule a sequence of vectors per computation (LOOPer 4.3), and
loops carry tags (Tiramisu 4.1). Instead of fixed places for loop numbers a *record* (a step, or a loop of the
resulting tree) has operands: axes of the statement with a few numbers each, of any count. Everything that is equal in
several schedules of a nest is stored once: records, a statement's sequences (*plans*), and whole subtrees of the loop
tree with their tags (*nodes*). What the schedules of a search share is then computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.cost.ranges import lg, linear_part
from scheduler.cost.representation import Floats, Integers, LoopNode, NestArrays
from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, TreeNode, statements_below, tree_loops
from scheduler.schedule import (
    TRANSFORMATIONS,
    Distribute,
    Fuse,
    Interchange,
    Pack,
    Parallelize,
    RegisterBlock,
    Schedule,
    Shift,
    Sink,
    Skew,
    Split,
    Stream,
    Tile,
    Transformation,
    Unroll,
    UnrollJam,
)
from scheduler.transform.common import the_loop

KINDS = tuple(kind for kind in TRANSFORMATIONS if kind not in (Split, Stream))  # what models were trained on
STEP = len(KINDS) + 6
LEVEL, OPERAND, TAG = 18, 8, 14

_KIND = {kind: number for number, kind in enumerate(KINDS)}

Row = tuple[float, ...]
Tree = tuple[TreeNode, ...]
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


class ScheduleEncoder:
    """Turns schedules of one nest into arrays; remembers what it has seen of steps.

    `tree` gives the loop tree after a schedule (`Replayer.tree`).
    """

    def __init__(self, arrays: NestArrays, tree: Callable[[Schedule], Tree]) -> None:
        self.arrays = arrays
        self.tree = tree
        self._steps: dict[Schedule, tuple[tuple[str, Record], ...]] = {}
        self._levels: dict[tuple[object, ...], Record] = {}

    def encode(self, schedules: Iterable[tuple[Schedule, Tree]]) -> ScheduleArrays:
        """Raises NotApplicable for a schedule that does not fit the nest."""
        batch = _Batch()
        nest = self.arrays
        for schedule, tree in (((), self.tree(())), *schedules):
            steps: dict[str, list[Record]] = {name: [] for name in nest.statements}
            for count in range(1, len(schedule) + 1):
                for statement, record in self._step(schedule[:count]):
                    steps[statement].append(record)
            levels: dict[str, list[Record]] = {name: [] for name in nest.statements}
            tags: dict[str, list[float]] = {}
            self._walk(tree, 0, {}, levels, tags)
            plans = {s: batch.plan(n, steps[s], levels[s]) for s, n in nest.statements.items()}
            batch.rows.append(tuple(self._node(batch, root, plans, tags) for root in nest.roots))
        return batch.arrays()

    def _node(self, batch: _Batch, node: LoopNode | str, plans: dict[str, int], tags: dict[str, list[float]]) -> int:
        if isinstance(node, str):
            return plans[node]
        children = tuple(self._node(batch, child, plans, tags) for child in node.children)
        return batch.node(self.arrays.loops[node.name], tuple(tags.get(node.name, _NO_TAGS)), children)

    # ------------------------------------------------------------------------------------ steps

    def _step(self, schedule: Schedule) -> tuple[tuple[str, Record], ...]:
        """The last step's record for every statement it touches."""
        known = self._steps.get(schedule)
        if known is None:
            step, before = schedule[-1], self.tree(schedule[:-1])
            after = self.tree(schedule)  # raises NotApplicable
            if type(step) not in _KIND:
                return self._steps.setdefault(schedule, ())
            named = _operands(step)
            found = {loop.name: loop for loop in tree_loops(before)}
            touched = dict.fromkeys(s for name, *_ in named if name in found for s, _ in found[name].rows)
            if isinstance(step, Sink):
                touched |= dict.fromkeys(statements_below(the_loop(after, step.loop)))
            features = _step_features(step, self.arrays)
            records = []
            for statement in touched:
                operands: list[Operand] = []
                for name, role, value, position in named:
                    loop = found.get(name)
                    if loop is not None and any(s == statement for s, _ in loop.rows):
                        operands += self._axes(statement, loop.row(statement), role, value, position, loop.tile)
                mine = float(getattr(step, "statement", statement) == statement)
                records.append((statement, ((*features, mine), tuple(operands))))
            self._steps[schedule] = known = tuple(records)
        return known

    def _axes(
        self, statement: str, row: Affine, role: int, value: float, position: float, tile: float
    ) -> Iterator[Operand]:
        """The statement's own loops in a row, with what happens to them."""
        for name, coefficient in linear_part(row).items():
            axis = self.arrays.axes.get((statement, name))
            if axis is not None:
                extent = max(self.arrays.extents[name], 1)
                trips = lg(extent / value) if value > 0 else 0.0
                roles = (float(role == 0), float(role == 1), float(role == 2))
                coefficient = coefficient if tile == 0 else round(coefficient)
                yield axis, (*roles, lg(coefficient), lg(value), trips, position / 4, lg(tile))

    # ------------------------------------------------------------------------------- loops, tags

    def _walk(
        self,
        nodes: Tree,
        depth: int,
        registers: dict[str, int],
        levels: dict[str, list[Record]],
        tags: dict[str, list[float]],
    ) -> None:
        for position, node in enumerate(nodes):
            if not isinstance(node, TreeLoop):
                continue
            if node.register is not None:
                registers = registers | dict(zip(node.register.loops, node.register.sizes, strict=True))
            register = registers.get(node.name, 0)
            below = _height(node)
            place = (depth, below, position, len(nodes), len(node.children), len(node.rows))
            marks = (node.tile, node.opaque, node.parallel, node.vector, node.unroll, node.packs, register)
            for statement, row in node.rows:
                key = (statement, row, place, marks)
                record = self._levels.get(key)
                if record is None:
                    record = self._level(statement, row, node, place, register)
                    self._levels[key] = record
                levels[statement].append(record)
            self._tag(node, depth, below, register, tags)
            self._walk(node.children, depth + 1, registers, levels, tags)

    def _level(self, statement: str, row: Affine, loop: TreeLoop, place: tuple[int, ...], register: int) -> Record:
        depth, below, position, siblings, children, statements = place
        parallel = loop.parallel
        packed = sum(self.arrays.buffers.get(mark.array, 0.0) for mark in loop.packs)
        features = (
            depth / 8,
            below / 8,
            position / 4,
            lg(siblings),
            lg(children),
            lg(statements),
            lg(loop.tile),
            float(loop.opaque),
            float(parallel is not None),
            float(parallel is not None and parallel.schedule == "dynamic"),
            lg(parallel.chunk) if parallel else 0.0,
            lg(parallel.collapse) if parallel else 0.0,
            float(loop.vector),
            lg(loop.unroll),
            float(loop.unroll == 0),
            lg(register),
            lg(len(loop.packs)),
            lg(packed),
        )
        return features, tuple(self._axes(statement, row, 2, loop.tile or register, 0, loop.tile))

    def _tag(self, loop: TreeLoop, depth: int, below: int, register: int, tags: dict[str, list[float]]) -> None:
        """Adds what a loop of the result says of the loops as written that it runs."""
        for name in dict.fromkeys(n for _, row in loop.rows for n in row.names() if n in self.arrays.loops):
            tag = tags.setdefault(name, list(_NO_TAGS))
            parallel = loop.parallel
            tag[0] = max(tag[0], float(parallel is not None))
            tag[1] = max(tag[1], float(parallel is not None and parallel.schedule == "dynamic"))
            tag[2] = max(tag[2], lg(parallel.collapse) if parallel else 0.0)
            tag[3] = max(tag[3], float(loop.vector))
            tag[4] = max(tag[4], lg(loop.unroll))
            tag[5] = max(tag[5], float(loop.unroll == 0))
            tag[6] = max(tag[6], lg(register))
            tag[7] += 0.25 * (loop.tile > 0)
            tag[8] = max(tag[8], lg(loop.tile))
            tag[9] = min(tag[9] or lg(loop.tile), lg(loop.tile)) if loop.tile else tag[9]
            tag[10] = min(tag[10], depth / 8)
            tag[11] = min(tag[11], below / 8)
            tag[12] += len(loop.packs) / 4
            tag[13] += 0.125


_NO_TAGS = (0.0,) * 10 + (1.0, 1.0, 0.0, 0.0)


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
class _Batch:
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


def _operands(step: Transformation) -> list[tuple[str, int, float, float]]:
    """Loops of a step: name, role (first, second, one of several), a number that belongs to it, its place."""
    match step:
        case Interchange() | Skew():
            return [(step.outer, 0, 0, 0), (step.inner, 1, 0, 0)]
        case Fuse():
            return [(step.first, 0, 0, 0), (step.second, 1, 0, 0)]
        case Tile() | RegisterBlock():
            both = zip(step.loops, step.sizes, strict=True)
            return [(name, 2, size, place) for place, (name, size) in enumerate(both)]
        case Unroll() | UnrollJam():
            return [(step.loop, 0, step.factor, 0)]
        case _:
            return [(step.loop, 0, 0, 0)]


def _step_features(step: Transformation, nest: NestArrays) -> Row:
    """All features of a step but the last, which says whether the statement is the one it names."""
    kind = [0.0] * len(_KIND)
    kind[_KIND[type(step)]] = 1.0
    numbers: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)
    match step:
        case Skew():
            numbers = (lg(step.factor), 0.0, 0.0, 0.0, 0.0)
        case Unroll() | UnrollJam():
            numbers = (lg(step.factor), float(step.factor == 0), 0.0, 0.0, 0.0)
        case Shift():
            numbers = (lg(step.amount.const), float(not step.amount.is_constant), 0.0, 0.0, 0.0)
        case Sink():
            numbers = (lg(step.at.const), float(not step.at.is_constant), 0.0, 0.0, 0.0)
        case Distribute():
            numbers = (step.position / 4, 0.0, 0.0, 0.0, 0.0)
        case Tile() | RegisterBlock():
            numbers = (lg(len(step.loops)), 0.0, lg(float(np.prod(step.sizes, dtype=np.float64))), 0.0, 0.0)
        case Parallelize():
            numbers = (lg(step.chunk), float(step.dynamic), lg(step.collapse), 0.0, 0.0)
        case Pack():
            inner = float(step.order[-1] != len(step.order) - 1)
            numbers = (lg(step.panel), inner, lg(len(step.order)), lg(nest.buffers.get(step.array, 0.0)), 1.0)
    return (*kind, *numbers)


def _height(loop: TreeLoop) -> int:
    """Loops on the longest path below."""
    return max((1 + _height(child) for child in loop.children if isinstance(child, TreeLoop)), default=0)


def _floats(rows: list[Row], width: int) -> Floats:
    return np.array(rows, np.float32).reshape(-1, width)


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, np.int64)
