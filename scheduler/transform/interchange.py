"""Interchange: `for i { for j {…} }` becomes `for j { for i {…} }` (Halide and TVM `reorder`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduler.ir.tree import replace_loop
from scheduler.transform.common import Tree, chain, nest_chain
from scheduler.transform.transfer import AlreadySo, Counterpart, StepMatching


@dataclass(frozen=True, slots=True)
class Interchange:
    """Swaps two loops of a perfectly nested chain (Halide `reorder`, TVM `reorder`, Pluto permutation)."""

    keyword: ClassVar[str] = "interchange"
    outer: str
    inner: str

    def apply(self, tree: Tree) -> Tree:
        """Swaps the two loops in their chain; loops between keep their places."""
        loops = chain(tree, self.outer, self.inner)
        body = loops[-1].children
        swapped = (loops[-1], *loops[1:-1], loops[0]) if len(loops) > 1 else loops
        return replace_loop(tree, self.outer, (nest_chain(swapped, body),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Raises Unmatched, NoCounterpart, AlreadySo."""
        pairs = matching.pair(self.outer), matching.pair(self.inner)
        wanted = (pairs[0].target, pairs[1].target)
        if matching.order(wanted) != wanted:
            raise AlreadySo(f"{wanted[1]} is outside {wanted[0]} already")
        found = (Interchange(*wanted),)
        return Counterpart(found, found, pairs, wanted)

    def words(self) -> str:
        return f"Swap loops {self.outer} and {self.inner}, so that {self.inner} runs outside {self.outer}."
