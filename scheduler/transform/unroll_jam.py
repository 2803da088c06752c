"""Unroll-and-jam: `factor` iterations of an outer loop run together inside the innermost loop.

`for i { for j {…} }` becomes `for i_u by factor { for j { for i in block (unrolled) {…} } }`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, replace_loop
from scheduler.transform.common import Tree, nest_chain, the_loop
from scheduler.transform.tile import tile_loop
from scheduler.transform.transfer import Counterpart, NoCounterpart, StepMatching
from scheduler.transform.unroll import fitting_factor


@dataclass(frozen=True, slots=True)
class UnrollJam:
    """Unrolls an outer loop and jams the copies into the innermost loop."""

    keyword: ClassVar[str] = "unroll_jam"
    loop: str
    factor: int

    def apply(self, tree: Tree) -> Tree:
        if not 2 <= self.factor <= 64:
            raise NotApplicable("an unroll-and-jam factor is 2 to 64")
        top = the_loop(tree, self.loop)
        inner: list[TreeLoop] = []
        body = top.children
        while len(body) == 1 and isinstance(body[0], TreeLoop):
            inner.append(body[0])
            body = body[0].children
        if not inner:
            raise NotApplicable(f"loop {self.loop} has no loop inside to jam into")
        if any(isinstance(node, TreeLoop) for node in body):
            raise NotApplicable(f"the loops inside {self.loop} are not perfectly nested")
        if top.register or any(loop.register for loop in inner):
            raise NotApplicable("unroll-and-jam before register blocking")
        blocks = tile_loop(tree, top, self.factor, "u", frozenset())
        copies = replace(top, parallel=None, vector=False, unroll=0)
        return replace_loop(tree, self.loop, (nest_chain((blocks, *inner, copies), body),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Raises Unmatched, NoCounterpart where there is nothing to unroll."""
        pair = matching.pair(self.loop)
        factor = fitting_factor(self.factor, matching.extent(matching.loop(pair.target)))
        if factor < 2:
            raise NoCounterpart(f"{pair.target} is too short to be unrolled and jammed")
        made = (UnrollJam(pair.target, factor),), (UnrollJam(pair.target, self.factor),)
        return Counterpart(*made, (pair,), (pair.target,), True)

    def words(self) -> str:
        return (
            f"Unroll loop {self.loop} {self.factor} times and put the copies together in the innermost loop, so "
            "that they share what they load."
        )
