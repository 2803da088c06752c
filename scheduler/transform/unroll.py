"""Unroll: the compiler is asked to repeat the body `factor` times (0: completely)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import replace_loop
from scheduler.transform.common import Tree, the_loop


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

    def words(self) -> str:
        if self.factor == 0:
            return f"Unroll loop {self.loop} completely."
        return f"Unroll loop {self.loop} {self.factor} times, so that there are fewer branches."
