"""Whether a nest has a loop whose iterations may run at the same time."""

from __future__ import annotations

from scheduler.errors import SchedulerError
from scheduler.ir.nest import LoopNest
from scheduler.ir.tree import tree_loops
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.transform import Parallelize


def any_parallel(nest: LoopNest) -> bool:
    """False also where that is too hard to find out."""
    try:
        replayer = Replayer(nest)
        loops = tree_loops(replayer.tree(()))
        return any(isinstance(replayer.replay((Parallelize(loop.name),)), ScheduledNest) for loop in loops)
    except (SchedulerError, QuotaExceeded):
        return False
