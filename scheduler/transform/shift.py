"""Shift: one statement of a loop runs `amount` iterations later (Pluto's retiming)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.tree import replace_loop
from scheduler.transform.common import Tree, the_loop, with_rows


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

    def words(self) -> str:
        return f"Delay statement {self.statement} by {self.amount} iterations of loop {self.loop}."
