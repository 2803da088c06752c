"""Parallelize: a loop is marked `omp parallel for`."""

from __future__ import annotations

from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import Parallel, TreeLoop, replace_loop, tree_loops
from scheduler.schedule import Parallelize
from scheduler.transform.common import Tree, the_loop


def apply(tree: Tree, step: Parallelize) -> Tree:
    loop = the_loop(tree, step.loop)
    if step.dynamic not in (0, 1) or step.chunk < 0 or step.collapse < 1:
        raise NotApplicable("parallelize(loop, dynamic 0 or 1, chunk >= 0, collapse >= 1)")
    for outer in tree_loops(tree):
        below = any(inner.name == step.loop for inner in tree_loops(outer.children))
        if below and outer.parallel:
            raise NotApplicable(f"loop {outer.name} around it is parallel already")
    if any(inner.parallel for inner in tree_loops(loop.children)):
        raise NotApplicable("a loop inside is parallel already")
    inner = loop
    for _ in range(step.collapse - 1):
        if len(inner.children) != 1 or not isinstance(inner.children[0], TreeLoop):
            raise NotApplicable(f"loop {step.loop} has no {step.collapse} perfectly nested loops to collapse")
        inner = inner.children[0]
    mark = Parallel("dynamic" if step.dynamic else "static", step.chunk, step.collapse)
    return replace_loop(tree, step.loop, (replace(loop, parallel=mark),))
