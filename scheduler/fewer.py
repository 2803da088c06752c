"""A nest that makes fewer iterations: the same loops, cut short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Bound, Guard, Loop, LoopNest, Node, Predicate, Statement
from scheduler.ir.walk import placed_statements


def fewer_iterations(nest: LoopNest, parameters: Mapping[str, int], most: Mapping[str, int]) -> LoopNest:
    """The nest for these parameters with at most so many iterations of each loop named, where its stop is known.

    Every loop keeps its first iterations, so that the nest accesses nothing it did not access before: each stop that
    does not depend on iterators becomes a number. Loops whose stop depends on iterators or data are shorter where those
    around them are.
    """

    def cut(node: Node) -> Node:
        match node:
            case Statement():
                return node
            case Guard() | Predicate():
                return replace(node, body=tuple(map(cut, node.body)))
            case Loop():
                short = _stop(node, parameters, most[node.name]) if node.name in most else node.stop
                return replace(node, stop=short, body=tuple(map(cut, node.body)))

    return replace(nest, body=tuple(map(cut, nest.body)))


def _stop(loop: Loop, parameters: Mapping[str, int], most: int) -> Bound:
    stop = _value(loop.stop, parameters, loop.step)
    if stop is None:
        return loop.stop
    start = _value(loop.start, parameters, -loop.step)
    if start is not None:
        reach = start + most * loop.step
    elif loop.step > 0:
        reach = most * loop.step  # it begins at other iterators, which are cut to about as many
    else:
        return loop.stop
    return (Affine.constant(min(stop, reach) if loop.step > 0 else max(stop, reach)),)


def _value(bound: Bound, parameters: Mapping[str, int], direction: int) -> int | None:
    """The number a bound is, if it depends on parameters alone: the least of several, or the greatest."""
    if not isinstance(bound, tuple) or any(not part.names() <= parameters.keys() for part in bound):
        return None
    values = [part.evaluate(parameters) for part in bound]
    return min(values) if direction > 0 else max(values)


def largest_work(nest: LoopNest, most: Mapping[str, int]) -> int:
    """Statement instances at most, where every loop makes as many iterations as it may."""
    total = 0
    for placed in placed_statements(nest):
        count = 1
        for loop in placed.loops:
            count *= max(1, most.get(loop.name, 1))
        total += count
    return total
