"""Reverse: `for (i = 0; i < n; i++)` becomes `for (i = n - 1; i >= 0; i--)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduler.ir.tree import replace_loop
from scheduler.transform.common import Tree, the_loop, with_rows
from scheduler.transform.transfer import Counterpart, StepMatching


@dataclass(frozen=True, slots=True)
class Reverse:
    """Runs a loop backwards."""

    keyword: ClassVar[str] = "reverse"
    loop: str

    def apply(self, tree: Tree) -> Tree:
        return replace_loop(tree, self.loop, (with_rows(the_loop(tree, self.loop), lambda _, row: -row),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Raises Unmatched."""
        pair = matching.pair(self.loop)
        found = (Reverse(pair.target),)
        return Counterpart(found, found, (pair,))

    def words(self) -> str:
        return f"Run loop {self.loop} backwards."
