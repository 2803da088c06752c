"""Maximal fission: every loop is split wherever the dependences allow (Trümper et al. 2024, a-priori normalization)."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.ir.tree import TreeLoop, tree_loops
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import Distribute


def maximal_fission(
    replayer: Replayer, schedule: Schedule = (), only: Callable[[TreeLoop], bool] = lambda loop: True
) -> Schedule:
    """The schedule extended by every legal split of the loops `only` accepts, outer loops first."""
    rejected: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
    while True:
        step = _next_split(replayer, schedule, rejected, only)
        if step is None:
            return schedule
        schedule = (*schedule, step)


def _next_split(
    replayer: Replayer,
    schedule: Schedule,
    rejected: set[tuple[tuple[str, ...], tuple[str, ...]]],
    only: Callable[[TreeLoop], bool],
) -> Distribute | None:
    for loop in filter(only, tree_loops(replayer.tree(schedule))):
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
