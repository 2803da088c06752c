"""How alike schedules are by the kinds of their steps; names of loops and sizes are the target's matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from perfembed.retrieval.donors import StoredDonor
from scheduler.errors import SchedulerError
from scheduler.schedule import Schedule, parse_schedule
from scheduler.transform import RegisterBlock, Tile

Recipe = frozenset[tuple[str, int]]

_GOOD = 0.95  # of the best speedup
_REPEATED = 2  # how often a kind of step counts


def recipe(schedule: Schedule) -> Recipe:
    """The kinds of steps, each as often as it occurs (up to twice), and how many loops are tiled together.

    Names of loops and sizes are left out: those are the target's matter.
    """
    counts = Counter(step.keyword for step in schedule)
    kinds = {(name, n) for name, count in counts.items() for n in range(min(count, _REPEATED))}
    return frozenset(
        kinds | {(f"{s.keyword} of", len(s.loops)) for s in schedule if isinstance(s, Tile | RegisterBlock)}
    )


def good_recipes(donor: StoredDonor) -> tuple[Recipe, ...]:
    """Of its best schedule and of those about as fast; of none that cannot be read."""
    found: list[Recipe] = []
    for text, speedup in zip(donor.schedules, donor.speedups, strict=True):
        if speedup >= _GOOD * donor.speedups[0]:
            try:
                found.append(recipe(parse_schedule(text)))
            except SchedulerError:
                continue
    return tuple(found)


def likeness(first: Sequence[Recipe], second: Sequence[Recipe]) -> float:
    """Of the two recipes that are most alike: shared over all their steps (Jaccard), 0 … 1; NaN without recipes."""
    return max((len(a & b) / max(len(a | b), 1) for a in first for b in second), default=float("nan"))
