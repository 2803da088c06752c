"""Vectorize: an innermost loop is marked `omp simd`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, replace_loop
from scheduler.transform.common import Tree, the_loop
from scheduler.transform.transfer import Counterpart, StepMatching


@dataclass(frozen=True, slots=True)
class Vectorize:
    """Marks an innermost loop `omp simd`."""

    keyword: ClassVar[str] = "vectorize"
    loop: str

    def apply(self, tree: Tree) -> Tree:
        loop = the_loop(tree, self.loop)
        for child in loop.children:
            if isinstance(child, TreeLoop) and child.unroll != 0:
                raise NotApplicable(f"loop {self.loop} is not innermost")
        if loop.opaque:
            raise NotApplicable(f"loop {self.loop} has data-dependent bounds")
        return replace_loop(tree, self.loop, (replace(loop, vector=True),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Raises Unmatched."""
        pair = matching.pair(self.loop)
        found = (Vectorize(pair.target),)
        return Counterpart(found, found, (pair,))

    def words(self) -> str:
        return f"Run iterations of loop {self.loop} side by side in the lanes of a vector (omp simd)."
