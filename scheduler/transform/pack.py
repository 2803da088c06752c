"""Pack: the block of an array read inside a loop is copied to a small contiguous buffer first (as in BLIS)."""

from __future__ import annotations

from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import PackMark, replace_loop
from scheduler.schedule import Pack
from scheduler.transform.common import Tree, the_loop


def apply(tree: Tree, step: Pack) -> Tree:
    loop = the_loop(tree, step.loop)
    if sorted(step.order) != list(range(len(step.order))) or not step.order:
        raise NotApplicable("the order of a packed buffer is a permutation of the array's dimensions")
    if step.panel and not (0 <= step.panel_dim < len(step.order) and 2 <= step.panel <= 64):
        raise NotApplicable("a panel has 2 to 64 elements of one of the array's dimensions")
    if any(mark.array == step.array for mark in loop.packs):
        raise NotApplicable(f"array {step.array} is packed at loop {step.loop} already")
    mark = PackMark(step.array, step.order, step.panel_dim if step.panel else -1, step.panel)
    return replace_loop(tree, step.loop, (replace(loop, packs=(*loop.packs, mark)),))
