"""Whether the witness of an Illegal verdict is one, by arithmetic on two instances: no isl, no dependences.

A witness is two instances s, t of the nest for some parameters such that s runs before t in source order,
both touch one element of the array and one of them writes it, and the tree does not keep them apart:
t's time is not after s's, or their first difference in time is in a loop whose iterations run concurrently.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.errors import SchedulerError
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Constraint, Guard, Loop, LoopNest, Predicate
from scheduler.ir.tree import TreeLoop, TreeNode, path_to, tree_loops
from scheduler.ir.walk import AccessUse, Placed, placed_statements, uses
from scheduler.polyhedral.verdict import Illegal
from tests.doubles.interpret import InterpreterError, execution_order
from tests.generator import random_inputs

_SMALL = 8  # parameters up to this are also executed

Point = Mapping[str, int]


def witness_problem(nest: LoopNest, tree: tuple[TreeNode, ...], illegal: Illegal) -> str:
    """What is wrong with the witness; empty if nothing is."""
    placed = {p.statement.name: p for p in placed_statements(nest)}
    parameters = dict(illegal.parameters)
    if problem := _bad_parameters(nest, parameters):
        return problem
    source = _End(placed[illegal.source], dict(illegal.source_instance), parameters)
    sink = _End(placed[illegal.sink], dict(illegal.sink_instance), parameters)
    for end in (source, sink):
        if problem := _outside(end):
            return problem
    if not _before(source, sink, list(placed)):
        return f"{source} does not run before {sink} in the source"
    kind, _, array = illegal.dependence.partition(" ")[0], None, illegal.dependence.rpartition(" on ")[2]
    if not _same_element(source, sink, kind, array):
        return f"{source} and {sink} have no {kind} dependence on {array}"
    if problem := _kept_apart(tree, source, sink, illegal.loop):
        return problem
    return "" if illegal.loop else _executed_in_order(nest, tree, source, sink)


@dataclass(frozen=True, slots=True)
class _End:
    placed: Placed
    at: Point
    parameters: Point

    @property
    def name(self) -> str:
        return self.placed.statement.name

    @property
    def values(self) -> dict[str, int]:
        return {**self.parameters, **self.at}

    def __str__(self) -> str:
        values = [*self.at.items(), *self.parameters.items()]
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in values)})"


def _bad_parameters(nest: LoopNest, values: Point) -> str:
    for p in nest.parameters:
        value = values[p.name]
        if p.value not in (None, value) or (p.low or value) > value or (p.high is not None and p.high < value):
            return f"parameter {p.name} = {value} is out of its range"
    broken = [c for c in nest.assumptions if not _holds(c, values)]
    return f"the parameters break an assumption of the nest: {broken[0]}" if broken else ""


def _holds(constraint: Constraint, values: Point) -> bool:
    value = constraint.affine.evaluate(values)
    if constraint.kind == "mod":
        return value % constraint.modulus == 0
    return value == 0 if constraint.kind == "==" else value >= 0


def _outside(end: _End) -> str:
    """Why the instance is none of the statement's; what depends on data may hold."""
    values = end.values
    for ancestor in end.placed.ancestors:
        if isinstance(ancestor, Loop):
            if not _iterates(ancestor, values):
                return f"{end} is no iteration of loop {ancestor.name}"
        elif isinstance(ancestor, Guard):
            if not any(all(_holds(c, values) for c in conjunction) for conjunction in ancestor.condition):
                return f"{end} does not pass its guard"
        else:
            assert isinstance(ancestor, Predicate)
    return ""


def _iterates(loop: Loop, values: Point) -> bool:
    if not (isinstance(loop.start, tuple) and isinstance(loop.stop, tuple)):
        return True
    up, at = loop.step > 0, values[loop.name]
    start = (max if up else min)(a.evaluate(values) for a in loop.start)
    stop = (min if up else max)(a.evaluate(values) for a in loop.stop)
    return at in range(start, stop, loop.step)


def _before(source: _End, sink: _End, textual: list[str]) -> bool:
    for a, b in zip(source.placed.loops, sink.placed.loops, strict=False):
        if a.name != b.name:
            break
        first, second = source.at[a.name], sink.at[a.name]
        if first != second:
            return first < second if a.step > 0 else first > second
    return textual.index(source.name) < textual.index(sink.name)


def _same_element(source: _End, sink: _End, kind: str, array: str) -> bool:
    writes = {"flow": (True, False), "anti": (False, True), "output": (True, True)}[kind]
    ends = [
        [use for use in uses(end.placed) if use.access.array == array and use.is_write == write]
        for end, write in zip((source, sink), writes, strict=True)
    ]
    return any(_meet(a, source, b, sink) for a in ends[0] for b in ends[1])


def _meet(a: AccessUse, source: _End, b: AccessUse, sink: _End) -> bool:
    return all(
        x is None or y is None or x == y
        for x, y in zip(_element(a.access, source), _element(b.access, sink), strict=True)
    )


def _element(access: Access, end: _End) -> list[int | None]:
    return [s.evaluate(end.values) if isinstance(s, Affine) else None for s in access.subscripts]


def _kept_apart(tree: tuple[TreeNode, ...], source: _End, sink: _End, loop: str | None) -> str:
    """Why the tree runs the two one after the other; empty if it does not."""
    paths = [path_to(tree, end.name) for end in (source, sink)]
    times = [_time(path, end) for path, end in zip(paths, (source, sink), strict=True)]
    if loop is None:
        return "" if not times[0] < times[1] else f"{source} still runs before {sink}"
    for (p, node), (q, _) in zip(*paths, strict=False):
        if p != q or not isinstance(node, TreeLoop):
            break
        first, second = node.row(source.name).evaluate(source.values), node.row(sink.name).evaluate(sink.values)
        if node.name == loop:
            if loop not in concurrent_names(tree):
                return f"the iterations of loop {loop} do not run concurrently"
            return "" if first != second else f"{source} and {sink} are in one iteration of loop {loop}"
        if first != second:
            return f"{source} and {sink} are in different iterations of loop {node.name}, around loop {loop}"
    return f"loop {loop} is not around both {source} and {sink}"


def concurrent_names(tree: tuple[TreeNode, ...]) -> set[str]:
    """Loops that need not run in order: parallel (collapsed ones too), vector, in or right around a register block."""
    found: set[str] = set()
    for loop in tree_loops(tree):
        if loop.vector:
            found.add(loop.name)
        if loop.register:
            found.update(loop.register.loops)
        if any(isinstance(child, TreeLoop) and child.register for child in loop.children):
            found.add(loop.name)
        node: TreeNode = loop
        for _ in range(loop.parallel.collapse if loop.parallel else 0):
            if isinstance(node, TreeLoop):
                found.add(node.name)
                node = node.children[0]
    return found


def _time(path: tuple[tuple[int, TreeNode], ...], end: _End) -> tuple[int, ...]:
    parts: list[int] = []
    for position, node in path:
        parts.append(position)
        if isinstance(node, TreeLoop):
            parts.append(node.row(end.name).evaluate(end.values))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class _Order:
    nest: LoopNest
    tree: tuple[TreeNode, ...]


def _executed_in_order(nest: LoopNest, tree: tuple[TreeNode, ...], source: _End, sink: _End) -> str:
    """The same question asked of the interpreter, where the nest is small and depends on no data."""
    if any(isinstance(a, Predicate) or (isinstance(a, Loop) and a.is_opaque) for a in _ancestors(nest)):
        return ""
    parameters = source.parameters
    if any(value > _SMALL for value in parameters.values()):
        return ""
    try:
        arrays = random_inputs(nest, random.Random(0), parameters)
        order = execution_order(_Order(nest, tree), parameters, arrays)
    except (InterpreterError, SchedulerError):
        return ""  # instances at the same time: there is no order
    first, second = (order.index((end.name, dict(end.at))) for end in (source, sink))
    return "" if second < first else f"the interpreter runs {source} before {sink}"


def _ancestors(nest: LoopNest) -> list[Loop | Guard | Predicate]:
    return [a for p in placed_statements(nest) for a in p.ancestors]
