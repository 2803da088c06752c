"""Shift: one statement of a loop runs `amount` iterations later (Pluto's retiming)."""

from __future__ import annotations

from scheduler.errors import NotApplicable
from scheduler.ir.tree import replace_loop
from scheduler.schedule import Shift
from scheduler.transform.common import Tree, the_loop, with_rows


def apply(tree: Tree, step: Shift) -> Tree:
    loop = the_loop(tree, step.loop)
    if step.statement not in dict(loop.rows):
        raise NotApplicable(f"statement {step.statement} is not in loop {step.loop}")
    shifted = with_rows(loop, lambda s, row: row + step.amount if s == step.statement else row)
    return replace_loop(tree, step.loop, (shifted,))
