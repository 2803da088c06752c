"""Split: a loop of the nest becomes two, one behind the other, before and from a place on (index-set splitting).

`for k { for i in [k + 1, n): S }` split at `64*floor(k/64) + 64` becomes `for k { for i in [k + 1, min(n, at)): S;
for i_s in [max(k + 1, at), n): S_s }`: what does not depend on the block that k is in stands on its own, and may be
moved and blocked in ways that the rest may not (the blocked forms of triangular factorizations).
Source: Griebl, Feautrier and Lengauer 2000 (index set splitting), IJPP 28(6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Loop, LoopNest, Node, Statement, Storage
from scheduler.ir.rename import renamed_nodes
from scheduler.ir.walk import loops, placed_statements
from scheduler.polyhedral.model import Model
from scheduler.transform.common import Tree


@dataclass(frozen=True, slots=True)
class Split:
    """Cuts a loop of the nest in two at an affine place: iterations before `at`, and from there on (those named `_s`).

    Splits stand before all other steps: they change the nest that these are for.
    """

    keyword: ClassVar[str] = "split"
    loop: str
    at: Affine

    def apply(self, tree: Tree) -> Tree:
        raise NotApplicable("a split stands before all other steps")

    def cut(self, model: Model) -> LoopNest:
        """The nest with the loop in two; private arrays are expanded already. Raises NotApplicable.

        The second part's loops and statements have names that end in `_s`.
        """
        nest = model.nest
        chain = _chain(nest.body, self.loop)
        if not chain:
            raise NotApplicable(f"there is no loop {self.loop}")
        loop = chain[-1]
        if not (isinstance(loop.start, tuple) and isinstance(loop.stop, tuple)) or loop.step != 1:
            raise NotApplicable(f"loop {loop.name} has data-dependent bounds or a step other than 1")
        known = {outer.name for outer in chain[:-1]} | {p.name for p in nest.parameters}
        if unknown := sorted(self.at.names() - known):
            raise NotApplicable(f"{', '.join(unknown)} does not stand around loop {loop.name}")
        inside = {x.name for x in loops(replace(nest, body=(loop,)))}
        if any(a.storage is Storage.PRIVATE and a.scope in inside for a in nest.arrays):
            raise NotApplicable(f"loop {loop.name} has private data of its own")
        first = replace(loop, stop=(*loop.stop, self.at))
        names = _fresh({*inside, *(p.statement.name for p in placed_statements(replace(nest, body=(loop,))))}, nest)
        (second,) = renamed_nodes((replace(loop, start=(*loop.start, self.at)),), names)
        return replace(nest, body=_exchanged(nest.body, loop.name, (first, second)))

    def words(self) -> str:
        return (
            f"Cut loop {self.loop} in two at {self.at}: the iterations before it, and those from there on, whose "
            f"loops are called {self.loop}_s and so on, so that each part can be treated by itself."
        )


def _chain(nodes: tuple[Node, ...], name: str) -> tuple[Loop, ...]:
    """The loops down to the one of that name; empty where there is none."""
    for node in nodes:
        if isinstance(node, Statement):
            continue
        own = (node,) if isinstance(node, Loop) else ()
        if own and own[0].name == name:
            return own
        below = _chain(node.body, name)
        if below:
            return (*own, *below)
    return ()


def _fresh(names: set[str], nest: LoopNest) -> Mapping[str, str]:
    taken = {x.name for x in loops(nest)} | {p.name for p in nest.parameters} | {a.name for a in nest.arrays}
    taken |= {p.statement.name for p in placed_statements(nest)}
    found: dict[str, str] = {}
    for name in sorted(names):
        new, number = f"{name}_s", 2
        while new in taken:
            new, number = f"{name}_s{number}", number + 1
        taken.add(new)
        found[name] = new
    return found


def _exchanged(nodes: tuple[Node, ...], name: str, new: tuple[Node, ...]) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop) and node.name == name:
            found += new
        else:
            found.append(node if isinstance(node, Statement) else replace(node, body=_exchanged(node.body, name, new)))
    return tuple(found)
