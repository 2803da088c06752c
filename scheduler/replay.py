"""(nest, schedule) -> ScheduledNest | Illegal | …: applies the transformations one by one, then checks the result."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Union

from scheduler.errors import NotApplicable
from scheduler.ir.nest import LoopNest
from scheduler.ir.tree import TreeLoop, TreeNode, tree_loops
from scheduler.normalize.accumulators import accumulators
from scheduler.normalize.scalars import expand_privates
from scheduler.polyhedral.contraction import Contractor, Window, undetermined_bound
from scheduler.polyhedral.dependences import Dependence, compute_dependences
from scheduler.polyhedral.legality import Checker, Reassociate
from scheduler.polyhedral.model import Model, QuotaExceeded
from scheduler.polyhedral.verdict import Illegal, Legal, Unknown
from scheduler.schedule import Schedule, format_transformation, nest_steps
from scheduler.transform import NEST_STEPS, ForwardArray, NestStep, Reschedule, Shift, Sink
from scheduler.transform.common import the_loop
from scheduler.transform.initial import initial_tree
from scheduler.transform.reschedule import rank


@dataclass(frozen=True, slots=True)
class ScheduledNest:
    """A nest with the loop tree a schedule gave it; where the schedule changes the nest itself, as that leaves it.

    `contracted` says, for each PRIVATE array with expanded dimensions that need not be stored, the tree
    loop inside whose body it is declared without them (None: at the top of the nest), `windows` those of which a block
    of elements is enough. `reductions` are
    (loop, statement, array) triples: the loop runs concurrently and each of its threads or lanes updates something of
    its own in place of the array.
    """

    nest: LoopNest
    tree: tuple[TreeNode, ...]
    schedule: Schedule = ()
    contracted: tuple[tuple[str, str | None], ...] = ()
    windows: tuple[Window, ...] = ()
    reductions: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A step's own preconditions do not hold (`step` counts from 0), or the result cannot be expressed."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class LegalityOptions:
    """What schedules of a nest may change beyond what is proved: the order of reductions, and by the user's word what
    data alone could make a dependence between iterations of the loops `independent`.
    """

    reassociate: Reassociate = False
    independent: frozenset[str] = frozenset()

    def replayer(self, nest: LoopNest) -> Replayer:
        """Raises QuotaExceeded."""
        return Replayer(nest, self.reassociate, self.independent)


Replayed = Union[ScheduledNest, Illegal, Unknown, Refused]  # noqa: UP007


class Replayer:
    """Replays schedules on one nest. Private arrays are expanded first: `nest` is the expanded one.

    Iterations of the loops `independent` do not depend on each other by the user's word, where that cannot be seen.
    Raises QuotaExceeded from the constructor when the dependences are too hard to compute.
    """

    def __init__(
        self, nest: LoopNest, reassociate: Reassociate = False, independent: frozenset[str] = frozenset()
    ) -> None:
        self.nest = expand_privates(nest)
        self.model = Model(self.nest)
        written = initial_tree(self.nest)
        found = compute_dependences(self.model)
        self.dependences: tuple[Dependence, ...] = _trusting(self.model, found, written, independent)
        self.checker = Checker(self.model, self.dependences, reassociate)
        self.contractor = Contractor(self.model)
        self._trees: dict[Schedule, tuple[TreeNode, ...]] = {(): written}
        self._reassociate = reassociate
        self.independent = independent
        self._cut: dict[NestStep, Replayer] = {}

    def of(self, schedule: Schedule) -> Replayer:
        """The replayer of the nest that the first steps of a schedule leave (`NEST_STEPS`), for the steps behind them.

        Raises NotApplicable, QuotaExceeded.
        """
        replayer = self
        for step in nest_steps(schedule):
            if step not in replayer._cut:
                replayer._cut[step] = Replayer(step.cut(replayer.model), self._reassociate, self.independent)
            replayer = replayer._cut[step]
        return replayer

    def eliminations(self) -> Schedule:
        """The steps after which the nest has no private array that it can do without; none where what is left is too
        hard to analyse."""
        steps = tuple(ForwardArray(array) for array in accumulators(self.nest))
        with contextlib.suppress(QuotaExceeded):
            self.of(steps)
            return steps
        return ()

    def tree(self, schedule: Schedule) -> tuple[TreeNode, ...]:
        """The tree a schedule gives, whether legal or not. Raises NotApplicable."""
        if schedule and isinstance(schedule[0], NEST_STEPS):
            return self.of(schedule).tree(schedule[len(nest_steps(schedule)) :])
        known = self._trees.get(schedule)
        if known is None:
            step = schedule[-1]
            known = step.apply(self.tree(schedule[:-1]))
            if isinstance(step, Sink | Shift):
                self._know_names(the_loop(known, step.loop))
            if isinstance(step, Reschedule):
                for loop in tree_loops(known):
                    self._know_names(loop)
                self._separates(step)
            self._trees[schedule] = known
        return known

    def _know_names(self, loop: TreeLoop) -> None:
        """Raises NotApplicable where a row is made of what a statement does not have."""
        parameters = {p.name for p in self.nest.parameters}
        for statement, row in loop.rows:
            if unknown := sorted(row.names() - parameters - set(self.model.iterators(statement))):
                raise NotApplicable(f"statement {statement} knows no {', '.join(unknown)}")

    def _separates(self, step: Reschedule) -> None:
        """Raises NotApplicable where instances of a statement would run at one time."""
        for one in step.maps:
            iterators = self.model.iterators(one.statement)
            matrix = [[row.coefficient(name) for name in iterators] for row in one.rows]
            if not all(row.is_linear for row in one.rows):
                raise NotApplicable(f"the rows of statement {one.statement} must be without divisions")
            if rank(matrix) < len(iterators):
                raise NotApplicable(f"iterations of statement {one.statement} would run at the same time")

    def replay(self, schedule: Schedule) -> Replayed:
        """Applies the steps and checks the result as a whole."""
        if schedule and isinstance(schedule[0], NEST_STEPS):
            return self._replay_cut(schedule)
        for count in range(1, len(schedule) + 1) if schedule not in self._trees else ():
            try:
                self.tree(schedule[:count])
            except NotApplicable as error:
                return Refused(count - 1, f"{format_transformation(schedule[count - 1])}: {error}")
        return self.check(self.tree(schedule), schedule)

    def _replay_cut(self, schedule: Schedule) -> Replayed:
        count = len(nest_steps(schedule))
        for position in range(count):
            try:
                self.of(schedule[: position + 1])
            except NotApplicable as error:
                return Refused(position, f"{format_transformation(schedule[position])}: {error}")
            except QuotaExceeded as error:
                return Unknown(str(error))
        verdict = self.of(schedule).replay(schedule[count:])
        if isinstance(verdict, ScheduledNest):
            return replace(verdict, schedule=schedule)
        return replace(verdict, step=verdict.step + count) if isinstance(verdict, Refused) else verdict

    def check(self, tree: tuple[TreeNode, ...], schedule: Schedule = ()) -> Replayed:
        """The verdict on a tree, however it came about."""
        reason = undetermined_bound(self.model, tree)
        if reason is not None:
            return Refused(len(schedule), reason)
        verdict = self.checker.check(tree)
        if not isinstance(verdict, Legal):
            return verdict
        try:
            contracted = self.contractor.contracted(tree)
            windows = self.contractor.windows(tree, frozenset(name for name, _ in contracted))
        except QuotaExceeded as error:
            return Unknown(str(error))
        stored = {name for name, _ in contracted} | {window.array for window in windows}
        for array in self.contractor.arrays:
            if array.name not in stored and None in array.shape:
                return Refused(len(schedule), f"{array.name} would have to be kept for iterations of unknown number")
        return ScheduledNest(self.nest, tree, schedule, contracted, windows, self.checker.reductions(tree))

    def shortest(self, schedule: Schedule) -> Schedule:
        """A schedule with the same tree from which no step or pair of steps can be left out."""
        wanted = self.tree(schedule)

        def same(candidate: Schedule) -> bool:
            try:
                return self.tree(candidate) == wanted
            except NotApplicable:
                return False

        position = 0
        while position < len(schedule):
            one = schedule[:position] + schedule[position + 1 :]
            pairs = (one[:other] + one[other + 1 :] for other in range(position, len(one)))
            shorter = next((s for s in (one, *pairs) if same(s)), None)
            if shorter is None:
                position += 1
            else:
                schedule = shorter
        return schedule


def _trusting(
    model: Model, dependences: tuple[Dependence, ...], tree: tuple[TreeNode, ...], independent: frozenset[str]
) -> tuple[Dependence, ...]:
    """Without what data alone could make a dependence between iterations of the loops `independent`."""
    if not independent:
        return dependences
    checker = Checker(model, dependences)
    found = []
    for dependence in dependences:
        if not dependence.exact:
            with model.quota():
                left = dependence.relation
                for loop, pairs in checker.carried_pairs(dependence, tree):
                    left = left.subtract(pairs) if loop in independent else left
                if left.is_empty():
                    continue
            dependence = replace(dependence, relation=left)
        found.append(dependence)
    return tuple(found)
