"""Parallelize: a loop is marked `omp parallel for`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import Parallel, TreeLoop, replace_loop, tree_loops
from scheduler.transform.common import Tree, the_loop
from scheduler.transform.transfer import Counterpart, NoCounterpart, StepMatching


@dataclass(frozen=True, slots=True)
class Parallelize:
    """Marks a loop `omp parallel for`; `chunk` 0 is the runtime's default, `dynamic` 1 asks for dynamic scheduling."""

    keyword: ClassVar[str] = "parallelize"
    loop: str
    dynamic: int = 0
    chunk: int = 0
    collapse: int = 1

    def apply(self, tree: Tree) -> Tree:
        loop = the_loop(tree, self.loop)
        if self.dynamic not in (0, 1) or self.chunk < 0 or self.collapse < 1:
            raise NotApplicable("parallelize(loop, dynamic 0 or 1, chunk >= 0, collapse >= 1)")
        for outer in tree_loops(tree):
            below = any(inner.name == self.loop for inner in tree_loops(outer.children))
            if below and outer.parallel:
                raise NotApplicable(f"loop {outer.name} around it is parallel already")
        if any(inner.parallel for inner in tree_loops(loop.children)):
            raise NotApplicable("a loop inside is parallel already")
        inner = loop
        for _ in range(self.collapse - 1):
            if len(inner.children) != 1 or not isinstance(inner.children[0], TreeLoop):
                raise NotApplicable(f"loop {self.loop} has no {self.collapse} perfectly nested loops to collapse")
            inner = inner.children[0]
        mark = Parallel("dynamic" if self.dynamic else "static", self.chunk, self.collapse)
        return replace_loop(tree, self.loop, (replace(loop, parallel=mark),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Raises Unmatched, NoCounterpart where the target's loop has too little to do."""
        pair = matching.pair(self.loop)
        loop = inner = matching.loop(pair.target)
        if not matching.worth_threads(loop):
            raise NoCounterpart(f"{loop.name} has too little to do for {matching.threads} threads")
        depth = 1
        while len(inner.children) == 1 and isinstance(inner.children[0], TreeLoop):
            inner = inner.children[0]
            depth += 1
        collapse = max(1, min(self.collapse, depth))
        adapted = matching.grain(self, loop, collapse)
        return Counterpart((adapted,), (replace(self, loop=pair.target, collapse=collapse),), (pair,))

    def words(self) -> str:
        loops = f"loop {self.loop}" if self.collapse == 1 else f"loop {self.loop} and the {self.collapse - 1} below it"
        text = f"Share the iterations of {loops} among the threads"
        if self.dynamic:
            size = self.chunk or 1
            portions = "one by one" if size == 1 else f"in portions of {size}"
            return f"{text}, handed out {portions} as threads become free (omp parallel for, dynamic)."
        portions = f" in portions of {self.chunk}, by turns" if self.chunk else ""
        return f"{text}{portions} (omp parallel for)."
