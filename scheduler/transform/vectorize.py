"""Vectorize: an innermost loop is marked `omp simd`."""

from __future__ import annotations

from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, replace_loop
from scheduler.schedule import Vectorize
from scheduler.transform.common import Tree, the_loop


def apply(tree: Tree, step: Vectorize) -> Tree:
    loop = the_loop(tree, step.loop)
    for child in loop.children:
        if isinstance(child, TreeLoop) and child.unroll != 0:
            raise NotApplicable(f"loop {step.loop} is not innermost")
    if loop.opaque:
        raise NotApplicable(f"loop {step.loop} has data-dependent bounds")
    return replace_loop(tree, step.loop, (replace(loop, vector=True),))
