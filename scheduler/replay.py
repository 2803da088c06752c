"""(nest, schedule) -> ScheduledNest | Illegal: applies the transformations one by one, then checks the result."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.ir.nest import LoopNest
from scheduler.ir.tree import TreeNode
from scheduler.schedule import Schedule


@dataclass(frozen=True, slots=True)
class ScheduledNest:
    """A nest with the loop tree a schedule gave it.

    `contracted` says, for each PRIVATE array with expanded dimensions that need not be stored, the tree
    loop inside whose body it is declared without them (None: at the top of the nest).
    """

    nest: LoopNest
    tree: tuple[TreeNode, ...]
    schedule: Schedule = ()
    contracted: tuple[tuple[str, str | None], ...] = ()
