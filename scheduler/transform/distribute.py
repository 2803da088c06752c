"""Distribute (fission): `for i {A; B}` becomes `for i {A} for i_d {B}`."""

from __future__ import annotations

from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, replace_loop, statements_below
from scheduler.schedule import Distribute
from scheduler.transform.common import Tree, fresh_name, the_loop


def apply(tree: Tree, step: Distribute) -> Tree:
    loop = the_loop(tree, step.loop)
    if not 0 < step.position < len(loop.children):
        raise NotApplicable(f"loop {step.loop} has {len(loop.children)} parts: no split at {step.position}")
    if loop.packs or loop.register:
        raise NotApplicable("distribute before register blocking and packing")

    def part(name: str, children: Tree) -> TreeLoop:
        inside = {s for child in children for s in statements_below(child)}
        return replace(loop, name=name, children=children, rows=tuple(r for r in loop.rows if r[0] in inside))

    first = part(loop.name, loop.children[: step.position])
    second = part(fresh_name(tree, f"{loop.origin}_d"), loop.children[step.position :])
    return replace_loop(tree, step.loop, (first, second))
