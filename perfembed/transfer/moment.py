"""Where a transfer stands when one step of a donor is to be made the target's, and why that may not be possible."""

from __future__ import annotations

from dataclasses import dataclass

from perfembed.transfer.match import Matching, Pair
from perfembed.transfer.view import Path, Side, View
from scheduler.errors import SchedulerError
from scheduler.ir.tree import TreeLoop
from scheduler.moves.openmp_schedule import by_data
from scheduler.schedule import Schedule
from scheduler.transform import Transformation


class NoCounterpart(SchedulerError):
    """A step that has no equivalent on the target, and why."""


class Unmatched(NoCounterpart):
    """An operand of the step has no partner in the matching."""


class AlreadySo(SchedulerError):
    """A step whose effect the target has without it, and why."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A step of the donor (`rest` follow it) at the trees before it, with the matching of their nodes."""

    donor: Side
    target: Side
    ours: View
    theirs: View
    matching: Matching
    step: Transformation
    rest: Schedule

    def pair(self, loop: str) -> Pair:
        """Raises Unmatched."""
        found = self.matching.loops.get(loop)
        if found is None:
            raise Unmatched(f"no loop of the target stands for {loop}")
        return found

    def loop(self, name: str) -> TreeLoop:
        """A loop of the target. Raises NoCounterpart."""
        found = self.theirs.loop(name)
        if found is None:
            raise NoCounterpart(f"there is no loop {name}")
        return found

    def by_data(self, name: str) -> bool:
        """Whether data decide how long the iterations of a loop of the donor are."""
        found = self.ours.loop(name)
        return found is not None and by_data(self.donor.space, found)

    def common_path(self, *names: str) -> Path:
        """The target's path with most work on which all these loops stand. Raises NoCounterpart."""
        for path in self.theirs.paths:
            if set(names) <= {loop.name for loop in path.loops}:
                return path
        raise NoCounterpart(f"loops {', '.join(names)} are not inside each other")


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The step for the target: `adapted` parameters, and the donor's own (`literal`) on the same loops.

    `chain` are the loops that have to be perfectly nested, `innermost` whether that goes down to the statements.
    """

    adapted: Schedule
    literal: Schedule
    pairs: tuple[Pair, ...]
    chain: tuple[str, ...] = ()
    innermost: bool = False
    note: str = ""
