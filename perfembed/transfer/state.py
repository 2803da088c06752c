"""Where a transfer stands when one step of a donor is to be made the target's: both nests, and their nodes matched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from perfembed.transfer import adapt
from perfembed.transfer.assignment import distances
from perfembed.transfer.match import Matching
from perfembed.transfer.view import Path, Side, View
from scheduler.computed.streams import streamable
from scheduler.ir.tree import TreeLoop, find_loop
from scheduler.ir.walk import AccessUse
from scheduler.moves.dealing import by_data
from scheduler.schedule import Schedule
from scheduler.transform import NEST_STEPS, Parallelize, Transformation
from scheduler.transform.common import Tree
from scheduler.transform.transfer import Counterpart, NoCounterpart, Pair, Unmatched


@dataclass(frozen=True, slots=True)
class TransferState:
    """A step of the donor (`rest` follow it) at the trees before it, with the matching of their nodes.

    It is the `StepMatching` that transformations are carried over through.
    """

    donor: Side
    target: Side
    ours: View
    theirs: View
    matching: Matching
    step: Transformation
    rest: Schedule

    def counterpart(self) -> Counterpart:
        """The step for the target. Raises SchedulerError: NoCounterpart, AlreadySo, NotApplicable."""
        if isinstance(self.step, NEST_STEPS):
            raise NoCounterpart(f"what {self.step.keyword} does is not carried over to other nests")
        return self.step.transfer(self)

    @property
    def loops(self) -> Mapping[str, Pair]:
        return self.matching.loops

    @property
    def statements(self) -> Mapping[str, Pair]:
        return self.matching.statements

    @property
    def donor_tree(self) -> Tree:
        return self.ours.tree

    @property
    def target_tree(self) -> Tree:
        return self.theirs.tree

    def pair(self, loop: str) -> Pair:
        found = self.loops.get(loop)
        if found is None:
            raise Unmatched(f"no loop of the target stands for {loop}")
        return found

    def loop(self, name: str) -> TreeLoop:
        found = find_loop(self.theirs.tree, name)
        if found is None:
            raise NoCounterpart(f"there is no loop {name}")
        return found

    def common_path(self, *names: str) -> Path:
        """The target's path with most work on which all these loops stand. Raises NoCounterpart."""
        for path in self.theirs.paths:
            if set(names) <= {loop.name for loop in path.loops}:
                return path
        raise NoCounterpart(f"loops {', '.join(names)} are not inside each other")

    def order(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(loop.name for loop in self.common_path(*names).loops if loop.name in names)

    def beside(self, statement: str) -> tuple[str, ...]:
        return next((path.statements for path in self.theirs.paths if statement in path.statements), ())

    def donor_uses(self, statement: str) -> Sequence[AccessUse]:
        return self.donor.replayer.model.uses(statement)

    def target_uses(self, statement: str) -> Sequence[AccessUse]:
        return self.target.replayer.model.uses(statement)

    def array_distance(self, donor: str, target: str) -> float:
        return float(distances((donor,), (target,), self.ours.arrays, self.theirs.arrays)[0, 0])

    def extent(self, loop: TreeLoop) -> int:
        return self.target.extent(loop)

    @property
    def threads(self) -> int:
        return self.target.machine.threads

    def worth_threads(self, loop: TreeLoop) -> bool:
        path = self.theirs.path_of(loop.name)
        return path is not None and self.target.worth_threads(path, loop)

    def writes_along(self, loop: TreeLoop) -> bool:
        return self.target.writes_along(loop)

    def streamable(self, loop: TreeLoop) -> tuple[str, ...]:
        return streamable(self.target.space, loop)

    def tile_sizes(
        self, given: Mapping[str, int], wanted: Mapping[str, int], waves: bool, split: Collection[str]
    ) -> Mapping[str, int]:
        return adapt.tile_sizes(self.donor, self.ours, given, self.target, self.theirs, wanted, waves, split)

    def register_sizes(
        self, sizes: Sequence[int], vector_bytes: int, loops: Sequence[TreeLoop]
    ) -> tuple[tuple[int, ...], int]:
        block = adapt.register_block(self.donor, self.target, sizes, vector_bytes, loops)
        return block.sizes, block.vector_bytes

    def grain(self, step: Parallelize, loop: TreeLoop, collapse: int) -> Parallelize:
        donor = find_loop(self.ours.tree, step.loop)
        of_data = donor is not None and by_data(self.donor.space, donor)
        return adapt.parallel_grain(self.target, loop, step, loop.name, collapse, of_data)
