"""The reference interpreter: slow, exact, and the oracle of the tests.

`interpret` runs a nest in source order. `interpret_scheduled` lists every statement instance, sorts them by the
time map of the schedule's tree and runs them in that order, on request with the freedoms parallel and vector
loops have.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from scheduler.ir.arithmetic import InterpreterError
from scheduler.ir.nest import Bound, Guard, Loop, LoopNest, Node, Predicate, Statement
from scheduler.ir.tree import TreeLoop, TreeNode, path_to
from scheduler.ir.walk import bound_reads, loops, placed_statements, reads, uses
from tests.doubles.machine import Execute, Key, Machine
from tests.doubles.races import Event, Instance, racing_events

__all__ = ["InterpreterError", "Scheduled", "execution_order", "interpret", "interpret_scheduled"]

Arrays = Mapping[str, np.ndarray[Any, Any]]


class Scheduled(Protocol):
    """What is needed of a `scheduler.replay.ScheduledNest`."""

    @property
    def nest(self) -> LoopNest: ...
    @property
    def tree(self) -> tuple[TreeNode, ...]: ...


def interpret(nest: LoopNest, parameters: Mapping[str, int], arrays: Arrays) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays (all but PRIVATE ones) after the nest, run in source order. Scalars have shape ().

    A PRIVATE array loses its values where an iteration of its scope begins; reading one it does not have raises
    InterpreterError, as does an index out of bounds.
    """
    machine = Machine(nest, parameters, arrays)
    with np.errstate(all="ignore"):
        _SourceOrder(machine, execute=True).run()
    return machine.results()


def interpret_scheduled(
    scheduled: Scheduled,
    parameters: Mapping[str, int],
    arrays: Arrays,
    *,
    parallel_order: random.Random | None = None,
    reductions: frozenset[str] = frozenset(),
    in_order: frozenset[str] = frozenset(),
) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays after the nest, run in the order of the tree.

    `parallel_order` draws an order of the iterations of loops marked parallel or vector, interleaved and with
    torn read-modify-writes (not of the statements in `reductions`, nor in the loops `in_order`): results that
    depend on it show a wrong mark. PRIVATE arrays are ordinary storage, with NaN or garbage where nothing was written.
    """
    instances = _instances_by_time(scheduled, parameters, arrays)
    if parallel_order is None:
        events = [Event("run", instance) for instance in instances]
    else:
        events = racing_events(scheduled.tree, instances, parallel_order, reductions, in_order)
    machine = Machine(scheduled.nest, parameters, arrays)
    machine.poison_privates()
    with np.errstate(all="ignore"):
        _execute(machine, events)
    return machine.results()


def execution_order(
    scheduled: Scheduled, parameters: Mapping[str, int], arrays: Arrays
) -> list[tuple[str, dict[str, int]]]:
    """(statement, iterator values) of every instance, in the order of the tree."""
    return [(i.statement, dict(i.iterators)) for i in _instances_by_time(scheduled, parameters, arrays)]


# ---------------------------------------------------------------------------------- source order


@dataclass(slots=True)
class _SourceOrder:
    """Runs the nest, or (without `execute`) only walks its loops; `found` collects the instances either way.

    Instances under a false predicate are found too: a schedule may evaluate the predicate elsewhere.
    """

    machine: Machine
    execute: bool
    found: list[tuple[str, tuple[tuple[str, int], ...]]] = field(default_factory=list)

    def run(self) -> None:
        self.sequence(self.machine.nest.body, ())(True)

    def sequence(self, nodes: tuple[Node, ...], around: tuple[str, ...]) -> Callable[[bool], None]:
        parts = [self.node(node, around) for node in nodes]

        def run(live: bool) -> None:
            for part in parts:
                part(live)

        return run

    def node(self, node: Node, around: tuple[str, ...]) -> Callable[[bool], None]:
        if isinstance(node, Statement):
            return self.statement(node, around)
        if isinstance(node, Loop):
            return self.loop(node, around)
        body = self.sequence(node.body, around)
        if isinstance(node, Guard):
            holds = _guard(self.machine, node)
            return lambda live: body(live) if holds() else None
        condition = self.machine.expr(node.condition)
        return lambda live: body(live and condition() != 0)

    def statement(self, node: Statement, around: tuple[str, ...]) -> Callable[[bool], None]:
        run, values, found = self.machine.actions(node.body), self.machine.values, self.found

        def visit(live: bool) -> None:
            found.append((node.name, tuple([(name, values[name]) for name in around])))
            if live and self.execute:
                run()

        return visit

    def loop(self, node: Loop, around: tuple[str, ...]) -> Callable[[bool], None]:
        machine, name, step = self.machine, node.name, node.step
        start, stop = _bound(machine, node.start, max if step > 0 else min), _bound(machine, node.stop, min)
        if step < 0:
            stop = _bound(machine, node.stop, max)
        body = self.sequence(node.body, (*around, name))
        own = [s for s in machine.storage.values() if s.array.scope == name and not s.array.expanded]

        def run(live: bool) -> None:
            try:
                iterations = range(start(), stop(), step)
            except InterpreterError:
                if live or not node.is_opaque:
                    raise
                return  # the bounds of a loop that does not run
            for value in iterations:
                machine.values[name] = value
                for storage in own:
                    storage.values.clear()
                body(live)
            machine.values.pop(name, None)

        return run


def _bound(machine: Machine, bound: Bound, choose: Callable[[list[int]], int]) -> Callable[[], int]:
    if not isinstance(bound, tuple):
        return machine.integer(bound)
    parts = [machine.affine(a) for a in bound]
    if len(parts) == 1:
        return parts[0]
    return lambda: choose([part() for part in parts])


def _guard(machine: Machine, guard: Guard) -> Callable[[], bool]:
    alternatives = [[machine.constraint(c) for c in conjunction] for conjunction in guard.condition]
    return lambda: any(all(c() for c in conjunction) for conjunction in alternatives)


# ------------------------------------------------------------------------------- scheduled order


def _domain_depends_on_run(nest: LoopNest) -> bool:
    """Whether the nest writes something its opaque bounds or predicates read."""
    deciding: set[str] = set()
    written: set[str] = set()
    for placed in placed_statements(nest):
        written |= {use.access.array for use in uses(placed) if use.is_write}
        for ancestor in placed.ancestors:
            if isinstance(ancestor, Predicate):
                deciding |= {use.access.array for use in reads(ancestor.condition)}
    for loop in loops(nest):
        deciding |= {use.access.array for use in bound_reads(loop)}
    return bool(deciding & written)


def _instances_by_time(scheduled: Scheduled, parameters: Mapping[str, int], arrays: Arrays) -> list[Instance]:
    """Every instance of the nest in the order of the tree. Raises InterpreterError if two share a time."""
    machine = Machine(scheduled.nest, parameters, arrays)
    # Bounds and predicates that read what the nest writes have their values in a real run only.
    source = _SourceOrder(machine, execute=_domain_depends_on_run(scheduled.nest))
    with np.errstate(all="ignore"):
        source.run()
    time_maps = {
        p.statement.name: _time_map(machine, scheduled.tree, p.statement.name)
        for p in placed_statements(scheduled.nest)
    }
    instances: list[Instance] = []
    for statement, iterators in source.found:
        machine.values.update(iterators)
        instances.append(Instance(time_maps[statement](), statement, iterators))
    instances.sort(key=lambda instance: instance.time)
    for first, second in pairwise(instances):
        if first.time == second.time:
            raise InterpreterError(f"{first} and {second} run at the same time")
    return instances


def _time_map(machine: Machine, tree: tuple[TreeNode, ...], statement: str) -> Callable[[], Key]:
    parts: list[Callable[[], int]] = []
    for position, node in path_to(tree, statement):
        parts.append(lambda position=position: position)  # type: ignore[misc]
        if isinstance(node, TreeLoop):
            parts.append(machine.affine(node.row(statement)))
    return lambda: tuple([part() for part in parts])


def _execute(machine: Machine, events: list[Event]) -> None:
    run: dict[str, Execute] = {}
    for placed in placed_statements(machine.nest):
        conditions = [machine.expr(a.condition) for a in placed.ancestors if isinstance(a, Predicate)]
        actions = machine.actions(placed.statement.body)
        run[placed.statement.name] = _conditional(conditions, actions) if conditions else actions
    held: dict[Instance, Any] = {}
    for event in events:
        instance = event.instance
        if event.kind == "commit":
            machine.pending = held.pop(instance)
            machine.commit()
            continue
        machine.values.update(instance.iterators)
        if event.kind == "hold":
            machine.pending = {}
            run[instance.statement]()
            held[instance], machine.pending = machine.pending, None
        else:
            run[instance.statement]()


def _conditional(conditions: list[Callable[[], Any]], actions: Execute) -> Callable[[], None]:
    def run() -> None:
        if all(condition() != 0 for condition in conditions):
            actions()

    return run
