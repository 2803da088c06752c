"""Stream: an array that an innermost loop runs along is written past the caches.

The mark changes when elements reach the memory, not what is computed: code is made of it only where nothing else in
the loop touches the array (`scheduler.codegen.emit.nontemporal_stores`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.tree import TreeLoop, replace_loop
from scheduler.transform.common import Tree, the_loop
from scheduler.transform.transfer import Counterpart, NoCounterpart, StepMatching


@dataclass(frozen=True, slots=True)
class Stream:
    """Writes an array past the caches in an innermost loop that runs along it (non-temporal stores)."""

    keyword: ClassVar[str] = "stream"
    loop: str
    array: str

    def apply(self, tree: Tree) -> Tree:
        loop = the_loop(tree, self.loop)
        if any(isinstance(child, TreeLoop) for child in loop.children):
            raise NotApplicable(f"loop {self.loop} is not innermost")
        if loop.opaque or loop.tile:
            raise NotApplicable(f"loop {self.loop} runs over data or blocks")
        if self.array in loop.streams:
            raise NotApplicable(f"array {self.array} is streamed in loop {self.loop} already")
        return replace_loop(tree, self.loop, (replace(loop, streams=(*loop.streams, self.array)),))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Whatever the target's loop can write past the caches of its machine. Raises Unmatched, NoCounterpart."""
        pair = matching.pair(self.loop)
        found = tuple(Stream(pair.target, array) for array in matching.streamable(matching.loop(pair.target)))
        if not found:
            raise NoCounterpart(f"nothing that {pair.target} writes is better kept out of the caches")
        return Counterpart(found, found, (pair,), innermost=True)

    def words(self) -> str:
        return (
            f"Write array {self.array} past the caches in loop {self.loop} (non-temporal stores), so that its "
            "lines are not read before they are overwritten."
        )
