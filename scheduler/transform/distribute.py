"""Distribute (fission): `for i {A; B}` becomes `for i {A} for i_d {B}`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, replace_loop, statements_below
from scheduler.transform.common import Tree, fresh_name, the_loop


@dataclass(frozen=True, slots=True)
class Distribute:
    """Splits a loop before its child number `position`; the second part's loops get names ending in `_d`."""

    keyword: ClassVar[str] = "distribute"
    loop: str
    position: int

    def apply(self, tree: Tree) -> Tree:
        loop = the_loop(tree, self.loop)
        if not 0 < self.position < len(loop.children):
            raise NotApplicable(f"loop {self.loop} has {len(loop.children)} parts: no split at {self.position}")
        if loop.packs or loop.register:
            raise NotApplicable("distribute before register blocking and packing")

        def part(name: str, children: Tree) -> TreeLoop:
            inside = {s for child in children for s in statements_below(child)}
            return replace(loop, name=name, children=children, rows=tuple(r for r in loop.rows if r[0] in inside))

        first = part(loop.name, loop.children[: self.position])
        second = part(fresh_name(tree, f"{loop.origin}_d"), loop.children[self.position :])
        return replace_loop(tree, self.loop, (first, second))

    def words(self) -> str:
        return (
            f"Split the body of loop {self.loop} behind its first {parts(self.position)}: the rest gets a loop of "
            "its own, whose name ends in _d, and each can be treated by itself."
        )


def parts(count: int) -> str:
    return "part" if count == 1 else f"{count} parts"
