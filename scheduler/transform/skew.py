"""Skew: the inner loop starts `factor` later in every iteration of the outer one.

`for t { for i: S(t, i) }` runs over (t, i + factor*t): dependences (1, -1) become (1, factor - 1).
"""

from __future__ import annotations

from scheduler.errors import NotApplicable
from scheduler.ir.tree import replace_loop
from scheduler.schedule import Skew
from scheduler.transform.common import Tree, chain, nest_chain, with_rows


def apply(tree: Tree, step: Skew) -> Tree:
    if step.factor == 0 or step.outer == step.inner:
        raise NotApplicable("skewing needs two loops and a factor other than 0")
    loops = chain(tree, step.outer, step.inner)
    outer = dict(loops[0].rows)
    skewed = with_rows(loops[-1], lambda statement, row: row + outer[statement] * step.factor)
    return replace_loop(tree, step.outer, (nest_chain((*loops[:-1], skewed), loops[-1].children),))
