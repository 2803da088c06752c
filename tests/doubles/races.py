"""Orders that parallel and vector loops allow, drawn at random: what a wrong mark would let happen."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import groupby
from typing import Literal as OneOf

from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, tree_loops


@dataclass(frozen=True, slots=True)
class Instance:
    """One execution of a statement; `time` is positions and rows in turn, from the root of the tree."""

    time: tuple[int, ...]
    statement: str
    iterators: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Event:
    """An instance runs; or it runs but holds its writes back; or the held-back writes become visible."""

    kind: OneOf["run", "hold", "commit"]
    instance: Instance


def racing_events(
    tree: tuple[TreeNode, ...],
    instances: list[Instance],
    rng: random.Random,
    reductions: frozenset[str] = frozenset(),
    in_order: frozenset[str] = frozenset(),
) -> list[Event]:
    """`instances` must be sorted by time. The loops of a register block are vector loops, too.

    `reductions`: statements that each thread or lane sums up on its own; they come in any order, but whole.
    `in_order`: parallel loops whose threads' results are put together as if their iterations had come in order.
    """
    blocks = {name for loop in tree_loops(tree) if loop.register for name in loop.register.loops}
    return _Racing(rng, frozenset(blocks), reductions, in_order).events(tree, instances, 0)


@dataclass(frozen=True, slots=True)
class _Racing:
    rng: random.Random
    blocks: frozenset[str]
    reductions: frozenset[str]
    in_order: frozenset[str]

    def events(self, nodes: tuple[TreeNode, ...], instances: list[Instance], level: int) -> list[Event]:
        """`level`: where in the time vectors the position among `nodes` stands."""
        events: list[Event] = []
        for position, group in groupby(instances, key=lambda i: i.time[level]):
            node = nodes[position]
            if isinstance(node, Leaf):
                events.extend(Event("run", instance) for instance in group)
            else:
                events.extend(self.loop(node, list(group), level))
        return events

    def loop(self, loop: TreeLoop, instances: list[Instance], level: int) -> list[Event]:
        rng = self.rng
        depth, inner = 1, loop
        while loop.parallel and depth < loop.parallel.collapse:
            below = inner.children[0]
            if not isinstance(below, TreeLoop) or len(inner.children) != 1:
                break  # as in code generation: no more loops than are perfectly nested
            depth, inner = depth + 1, below
        end = level + 2 * depth
        iterations = [list(g) for _, g in groupby(instances, key=lambda i: i.time[level + 1 : end])]
        vector = loop.vector or loop.name in self.blocks
        if vector and all(isinstance(child, Leaf) for child in loop.children) and rng.random() < 0.5:
            return _lockstep(iterations, end, rng, self.reductions)
        blocks = [self.events(inner.children, iteration, end) for iteration in iterations]
        if loop.name in self.in_order:
            return [event for block in blocks for event in block]
        if loop.parallel and rng.random() < 0.5:
            return _interleaved(blocks, rng, self.reductions)
        if loop.parallel or vector:
            if rng.random() < 0.5:
                rng.shuffle(blocks)
            else:
                blocks.reverse()
        return [event for block in blocks for event in block]


def _lockstep(iterations: list[list[Instance]], level: int, rng: random.Random, whole: frozenset[str]) -> list[Event]:
    """Each statement on a vector of iterations at once: all read before any writes."""
    width = rng.choice((2, 4, 8, len(iterations)))
    events: list[Event] = []
    for begin in range(0, len(iterations), width):
        lanes = [instance for lane in iterations[begin : begin + width] for instance in lane]
        lanes.sort(key=lambda instance: instance.time[level])
        for _, group in groupby(lanes, key=lambda instance: instance.time[level]):
            active = list(group)
            if active[0].statement in whole:
                events.extend(Event("run", instance) for instance in active)
                continue
            events.extend(Event("hold", instance) for instance in active)
            events.extend(Event("commit", instance) for instance in active)
    return events


def _interleaved(blocks: list[list[Event]], rng: random.Random, whole: frozenset[str]) -> list[Event]:
    """Threads take turns; a thread may stop between the reads and the writes of an instance."""
    queues = [list(reversed(_torn(block, whole))) for block in blocks if block]
    events: list[Event] = []
    while queues:
        index = rng.randrange(len(queues))
        for _ in range(rng.randint(1, 3)):
            if queues[index]:
                events.append(queues[index].pop())
        if not queues[index]:
            queues[index] = queues[-1]
            queues.pop()
    return events


def _torn(block: list[Event], whole: frozenset[str]) -> list[Event]:
    result: list[Event] = []
    for event in block:
        if event.kind == "run" and event.instance.statement not in whole:
            result += (Event("hold", event.instance), Event("commit", event.instance))
        else:
            result.append(event)
    return result
