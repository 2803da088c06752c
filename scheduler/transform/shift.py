"""Shift: one statement of a loop runs `amount` iterations later (Pluto's retiming)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, replace_loop
from scheduler.transform.common import Tree, siblings, the_loop, with_rows
from scheduler.transform.fuse import Fuse
from scheduler.transform.transfer import Counterpart, NoCounterpart, StepMatching, over_target, statement_pair


@dataclass(frozen=True, slots=True)
class Shift:
    """Delays one statement in a loop by `amount` iterations (an affine expression of parameters)."""

    keyword: ClassVar[str] = "shift"
    loop: str
    statement: str
    amount: Affine

    def apply(self, tree: Tree) -> Tree:
        loop = the_loop(tree, self.loop)
        if self.statement not in dict(loop.rows):
            raise NotApplicable(f"statement {self.statement} is not in loop {self.loop}")
        shifted = with_rows(loop, lambda s, row: row + self.amount if s == self.statement else row)
        return replace_loop(tree, self.loop, (shifted,))

    def transfer(self, matching: StepMatching) -> Counterpart:
        """All statements that stand with the donor's counterpart are delayed together.

        Raises Unmatched, NoCounterpart.
        """
        pair, statement = matching.pair(self.loop), statement_pair(matching, self.statement)
        self._check_fusible(matching)
        inside = dict(matching.loop(pair.target).rows)
        amount = over_target(matching, self.amount)
        found = tuple(Shift(pair.target, s, amount) for s in matching.beside(statement.target) if s in inside)
        if not found:
            raise NoCounterpart(f"{statement.target} is not in {pair.target}")
        return Counterpart(found, found, (pair, statement))

    def _check_fusible(self, matching: StepMatching) -> None:
        """A delay before fusing is of use only where there is something to be fused. Raises NoCounterpart."""
        fuses = (x for x in matching.rest if isinstance(x, Fuse) and self.loop in (x.first, x.second))
        later = next(fuses, None)
        if later is None:
            return
        first, second = matching.pair(later.first).target, matching.pair(later.second).target
        beside = siblings(matching.target_tree, first)[1]
        if not any(isinstance(node, TreeLoop) and node.name == second for node in beside):
            raise NoCounterpart(f"{first} and {second} do not stand side by side, to be fused")

    def words(self) -> str:
        return f"Delay statement {self.statement} by {self.amount} iterations of loop {self.loop}."
