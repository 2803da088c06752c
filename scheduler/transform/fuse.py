"""Fuse: two loops that stand side by side become one; its body is the first's, then the second's.

`for i {A} for j {B}` becomes `for i {A; B}`. Rows stay as they are: iterations with equal rows meet
(shift first to align them differently). The parts keep their own bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop
from scheduler.transform.common import Tree, siblings, the_loop, with_children
from scheduler.transform.transfer import Counterpart, StepMatching


@dataclass(frozen=True, slots=True)
class Fuse:
    """Merges a loop with its next sibling loop; the result has the first one's name."""

    keyword: ClassVar[str] = "fuse"
    first: str
    second: str

    def apply(self, tree: Tree) -> Tree:
        first, second = the_loop(tree, self.first), the_loop(tree, self.second)
        parent, nodes, position = siblings(tree, self.first)
        if position + 1 >= len(nodes) or nodes[position + 1] != second:
            raise NotApplicable(f"loop {self.second} does not follow loop {self.first} directly")
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

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Raises Unmatched."""
        pairs = matching.pair(self.first), matching.pair(self.second)
        found = (Fuse(pairs[0].target, pairs[1].target),)
        return Counterpart(found, found, pairs)

    def words(self) -> str:
        return (
            f"Merge loop {self.second} into loop {self.first} before it, so that what one computes is still near "
            "when the other needs it."
        )
