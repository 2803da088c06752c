"""Unroll-and-jam: `factor` iterations of an outer loop run together inside the innermost loop.

`for i { for j {…} }` becomes `for i_u by factor { for j { for i in block (unrolled) {…} } }`.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, replace_loop
from scheduler.schedule import UnrollJam
from scheduler.transform.common import Tree, nest_chain, the_loop
from scheduler.transform.tile import tile_loop


def apply(tree: Tree, step: UnrollJam) -> Tree:
    if not 2 <= step.factor <= 64:
        raise NotApplicable("an unroll-and-jam factor is 2 to 64")
    top = the_loop(tree, step.loop)
    inner: list[TreeLoop] = []
    body = top.children
    while len(body) == 1 and isinstance(body[0], TreeLoop):
        inner.append(body[0])
        body = body[0].children
    if not inner:
        raise NotApplicable(f"loop {step.loop} has no loop inside to jam into")
    if any(isinstance(node, TreeLoop) for node in body):
        raise NotApplicable(f"the loops inside {step.loop} are not perfectly nested")
    if top.register or any(loop.register for loop in inner):
        raise NotApplicable("unroll-and-jam before register blocking")
    blocks = tile_loop(tree, top, step.factor, "u", frozenset())
    copies = replace(top, parallel=None, vector=False, unroll=0)
    return replace_loop(tree, step.loop, (nest_chain((blocks, *inner, copies), body),))
