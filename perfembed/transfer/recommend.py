"""What to measure: the candidates of all donors pooled, each tree once, ranked, the most promising of them kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfembed.transfer.candidates import Candidate, Donor, candidates
from perfembed.transfer.embedder import Tree
from perfembed.transfer.view import Side
from scheduler.errors import SchedulerError

Scorer = Callable[[Sequence[Candidate]], Sequence[float]]
"""A figure for each candidate, the lower the better: predicted seconds, or `by_donor`."""

_LITERAL_COST = 0.01
_UNKNOWN_SPEEDUP = 1.5


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
    expired: Callable[[], bool] = lambda: False,
) -> Recommendation:
    """At most `measure` legal candidates out of what the donors lead to, no two with the same tree, by `scorer`.

    The best of every donor comes before the second of any, as far as `measure` goes: donors fail together with their
    own kind of mistake. Never raises for what a donor's schedule is: such a donor is in `failed`. Once
    `expired`, donors that were not looked at yet are left out.
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
    every = tuple(pool.values())
    scores = tuple(scorer(every)) if every else ()
    order = sorted(range(len(every)), key=lambda k: (scores[k], k))
    first: dict[int, int] = {}
    for k in order:
        first.setdefault(id(every[k].donor), k)
    ranked = [*first.values(), *(k for k in order if k not in first.values())][:measure]
    chosen = sorted(ranked, key=lambda k: (scores[k], k))
    return Recommendation(tuple(every[k] for k in chosen), every, scores, tuple(failed))
