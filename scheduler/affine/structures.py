"""Legal structures for a nest out of isl's schedules, each once, beside those that are known already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

from scheduler.affine.forest import affine, forest, reschedule
from scheduler.affine.model import SETTINGS, Band, Node, Several, Statements
from scheduler.affine.solver import Asked, question
from scheduler.errors import NotApplicable, SchedulerError
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode
from scheduler.normalize.stride import access_stride, directions
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform.common import nest_chain

_FAR = 64  # elements; farther is no worse


def variants(node: Node, replayer: Replayer) -> Iterator[Node]:
    """As isl gave it; with the loops of its bands in another order; then with their last loops split, one for each
    part below: what is inside stays simple and can be vectorized. The order is legal, the splits have to be checked."""
    ordered = _ordered(node, replayer)
    yield node
    yield ordered
    yield _sunk(ordered, 1)
    yield _sunk(ordered, None)


def _ordered(node: Node, replayer: Replayer) -> Node:
    """Loops that carry nothing outside, and of them the one with the smallest strides inside all others."""
    if isinstance(node, Several):
        return replace(node, children=tuple(_ordered(child, replayer) for child in node.children))
    if isinstance(node, Statements):
        return node
    child = _ordered(node.child, replayer)
    places = list(range(len(node.rows)))
    if node.permutable and len(places) > 1:
        cost = [_cost(node, k, replayer) for k in places]
        inner = min(places, key=lambda k: (cost[k], -k))
        rest = sorted((k for k in places if k != inner), key=lambda k: not node.coincident[k])
        places = [*rest, inner]
    rows, free = tuple(node.rows[k] for k in places), tuple(node.coincident[k] for k in places)
    return Band(rows, free, node.permutable, child)


def _cost(band: Band, place: int, replayer: Replayer) -> int:
    """How far accesses jump along a loop while the other loops of the band stand."""
    model, nest = replayer.model, replayer.nest
    loops = [
        TreeLoop(str(k), tuple((s, affine(model, s, linear)) for s, linear in rows.items()), (), "")
        for k, rows in enumerate(band.rows)
    ]
    tree = nest_chain(tuple(loops), tuple(Leaf(s) for s in band.rows[place]))
    total = 0
    for statement, direction in directions((tree,), loops[place]).items():
        for use in model.uses(statement):
            if not nest.array(use.access.array).is_scalar:
                total += min(access_stride(nest, use, direction), _FAR)
    return total


def _sunk(node: Node, count: int | None) -> Node:
    """The last `count` loops of each band (None: all but the first) below the parts that follow in it."""
    if isinstance(node, Several):
        return replace(node, children=tuple(_sunk(child, count) for child in node.children))
    if isinstance(node, Statements):
        return node
    child = _sunk(node.child, count)
    kept = max(len(node.rows) - count, 0) if count is not None else min(len(node.rows), 1)
    if not isinstance(child, Several | Statements) or kept == len(node.rows):
        return replace(node, child=child)
    parts = child.children if isinstance(child, Several) else tuple(Statements((name,)) for name in child.names)
    if len(parts) < 2:
        return replace(node, child=child)
    inner = tuple(
        _restricted(replace(node, rows=node.rows[kept:], coincident=node.coincident[kept:], child=p)) for p in parts
    )
    below = Several(inner, not isinstance(child, Several) or child.ordered)
    if not kept:
        return below
    return Band(node.rows[:kept], node.coincident[:kept], node.permutable, below)


def _restricted(band: Band) -> Band:
    """The band with rows for the statements below it alone."""
    names = frozenset(below(band.child))
    return replace(band, rows=tuple({s: row for s, row in rows.items() if s in names} for rows in band.rows))


def below(node: Node) -> Iterator[str]:
    """The statements of a tree."""
    if isinstance(node, Statements):
        yield from node.names
    elif isinstance(node, Band):
        yield from below(node.child)
    else:
        for child in node.children:
            yield from below(child)


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
