"""Monte Carlo tree search over the decision tree of a nest.

Source: Baghdadi et al. 2021 (MLSys), section 5 (MCTS guided by the cost model, its best set executed at the end);
Kocsis and Szepesvári 2006 (UCT). The value of a node is the best gain met below it, as befits a search for one best
schedule; gains are the logarithm of the seconds' improvement over the first schedule evaluated.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler.moves.space import Space
from scheduler.schedule import Schedule
from scheduler.search.decisions import ROOT, Decision, proposals, usual
from scheduler.search.explorer import Evaluate, Explorer, SearchStopped

_EXPLORATION = 0.5
_UNSEEN = 0.3  # value of a child not visited: trees are too wide to visit all before going deeper
_IN_VAIN = 30  # rounds without a new schedule
# Of random walks so many take the usual decision without looking at what else there is:
_USUAL = {"fusion": 0.7, "sequence": 0.8, "shape": 0.1, "inside": 0.4, "marks": 0.6, "vectors": 0.6}
_RARE = frozenset({"fusion", "sequence"})  # where others than the usual one are tried later
_LATER = 0.5  # of what makes others be explored


@dataclass(slots=True, eq=False)
class _Node:
    decision: Decision
    parent: _Node | None = None
    below: list[_Node] | None = None  # None: not expanded yet
    visits: int = 0
    best: float = -math.inf
    exhausted: bool = False
    pending: int = field(default=0)  # walks under way: others should go elsewhere
    checked: bool = False  # its schedule is known to be legal
    rare: bool = False  # a fusion, or a step of a free sequence


class Mcts(Explorer):
    """Draws until the limit, the time or the tree is used up."""

    def __init__(
        self,
        space: Space,
        evaluate: Evaluate,
        *,
        seed: int,
        batch: int = 8,
        limit: int | None = None,
        expired: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(space, evaluate, batch=batch, limit=limit, expired=expired)
        self._rng = random.Random(seed)
        self._reference: float | None = None
        self._known: dict[Decision, tuple[Decision, ...]] = {}

    def _search(self) -> None:
        root = _Node(ROOT)
        in_vain = 0
        batch = 1  # then twice as many up to all: where a walk takes long, a short clock ends with something known
        while in_vain < _IN_VAIN and not root.exhausted:
            before = len(self._seconds)
            walks: list[tuple[_Node, Schedule]] = []
            while len(walks) < batch and not root.exhausted:
                if self._expired():
                    raise SearchStopped
                leaf, schedule = self._walk(root)
                walks.append((leaf, schedule))
            self.best([schedule for _, schedule in walks], 1)
            for leaf, schedule in walks:
                self._back_up(leaf, self._gain(schedule))
            in_vain = 0 if len(self._seconds) > before else in_vain + 1
            batch = min(self.batch, 2 * batch)

    def _walk(self, root: _Node) -> tuple[_Node, Schedule]:
        """Down by UCT to a node not expanded yet, and on from there at random."""
        node = root
        node.pending += 1
        while node.below or node.below is None:
            new = node.below is None
            if node.below is None:
                node.below = [self._child(node, choice) for choice in self._proposals(node.decision)]
            chosen = self._legal(node, self._drawn if new else self._selected)
            if chosen is None:
                break
            node = chosen
            node.pending += 1
            if new:
                break
        if node.decision.stage == "done" or node.below == []:
            _exhaust(node)
        decision = node.decision
        while decision.stage != "done":
            below = self._below(decision)
            if below is None:
                break
            decision = below
        return node, decision.schedule

    def _legal(self, node: _Node, choose: Callable[[_Node], _Node]) -> _Node | None:
        """A child with a legal schedule; those chosen first that have none are taken out. None if there is none."""
        while node.below:
            child = choose(node)
            if child.checked or self._is_legal(child.decision, node.decision):
                child.checked = True
                return child
            node.below.remove(child)
            if node.below and all(other.exhausted for other in node.below):
                _exhaust(node)
        return None

    def _below(self, decision: Decision) -> Decision | None:
        """What follows at random; None where nothing that is legal does."""
        rng = self._rng
        if rng.random() < _USUAL.get(decision.stage, 0.0):
            found = usual(self.space, decision)
            if found is not None and self._is_legal(found, decision):
                return found
        others = list(self._proposals(decision))
        while others:
            chosen = others.pop(rng.randrange(len(others)))
            if self._is_legal(chosen, decision):
                return chosen
        return None

    def _proposals(self, decision: Decision) -> tuple[Decision, ...]:
        if decision not in self._known:
            self._known[decision] = proposals(self.space, decision)
        return self._known[decision]

    def _is_legal(self, decision: Decision, before: Decision) -> bool:
        return decision.schedule == before.schedule or self.space.legal(decision.schedule)

    def _child(self, node: _Node, decision: Decision) -> _Node:
        rare = node.decision.stage in _RARE and decision.schedule != node.decision.schedule
        return _Node(decision, node, rare=rare)

    def _drawn(self, node: _Node) -> _Node:
        assert node.below
        common = [child for child in node.below if not child.rare]
        return self._rng.choice(common or node.below)

    def _selected(self, node: _Node) -> _Node:
        """The child with the greatest upper confidence bound."""
        assert node.below
        open_ = [child for child in node.below if not child.exhausted] or node.below
        gains = [child.best for child in open_ if child.best > -math.inf]
        low, high = (min(gains), max(gains)) if gains else (0.0, 1.0)
        total = math.log(1 + node.visits + node.pending)

        def bound(child: _Node) -> float:
            count = child.visits + child.pending
            if count == 0 and child.rare:
                return _LATER * _EXPLORATION * math.sqrt(total)
            if count == 0:
                return _UNSEEN + _EXPLORATION * math.sqrt(total)
            value = 0.0 if child.best == -math.inf else (child.best - low) / max(high - low, 1e-9)
            return value + _EXPLORATION * math.sqrt(total / count)

        return max(self._rng.sample(open_, len(open_)), key=bound)

    def _gain(self, schedule: Schedule) -> float | None:
        seconds = self._seconds.get(self.space.replayer.tree(schedule))
        if seconds is None:
            return None
        if self._reference is None:
            self._reference = seconds
        return math.log(self._reference / seconds)

    def _back_up(self, leaf: _Node, gain: float | None) -> None:
        node: _Node | None = leaf
        while node is not None:
            node.pending -= 1
            node.visits += 1
            if gain is not None:
                node.best = max(node.best, gain)
            node = node.parent


def _exhaust(node: _Node) -> None:
    """Marks a node, and those above it that have nothing else left."""
    node.exhausted = True
    parent = node.parent
    if parent is not None and parent.below and all(child.exhausted for child in parent.below):
        _exhaust(parent)
