"""Distribute (fission): `for i {A; B}` becomes `for i {A} for i_d {B}`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, find_loop, replace_loop, statements_below
from scheduler.transform.common import Tree, fresh_name, the_loop
from scheduler.transform.transfer import AlreadySo, Counterpart, NoCounterpart, StepMatching


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

    def transfer(self, matching: StepMatching) -> Counterpart:
        """The split of the target's loop that divides the matched statements most like the donor's.

        Raises Unmatched, NoCounterpart, AlreadySo.
        """
        pair = matching.pair(self.loop)
        ours, theirs = find_loop(matching.donor_tree, self.loop), matching.loop(pair.target)
        if len(theirs.children) < 2:
            raise AlreadySo(f"{pair.target} has nothing to be split from")
        if ours is None or not 0 < self.position < len(ours.children):
            raise NoCounterpart("the donor's loop cannot be split there")
        before = {s for child in ours.children[: self.position] for s in statements_below(child)}
        partners = {p.target: p.donor for p in matching.statements.values()}

        def differing(position: int) -> tuple[int, int]:
            wrong = 0
            for k, child in enumerate(theirs.children):
                known = [partners[s] for s in statements_below(child) if s in partners]
                wrong += sum((s in before) != (k < position) for s in known)
            return wrong, abs(position - self.position)

        found = (Distribute(pair.target, min(range(1, len(theirs.children)), key=differing)),)
        return Counterpart(found, found, (pair,))

    def words(self) -> str:
        return (
            f"Split the body of loop {self.loop} behind its first {parts(self.position)}: the rest gets a loop of "
            "its own, whose name ends in _d, and each can be treated by itself."
        )


def parts(count: int) -> str:
    return "part" if count == 1 else f"{count} parts"
