"""Unroll: the compiler is asked to repeat the body `factor` times (0: completely)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import replace_loop
from scheduler.transform.common import Tree, the_loop
from scheduler.transform.transfer import Counterpart, NoCounterpart, StepMatching

_MAX_COMPLETE = 16


@dataclass(frozen=True, slots=True)
class Unroll:
    """Asks the compiler to unroll a loop; factor 0 means completely."""

    keyword: ClassVar[str] = "unroll"
    loop: str
    factor: int

    def apply(self, tree: Tree) -> Tree:
        loop = the_loop(tree, self.loop)
        if self.factor < 0 or self.factor == 1 or self.factor > 64:
            raise NotApplicable("an unroll factor is 0 (completely) or 2 to 64")
        return replace_loop(tree, self.loop, (replace(loop, unroll=self.factor),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Raises Unmatched, NoCounterpart where there is nothing to unroll."""
        pair = matching.pair(self.loop)
        factor = fitting_factor(self.factor, matching.extent(matching.loop(pair.target)))
        if factor == 1:
            raise NoCounterpart(f"{pair.target} is too short to be unrolled")
        return Counterpart((Unroll(pair.target, factor),), (Unroll(pair.target, self.factor),), (pair,))

    def words(self) -> str:
        if self.factor == 0:
            return f"Unroll loop {self.loop} completely."
        return f"Unroll loop {self.loop} {self.factor} times, so that there are fewer branches."


def fitting_factor(factor: int, extent: int) -> int:
    """Completely only where that is short; 1 where there is nothing to unroll."""
    if factor == 0:
        return 0 if extent <= _MAX_COMPLETE else 4
    return fitting(factor, extent) if extent > 1 else 1


def fitting(size: int, extent: int) -> int:
    """`size`, or a smaller one that divides a short extent evenly."""
    if extent >= 4 * size or extent % size == 0:
        return size
    return next((s for s in range(min(size, extent), 1, -1) if extent % s == 0), min(size, max(extent, 1)))
