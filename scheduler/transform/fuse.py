"""Fuse: two loops that stand side by side become one; its body is the first's, then the second's.

`for i {A} for j {B}` becomes `for i {A; B}`. Rows stay as they are: iterations with equal rows meet
(shift first to align them differently). The parts keep their own bounds.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop
from scheduler.schedule import Fuse
from scheduler.transform.common import Tree, siblings, the_loop, with_children


def apply(tree: Tree, step: Fuse) -> Tree:
    first, second = the_loop(tree, step.first), the_loop(tree, step.second)
    parent, nodes, position = siblings(tree, step.first)
    if position + 1 >= len(nodes) or nodes[position + 1] != second:
        raise NotApplicable(f"loop {step.second} does not follow loop {step.first} directly")
    if first.opaque or second.opaque:
        raise NotApplicable("a loop with data-dependent bounds cannot be fused")
    if first.tile != second.tile:
        raise NotApplicable("a tile loop can only be fused with one of the same size")
    for loop in (first, second):
        if loop.register or loop.packs:
            raise NotApplicable("fuse before register blocking and packing")
    fused = TreeLoop(
        first.name,
        (*first.rows, *second.rows),
        (*first.children, *second.children),
        first.origin,
        tile=first.tile,
        parallel=first.parallel,
        vector=False,
    )
    return with_children(tree, parent, (*nodes[:position], replace(fused), *nodes[position + 2 :]))
