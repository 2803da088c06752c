"""Whether private storage may be declared where replay says: one element for one iteration, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.ir.affine import Affine
from scheduler.ir.tree import TreeLoop, path_to
from scheduler.ir.walk import placed_statements, uses
from scheduler.replay import ScheduledNest
from tests.campaigns.legality.subject import Run
from tests.doubles.interpret import execution_order


def privates_problem(scheduled: ScheduledNest, run: Run) -> str:
    """Looks at every access of a run; empty if arrays that are not stored whole are used as declared there."""
    windows = {window.array: window for window in scheduled.windows}
    wanted = {name: loop for name, loop in scheduled.contracted if loop is not None}
    wanted |= {window.array: window.loop for window in scheduled.windows}
    if not wanted:
        return ""
    placed = {p.statement.name: p for p in placed_statements(scheduled.nest)}
    accesses = {
        name: [
            (use.access.array, use.access.subscripts[: scheduled.nest.array(use.access.array).expanded])
            for use in uses(place)
            if use.access.array in wanted
        ]
        for name, place in placed.items()
    }
    copy_of: dict[tuple[str, tuple[int, ...]], tuple[int, ...]] = {}
    owner_of: dict[tuple[str, tuple[int, ...]], tuple[int, ...]] = {}
    for statement, iterators in execution_order(scheduled, run.parameters, run.arrays):
        values = {**run.parameters, **iterators}
        for array, subscripts in accesses[statement]:
            added = tuple(s.evaluate(values) for s in subscripts if isinstance(s, Affine))
            rows = tuple(_rows(scheduled, statement, wanted[array], values))
            if array in windows:
                window = windows[array]
                slot = added[window.dimension] - window.offset.evaluate(run.parameters)
                slot -= _row(scheduled, statement, window.tile).evaluate(values)
                if not 0 <= slot < window.size:
                    return f"{array}{added} is at place {slot} of {window.size} in iteration {rows} of {window.loop}"
                rows = (*rows, slot)
            if copy_of.setdefault((array, rows), added) != added:
                return f"one iteration {rows} of {wanted[array]} uses {array}{copy_of[array, rows]} and {array}{added}"
            if owner_of.setdefault((array, added), rows) != rows:
                return f"{array}{added} is used in iterations {owner_of[array, added]} and {rows} of {wanted[array]}"
    return ""


def _row(scheduled: ScheduledNest, statement: str, loop: str) -> Affine:
    path = (node for _, node in path_to(scheduled.tree, statement) if isinstance(node, TreeLoop))
    return next(node.row(statement) for node in path if node.name == loop)


def _rows(scheduled: ScheduledNest, statement: str, loop: str, values: dict[str, int]) -> Iterator[int]:
    """Positions and rows down to an iteration of the loop."""
    for position, node in path_to(scheduled.tree, statement):
        yield position
        assert isinstance(node, TreeLoop), f"{statement} is not in loop {loop}"
        yield node.row(statement).evaluate(values)
        if node.name == loop:
            return
