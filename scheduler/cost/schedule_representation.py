"""Schedules as the recursive LSTM sees them: for each statement the steps that touch it and the loops it ends up in.

After the papers, a transformation is a vector and a schedule a sequence of vectors per computation (LOOPer 4.3), and
loops carry tags (Tiramisu 4.1). Instead of fixed places for loop numbers a *record* (a step, or a loop of the
resulting tree) has operands: axes of the statement with a few numbers each, of any count. Everything that is equal in
several schedules of a nest is stored once: records, a statement's sequences (*plans*), and whole subtrees of the loop
tree with their tags (*nodes*). What the schedules of a search share is then computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from scheduler.cost.ranges import lg, linear_part
from scheduler.cost.schedule_arrays import (
    KINDS,
    Batch,
    LoopNode,
    NestArrays,
    Operand,
    Record,
    Row,
    ScheduleArrays,
    height_of,
)
from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, TreeNode, statements_below, tree_loops
from scheduler.schedule import Schedule
from scheduler.transform import (
    AosToSoa,
    Distribute,
    ForwardArray,
    Fuse,
    Interchange,
    Pack,
    Parallelize,
    RegisterBlock,
    Reschedule,
    Shift,
    Sink,
    Skew,
    Tile,
    Transformation,
    Unroll,
    UnrollJam,
)
from scheduler.transform.common import the_loop

_KIND = {kind: number for number, kind in enumerate(KINDS)}

Tree = tuple[TreeNode, ...]


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
        batch = Batch()
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

    def _node(self, batch: Batch, node: LoopNode | str, plans: dict[str, int], tags: dict[str, list[float]]) -> int:
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
            below = height_of(node)
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
        case Reschedule() | AosToSoa() | ForwardArray():
            return []
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
