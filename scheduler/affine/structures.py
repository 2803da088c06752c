"""Legal structures for a nest out of isl's schedules, each once, beside those that are known already."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from scheduler.affine.forest import forest, reschedule
from scheduler.affine.model import SETTINGS
from scheduler.affine.question import question
from scheduler.affine.solver import Asked
from scheduler.affine.variants import variants
from scheduler.errors import NotApplicable, SchedulerError
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule

MOST = 8  # structures of a nest
_STEEPEST = 8  # coefficient: beyond it, loops count mostly times at which nothing runs


class Computed:
    """The structures that isl's scheduler gives a nest: asked for at once, waited for when they are needed.

    `reason` says why there are none, `told` what became of each setting.
    """

    def __init__(self, replayer: Replayer) -> None:
        self._replayer = replayer
        self._found: tuple[Schedule, ...] | None = None
        self._asked: Asked | None = None
        self.reason = ""
        self.told: list[str] = []
        try:
            self._asked = Asked(question(replayer))
        except SchedulerError as problem:
            self.reason = str(problem)

    def structures(self, known: Iterable[Schedule] = ()) -> tuple[Schedule, ...]:
        """One `reschedule` step each; none that makes the loops of the nest as written or of one that is `known`."""
        if self._found is None:
            self._found = tuple(self._legal())
        if not self._found:
            return ()
        taken = {_shape(self._replayer.tree(schedule)) for schedule in ((), *known)}
        return tuple(s for s in self._found if _shape(self._replayer.tree(s)) not in taken)[:MOST]

    def _legal(self) -> Iterable[Schedule]:
        replayer = self._replayer
        seen: set[object] = set()
        answers = {a.setting: a for a in self._asked.answers()} if self._asked is not None else {}
        for answer in (answers[s.name] for s in SETTINGS if s.name in answers):
            self.told.append(f"{answer.setting}: {answer.reason or 'a schedule'}")
            for tree in variants(answer.tree, replayer) if answer.tree is not None else ():
                step = reschedule(forest(tree, replayer.model), tuple(replayer.model.placed))
                if step in seen:
                    continue
                seen.add(step)
                if any(abs(c) > _STEEPEST for one in step.maps for row in one.rows for _, c in row.terms):
                    self.told.append(f"{answer.setting}: coefficients of more than {_STEEPEST}")
                    continue
                try:
                    shape = _shape(replayer.tree((step,)))
                    if shape not in seen and isinstance(replayer.replay((step,)), ScheduledNest):
                        seen.add(shape)
                        yield (step,)
                except NotApplicable as problem:
                    self.told.append(f"{answer.setting}: {problem}")


_known: WeakKeyDictionary[Replayer, Computed] = WeakKeyDictionary()


def computed_structures(replayer: Replayer) -> Computed:
    """Of a nest whose structures were asked for before, the same again."""
    found = _known.get(replayer)
    if found is None:
        found = _known[replayer] = Computed(replayer)
    return found


def _shape(tree: tuple[TreeNode, ...]) -> object:
    """What is the same for trees that differ in names, and in what is added to the times of a loop."""

    def of(node: TreeNode) -> object:
        if isinstance(node, Leaf):
            return node.statement
        return _times(node), tuple(of(child) for child in node.children)

    return tuple(of(node) for node in tree)


def _times(loop: TreeLoop) -> object:
    lowest = min(row.const for _, row in loop.rows)
    return tuple(sorted((s, str(row - lowest)) for s, row in loop.rows))
