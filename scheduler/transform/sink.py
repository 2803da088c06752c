"""Sink: a node beside a loop moves into it, to the iteration where the loop's row equals `at`.

`for j { S; for k: T }` becomes `for j { for k { if (k == at) S; T } }`: what makes an imperfect nest
perfect, so that it can be tiled as a whole (Cholesky, LU). A loop moves whole: `for j: S; for i { for j: T }` becomes
`for i { if (i == at) for j: S; for j: T }`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.tree import statements_below
from scheduler.transform.common import Tree, siblings, the_loop, with_children
from scheduler.transform.transfer import Counterpart, StepMatching, over_target, statement_pair


@dataclass(frozen=True, slots=True)
class Sink:
    """Moves the node beside a loop that `statement` is or is in into it, to the iteration where the row equals `at`.

    `at` is affine over the iterators of the statements moved; they stand before the loop's own children when the
    node stood before the loop, else after them.
    """

    keyword: ClassVar[str] = "sink"
    statement: str
    loop: str
    at: Affine

    def apply(self, tree: Tree) -> Tree:
        loop = the_loop(tree, self.loop)
        parent, nodes, target = siblings(tree, self.loop)
        position = next((k for k in (target - 1, target + 1) if _holds(nodes, k, self.statement)), None)
        if position is None:
            raise NotApplicable(f"{self.statement} does not stand beside loop {self.loop}")
        moved = nodes[position]
        if loop.opaque or loop.register or loop.packs:
            raise NotApplicable(f"nothing can be sunk into loop {self.loop}")
        rows = tuple((s, self.at) for s in statements_below(moved))
        before = position < target
        merged = replace(
            loop,
            rows=(*rows, *loop.rows) if before else (*loop.rows, *rows),
            children=(moved, *loop.children) if before else (*loop.children, moved),
            vector=False,
        )
        low = min(position, target)
        return with_children(tree, parent, (*nodes[:low], merged, *nodes[low + 2 :]))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """Raises Unmatched, NoCounterpart."""
        pair, statement = matching.pair(self.loop), statement_pair(matching, self.statement)
        found = (Sink(statement.target, pair.target, over_target(matching, self.at)),)
        return Counterpart(found, found, (pair, statement))

    def words(self) -> str:
        return (
            f"Move statement {self.statement}, with the loops around it, from beside loop {self.loop} into it, to "
            f"the iteration {self.at}, so that the loops are perfectly nested."
        )


def _holds(nodes: Tree, position: int, statement: str) -> bool:
    return 0 <= position < len(nodes) and statement in statements_below(nodes[position])
