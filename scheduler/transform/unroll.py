"""Unroll: the compiler is asked to repeat the body `factor` times (0: completely)."""

from __future__ import annotations

from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import replace_loop
from scheduler.schedule import Unroll
from scheduler.transform.common import Tree, the_loop


def apply(tree: Tree, step: Unroll) -> Tree:
    loop = the_loop(tree, step.loop)
    if step.factor < 0 or step.factor == 1 or step.factor > 64:
        raise NotApplicable("an unroll factor is 0 (completely) or 2 to 64")
    return replace_loop(tree, step.loop, (replace(loop, unroll=step.factor),))
