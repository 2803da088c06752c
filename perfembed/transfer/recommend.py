"""What to measure: the candidates of all donors pooled, each tree once, ranked, the most promising of them kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Union

from perfembed.transfer.candidates import Candidate, Donor, candidates
from perfembed.transfer.embedders import Tree
from perfembed.transfer.successors import Logged
from perfembed.transfer.view import Side
from scheduler.errors import SchedulerError
from scheduler.ir.tree import Leaf
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule
from scheduler.search.explorer import in_variety

Scorer = Callable[[Sequence[Candidate]], Sequence[float]]
"""A figure for each candidate, the lower the better: predicted seconds, or `by_donor`."""

_Sharing = frozenset[Union[str, "_Sharing"]]

_LITERAL_COST = 0.01
_UNKNOWN_SPEEDUP = 1.5
_EACH = 2  # candidates of a donor in a row


@dataclass(frozen=True, slots=True)
class Recommendation:
    """`chosen` are to be measured, best first; `pool` are all candidates, `scores` theirs.

    `failed` has (donor's name, reason) for each donor that nothing could be taken from.
    """

    chosen: tuple[Candidate, ...]
    pool: tuple[Candidate, ...]
    scores: tuple[float, ...]
    failed: tuple[tuple[str, str], ...]


def by_donor(pool: Sequence[Candidate]) -> list[float]:
    """Without a cost model: what the donor gained, the less of it the farther it is and the worse its recipe fits."""
    found = []
    for candidate in pool:
        gained = math.log(max(candidate.donor.speedup or _UNKNOWN_SPEEDUP, 1.01))
        fits = math.exp(-max(candidate.donor.distance, 0.0)) * max(1 - candidate.cost, 0.05)
        found.append(-gained * fits + _LITERAL_COST * (candidate.parameters == "literal"))
    return found


def recommend(
    donors: Sequence[Donor],
    target: Side,
    *,
    scorer: Scorer = by_donor,
    measure: int = 10,
    width: int = 2,
    repair: bool = True,
    more: Callable[[Sequence[Candidate]], Sequence[Candidate]] = lambda pool: (),
    expired: Callable[[], bool] = lambda: False,
    writable: Callable[[ScheduledNest], bool] = lambda scheduled: True,
) -> Recommendation:
    """At most `measure` legal candidates out of what the donors lead to, no two with the same tree.

    They are taken by turns from the order of `scorer` and from that of `by_donor`: what a model predicts and what was
    measured elsewhere err in different ways. Candidates that fail together are not to fill an order: of a model's,
    schedules of the same kinds of steps (`in_variety`); else two of every donor come before the third of any. And of
    the ways in which statements can share loops, a third of `measure` at most, the first candidate of each is taken. A
    fifth of `measure` is for what was derived from the target itself, which no donor speaks for.

    Never raises for what a donor's schedule is: such a donor is in `failed`. Once `expired`, donors that were not
    looked at yet are left out. `more`: further candidates, once those of the donors are known. `writable`: whether code
    can be made for one; asked only of those that would be taken.
    """
    pool: dict[Tree, Candidate] = {}
    failed: list[tuple[str, str]] = []
    for donor in donors:
        if pool and expired():
            failed.append((donor.name, "the time was up"))
            continue
        try:
            found = candidates(donor, target, width=width, repair=repair)
        except SchedulerError as error:
            failed.append((donor.name, str(error)))
            continue
        if not found:
            failed.append((donor.name, "none of its steps fits, or what fits changes nothing"))
        for candidate in found:
            known = pool.get(candidate.scheduled.tree)
            if known is None or (candidate.cost, candidate.donor.distance) < (known.cost, known.donor.distance):
                pool[candidate.scheduled.tree] = candidate
    for candidate in more(tuple(pool.values())):
        pool.setdefault(candidate.scheduled.tree, candidate)
    every = tuple(pool.values())
    scores = tuple(scorer(every)) if every else ()
    orders = [_fair(every, by_donor(every))] * 2
    if scorer is not by_donor:
        orders[0] = in_variety([c.scheduled.schedule for c in every], scores)
    order = dict.fromkeys(k for pair in zip(*orders, strict=True) for k in pair)
    shared: dict[_Sharing, int] = {}
    for k in order:
        shared.setdefault(_sharing(every[k].scheduled.tree), k)
    derived = sorted((k for k in order if not every[k].donated), key=lambda k: scores[k])[: measure // 5]
    kept = [*list(shared.values())[: measure // 3], *derived]
    promising = dict.fromkeys((*kept, *order))
    taken = list(islice((k for k in promising if writable(every[k].scheduled)), measure))
    chosen = sorted(taken, key=lambda k: (scores[k], k))
    return Recommendation(tuple(every[k] for k in chosen), every, scores, tuple(failed))


def behind(first: Schedule, found: Recommendation) -> Recommendation:
    """The same candidates as schedules of the nest before its `first` steps, which come first in each."""
    entry = Logged("inserted", None, first, "to begin with: private arrays that the nest can do without")
    whole = {
        id(one): replace(
            one,
            scheduled=replace(one.scheduled, schedule=(*first, *one.scheduled.schedule)),
            log=(entry, *one.log),
        )
        for one in found.pool
    }
    return replace(
        found,
        chosen=tuple(whole[id(one)] for one in found.chosen),
        pool=tuple(whole[id(one)] for one in found.pool),
    )


def _sharing(nodes: Tree) -> _Sharing:
    """Which statements are in a loop together, at every depth at which they part."""
    found = set[str | _Sharing]()
    for node in nodes:
        if isinstance(node, Leaf):
            found.add(node.statement)
        else:
            found.add(_sharing(node.children))
    alone = next(iter(found)) if len(found) == 1 else None
    return alone if isinstance(alone, frozenset) else frozenset(found)


def _fair(pool: Sequence[Candidate], scores: Sequence[float]) -> list[int]:
    """Positions in the order of the scores, but for those of a donor that had its share."""
    before: dict[str, int] = {}
    rounds: dict[int, int] = {}
    order = sorted(range(len(pool)), key=lambda k: (scores[k], k))
    for k in order:
        donor = pool[k].donor.name
        rounds[k] = before.get(donor, 0) // _EACH
        before[donor] = before.get(donor, 0) + 1
    return sorted(order, key=lambda k: rounds[k])
