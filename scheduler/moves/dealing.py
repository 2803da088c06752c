"""How the iterations of a parallel loop are dealt out to threads: in equal shares, or in portions as threads come free.

Equal shares cost nothing and keep to a thread what it had before; portions even out iterations that differ in length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scheduler.ir.tree import TreeLoop, tree_loops
from scheduler.moves.space import Space
from scheduler.moves.trip_counts import PORTION
from scheduler.schedule import Schedule
from scheduler.transform import Parallelize


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
