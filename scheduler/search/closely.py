"""A closer look at a schedule: everything that differs from it in one decision.

Its tiles in each size of the grid in each dimension and in two levels, every other loop that may run in parallel,
unrolling, one more interchange, reversal, skew or fusion before all that. Repeated, it reaches every sequence of them.
Source: the choices are LOOPer's (Merouani et al. 2024, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from scheduler.errors import NotApplicable
from scheduler.moves.fusion import fusions
from scheduler.moves.openmp_schedule import other_deals
from scheduler.moves.space import Space, chains_with
from scheduler.moves.tile_sizes import second_level, sizes_of
from scheduler.moves.unimodular import single_steps
from scheduler.schedule import Schedule, nest_steps
from scheduler.transform import (
    Distribute,
    Fuse,
    Interchange,
    Parallelize,
    Reschedule,
    Reverse,
    Shift,
    Sink,
    Skew,
    Tile,
    Transformation,
    Unroll,
    Vectorize,
)

UNROLLED = (4, 8, 16)
AFFINE = (Reschedule, Distribute, Fuse, Shift, Sink, Interchange, Skew, Reverse)
_CHAINS = 3


def variations(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    """One of each kind by turns. They are not checked: some may not fit the nest, or not be legal."""
    if first := nest_steps(schedule):
        within = space.of(first)
        yield from ((*first, *one) for one in variations(within, schedule[len(first) :]))
        return
    kinds = (
        _tile_sizes(space, schedule),
        _parallel_loops(space, schedule),
        other_deals(space, schedule),
        _unrolled(space, schedule),
        _two_levels(space, schedule),
        _affine(space, schedule),
    )
    for several in zip_longest(*kinds):
        yield from (one for one in several if one is not None)


def _tile_sizes(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    for place, step in enumerate(schedule):
        if not isinstance(step, Tile) or _wavefront(schedule, place):
            continue
        chain = chains_with(space.replayer.tree(schedule[:place]), step.loops[0])
        for k, name in enumerate(step.loops):
            for size in sizes_of(space, chain, name):
                sizes = (*step.sizes[:k], size, *step.sizes[k + 1 :])
                yield _exchanged(schedule, place, Tile(step.loops, sizes))
            if len(step.loops) > 1:  # not tiled at all
                rest = tuple(x for x in range(len(step.loops)) if x != k)
                fewer = Tile(tuple(step.loops[x] for x in rest), tuple(step.sizes[x] for x in rest))
                yield _exchanged(schedule, place, fewer)


def _two_levels(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    for place, step in enumerate(schedule):
        if isinstance(step, Tile) and not _wavefront(schedule, place):
            outer = second_level(space, schedule[:place], step)
            if outer is not None:
                yield _exchanged(schedule, place, outer, step)


def _parallel_loops(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    plain = tuple(step for step in schedule if not isinstance(step, Parallelize))
    try:
        yield from space.parallel_choices(plain)
    except NotApplicable:
        return


def _unrolled(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    """The innermost loops, instead of their vectors where they have such."""
    for chain in space.leaf_chains(schedule)[:_CHAINS]:
        innermost = chain[-1]
        if innermost.opaque or innermost.register or not innermost.unroll:
            continue
        others = tuple(s for s in schedule if not (isinstance(s, Unroll | Vectorize) and s.loop == innermost.name))
        yield from ((*others, Unroll(innermost.name, factor)) for factor in UNROLLED)


def _affine(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    """One more step of the free sequence that a schedule begins with."""
    count = next((k for k, step in enumerate(schedule) if not isinstance(step, AFFINE)), len(schedule))
    begun, rest = schedule[:count], schedule[count:]
    for chain in space.leaf_chains(begun)[:_CHAINS]:
        for longer in single_steps(space, begun, chain):
            yield (*longer, *rest)
    for longer in fusions(space, begun):
        yield (*longer, *rest)


def _wavefront(schedule: Schedule, place: int) -> bool:
    """Whether the tiles there are skewed: the factor belongs to the ratio of their sizes."""
    return any(isinstance(later, Skew) for later in schedule[place:])


def _exchanged(schedule: Schedule, place: int, *new: Transformation) -> Schedule:
    return (*schedule[:place], *new, *schedule[place + 1 :])
