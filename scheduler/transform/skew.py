"""Skew: the inner loop starts `factor` later in every iteration of the outer one.

`for t { for i: S(t, i) }` runs over (t, i + factor*t): dependences (1, -1) become (1, factor - 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import replace_loop
from scheduler.transform.common import Tree, chain, nest_chain, with_rows


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

    def words(self) -> str:
        times = "" if self.factor == 1 else f"{self.factor} times "
        return (
            f"Skew loop {self.inner} by {times}loop {self.outer}: it then runs along a diagonal, and dependences "
            "that pointed backwards point forwards."
        )
