"""Sink: a node beside a loop moves into it, to the iteration where the loop's row equals `at`.

`for j { S; for k: T }` becomes `for j { for k { if (k == at) S; T } }`: what makes an imperfect nest
perfect, so that it can be tiled as a whole (Cholesky, LU). A loop moves whole: `for j: S; for i { for j: T }` becomes
`for i { if (i == at) for j: S; for j: T }`.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.errors import NotApplicable
from scheduler.ir.tree import statements_below
from scheduler.schedule import Sink
from scheduler.transform.common import Tree, siblings, the_loop, with_children


def apply(tree: Tree, step: Sink) -> Tree:
    loop = the_loop(tree, step.loop)
    parent, nodes, target = siblings(tree, step.loop)
    position = next((k for k in (target - 1, target + 1) if _holds(nodes, k, step.statement)), None)
    if position is None:
        raise NotApplicable(f"{step.statement} does not stand beside loop {step.loop}")
    moved = nodes[position]
    if loop.opaque or loop.register or loop.packs:
        raise NotApplicable(f"nothing can be sunk into loop {step.loop}")
    rows = tuple((s, step.at) for s in statements_below(moved))
    before = position < target
    merged = replace(
        loop,
        rows=(*rows, *loop.rows) if before else (*loop.rows, *rows),
        children=(moved, *loop.children) if before else (*loop.children, moved),
        vector=False,
    )
    low = min(position, target)
    return with_children(tree, parent, (*nodes[:low], merged, *nodes[low + 2 :]))


def _holds(nodes: Tree, position: int, statement: str) -> bool:
    return 0 <= position < len(nodes) and statement in statements_below(nodes[position])
