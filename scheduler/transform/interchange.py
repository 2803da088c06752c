"""Interchange: `for i { for j {…} }` becomes `for j { for i {…} }` (Halide and TVM `reorder`)."""

from __future__ import annotations

from scheduler.ir.tree import replace_loop
from scheduler.schedule import Interchange
from scheduler.transform.common import Tree, chain, nest_chain


def apply(tree: Tree, step: Interchange) -> Tree:
    """Swaps the two loops in their chain; loops between keep their places."""
    loops = chain(tree, step.outer, step.inner)
    body = loops[-1].children
    swapped = (loops[-1], *loops[1:-1], loops[0]) if len(loops) > 1 else loops
    return replace_loop(tree, step.outer, (nest_chain(swapped, body),))
