"""Maximal fission: every loop is split wherever the dependences allow (Trümper et al. 2024, a-priori normalization)."""

from __future__ import annotations

from scheduler.ir.tree import tree_loops
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Distribute, Schedule


def maximal_fission(replayer: Replayer, schedule: Schedule = ()) -> Schedule:
    """The schedule extended by every legal split, outer loops first, until none is left."""
    rejected: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
    while True:
        step = _next_split(replayer, schedule, rejected)
        if step is None:
            return schedule
        schedule = (*schedule, step)


def _next_split(
    replayer: Replayer, schedule: Schedule, rejected: set[tuple[tuple[str, ...], tuple[str, ...]]]
) -> Distribute | None:
    for loop in tree_loops(replayer.tree(schedule)):
        for position in range(1, len(loop.children)):
            statements = tuple(s for s, _ in loop.rows)
            parts = (statements, (loop.name, str(position)))
            if parts in rejected:
                continue
            step = Distribute(loop.name, position)
            if isinstance(replayer.replay((*schedule, step)), ScheduledNest):
                return step
            rejected.add(parts)
    return None
