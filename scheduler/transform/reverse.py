"""Reverse: `for (i = 0; i < n; i++)` becomes `for (i = n - 1; i >= 0; i--)`."""

from __future__ import annotations

from scheduler.ir.tree import replace_loop
from scheduler.schedule import Reverse
from scheduler.transform.common import Tree, the_loop, with_rows


def apply(tree: Tree, step: Reverse) -> Tree:
    return replace_loop(tree, step.loop, (with_rows(the_loop(tree, step.loop), lambda _, row: -row),))
