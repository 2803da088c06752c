"""A donor's whole sequence aligned with a target: a beam of target schedules goes through the donor's steps.

Source: the per-step matching of Trümper et al. 2023, section 4, whose recipes fail with their first step that does not
fit; here what a deviation costs says how alike the two nests are in the end.
"""

from __future__ import annotations

from dataclasses import replace

from perfembed.transfer.embedders import Tree
from perfembed.transfer.successors import Alignment, Successors
from perfembed.transfer.view import WHOLE, Part, Side
from scheduler.schedule import Schedule


def align(
    donor: Side,
    schedule: Schedule,
    target: Side,
    *,
    base: Schedule = (),
    parts: tuple[Part, Part] = (WHOLE, WHOLE),
    width: int = 2,
    repair: bool = True,
) -> tuple[Alignment, ...]:
    """The `width` cheapest alignments, cheapest first, of the donor's `schedule` with the target after `base`.

    Without `repair` there is one matching a step, nothing is skipped, inserted or substituted, and the result may be
    empty: the recipe of the paper. Raises NotApplicable where `base` does not fit the target.
    """
    run = Successors(donor, schedule, target, base, parts, repair)
    buckets: list[dict[Tree, Alignment]] = [{} for _ in range(len(schedule) + 1)]
    buckets[0][target.replayer.tree(base)] = Alignment(base, base, 0.0, ())
    for position in range(len(schedule)):
        for state in sorted(buckets[position].values(), key=lambda s: s.cost)[:width]:
            for consumed, following in run.of(position, state):
                bucket = buckets[position + consumed]
                tree = target.replayer.tree(following.schedule)
                if tree not in bucket or following.cost < bucket[tree].cost:
                    bucket[tree] = following
    total = max(sum(map(run.weight, range(len(schedule)))), 1e-9)
    ranked = sorted(buckets[-1].values(), key=lambda s: s.cost)[:width]
    return tuple(replace(state, cost=state.cost / total) for state in ranked)
