"""OpenMP schedule kinds: iterations of a parallel loop in equal shares, or in portions as threads come free.

Equal shares cost nothing and keep to a thread what it had before; portions even out iterations that differ in length.
Nests that run among other threads get the parallel region, or one thread, that they need (`fitted`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, TreeNode, tree_loops
from scheduler.moves.space import Space
from scheduler.moves.trip_counts import PORTION
from scheduler.replay import Replayer
from scheduler.schedule import Schedule
from scheduler.transform import Parallelize


def fitted(replayer: Replayer, schedule: Schedule, context: str) -> Schedule:
    """The schedule for a nest that `context` runs (`scheduler.frontend.model.Sharing`).

    A `team` shares all that there is: the outermost loops that may run in parallel where none is marked yet. One
    `thread` of several starts no others.
    """
    if context == "thread":
        return tuple(step for step in schedule if not isinstance(step, Parallelize))
    if context != "team":
        return schedule
    try:
        tree = replayer.tree(schedule)
        checker = replayer.of(schedule).checker
    except NotApplicable:
        return schedule
    sequential = checker.sequential_loops(tree, reductions=True)
    return (*schedule, *(Parallelize(name) for name in _outermost(tree, frozenset(sequential))))


def _outermost(nodes: Iterable[TreeNode], sequential: frozenset[str]) -> Iterator[str]:
    """The outermost loops that may run in parallel, of those that are not marked yet."""
    for loop in (node for node in nodes if isinstance(node, TreeLoop) and not node.parallel):
        inner = any(below.parallel for below in tree_loops((loop,)))
        if not inner and loop.name not in sequential and loop.register is None:
            yield loop.name
        else:
            yield from _outermost(loop.children, sequential)


def steady(schedule: Schedule, context: str) -> Schedule:
    """In a `team`, whose threads go on to the next loop: each iteration by the same thread in every run of the loop.

    What one loop of a region leaves in a thread's cache the next one reads. A nest that is measured alone does not
    show that: handed out as threads become free, it would be faster by itself and, now and then, slower in its region.
    """
    if context != "team":
        return schedule
    return tuple(replace(s, dynamic=0) if isinstance(s, Parallelize) and s.dynamic else s for s in schedule)


def by_data(space: Space, loop: TreeLoop) -> bool:
    """Whether data decide how often some loop below goes round, and so how long its iterations are."""
    placed = space.replayer.model.placed
    return any(inner.is_opaque for statement, _ in loop.rows for inner in placed[statement].loops)


def other_deals(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    """Where data decide, nobody knows what evens out: in equal shares, and in smaller portions."""
    tree = {loop.name: loop for loop in tree_loops(space.replayer.tree(schedule))}
    parallel = {s.loop for s in schedule if isinstance(s, Parallelize) and s.dynamic} & tree.keys()
    marked = {name for name in parallel if by_data(space, tree[name])}
    for dynamic, chunk in ((0, 0), (1, PORTION), (1, 1)) if marked else ():
        dealt = tuple(
            replace(s, dynamic=dynamic, chunk=chunk) if isinstance(s, Parallelize) and s.loop in marked else s
            for s in schedule
        )
        if dealt != schedule:
            yield dealt
