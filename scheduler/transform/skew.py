"""Skew: the inner loop starts `factor` later in every iteration of the outer one.

`for t { for i: S(t, i) }` runs over (t, i + factor*t): dependences (1, -1) become (1, factor - 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import find_loop, replace_loop
from scheduler.transform.common import Tree, chain, nest_chain, with_rows
from scheduler.transform.transfer import Counterpart, NoCounterpart, StepMatching


@dataclass(frozen=True, slots=True)
class Skew:
    """Adds `factor` * outer to the inner loop's row: i, j becomes i, j + factor*i."""

    keyword: ClassVar[str] = "skew"
    outer: str
    inner: str
    factor: int

    def apply(self, tree: Tree) -> Tree:
        if self.factor == 0 or self.outer == self.inner:
            raise NotApplicable("skewing needs two loops and a factor other than 0")
        loops = chain(tree, self.outer, self.inner)
        outer = dict(loops[0].rows)
        skewed = with_rows(loops[-1], lambda statement, row: row + outer[statement] * self.factor)
        return replace_loop(tree, self.outer, (nest_chain((*loops[:-1], skewed), loops[-1].children),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Tile loops are skewed as steeply, in iterations, as the donor's. Raises Unmatched, NoCounterpart."""
        pairs = matching.pair(self.outer), matching.pair(self.inner)
        names = (pairs[0].target, pairs[1].target)
        if matching.order(names) != names:
            raise NoCounterpart(f"{names[1]} is not inside {names[0]}")
        ours = tuple(loop.tile if (loop := find_loop(matching.donor_tree, n)) else 0 for n in (self.outer, self.inner))
        theirs = tuple(matching.loop(n).tile for n in names)
        factor = self.factor
        if factor > 0 and all((*ours, *theirs)):
            factor = wavefront_factor(factor, (ours[0], ours[1]), (theirs[0], theirs[1]))
        return Counterpart((Skew(*names, factor),), (Skew(*names, self.factor),), pairs, names)

    def words(self) -> str:
        times = "" if self.factor == 1 else f"{self.factor} times "
        return (
            f"Skew loop {self.inner} by {times}loop {self.outer}: it then runs along a diagonal, and dependences "
            "that pointed backwards point forwards."
        )


def wavefront_factor(factor: int, donor: tuple[int, int], target: tuple[int, int]) -> int:
    """The skew of tile loops (outer, inner sizes) that is as steep, in iterations, as the donor's."""
    steepness = factor * donor[0] / max(donor[1], 1)
    return max(1, math.ceil(steepness * target[1] / max(target[0], 1) - 1e-9))
