"""Pack: the block of an array read inside a loop is copied to a small contiguous buffer first (as in BLIS)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import PackMark, replace_loop
from scheduler.transform.common import Tree, the_loop


@dataclass(frozen=True, slots=True)
class Pack:
    """Copies the block of an array read below `loop` to a local buffer, dimensions in `order`.

    With `panel` > 0 dimension `panel_dim` is split in panels that become innermost (BLIS packing).
    """

    keyword: ClassVar[str] = "pack"
    loop: str
    array: str
    order: tuple[int, ...]
    panel_dim: int = -1
    panel: int = 0

    def apply(self, tree: Tree) -> Tree:
        loop = the_loop(tree, self.loop)
        if sorted(self.order) != list(range(len(self.order))) or not self.order:
            raise NotApplicable("the order of a packed buffer is a permutation of the array's dimensions")
        if self.panel and not (0 <= self.panel_dim < len(self.order) and 2 <= self.panel <= 64):
            raise NotApplicable("a panel has 2 to 64 elements of one of the array's dimensions")
        if any(mark.array == self.array for mark in loop.packs):
            raise NotApplicable(f"array {self.array} is packed at loop {self.loop} already")
        mark = PackMark(self.array, self.order, self.panel_dim if self.panel else -1, self.panel)
        return replace_loop(tree, self.loop, (replace(loop, packs=(*loop.packs, mark)),))

    def words(self) -> str:
        panels = f", in panels of {self.panel} that stand one behind the other" if self.panel > 0 else ""
        return (
            f"Below loop {self.loop} copy the part of array {self.array} that is used to a buffer in the order in "
            f"which it is read{panels}."
        )
