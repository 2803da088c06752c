"""Free sequences of interchange, reversal and skewing: unimodular transformations of the loops of a chain.

Factors of skews are solved for, not guessed: for a row outside that runs in parallel, and for one that carries
everything, so that what is inside runs in parallel.
Source: Wolf and Lam 1991 (TPDS); the moves are those of LOOPer (Merouani et al. 2024, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from scheduler.ir.tree import TreeLoop
from scheduler.moves.space import Chain, Space
from scheduler.normalize.stride import permute_steps
from scheduler.polyhedral.distances import Distances, Vector
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.schedule import Schedule
from scheduler.transform import Interchange, Reverse, Skew

_WIDTHS = (2, 3)


def parallel_rows(space: Space, schedule: Schedule, chain: Chain) -> Iterator[Schedule]:
    """Two or three neighbouring loops of a chain skewed so that the first runs in parallel, or all others do.

    The first, where the chain's outermost loop carries dependences; the others, where all of its loops do.
    """
    key = id(space.replayer.tree(schedule)), tuple(loop.name for loop in chain)
    if key not in space.skewed:
        space.skewed[key] = tuple(_parallel_rows(space, schedule, chain))
    yield from ((*schedule, *steps) for steps in space.skewed[key])


def _parallel_rows(space: Space, schedule: Schedule, chain: Chain) -> Iterator[Schedule]:
    """The steps alone."""
    sequential = space.sequential(schedule)
    carried = [loop.name in sequential for loop in chain]
    if not chain or not carried[0]:
        return
    tree = space.replayer.tree(schedule)
    for width in _WIDTHS:
        for first in range(len(chain) - width + 1 if all(carried) else 1):
            window = chain[first : first + width]
            if len(window) < width or any(map(_fixed, window)):
                continue
            try:
                distances = Distances(space.replayer.checker, tree, window[0].name, [dict(x.rows) for x in window])
                outer = distances.row("parallel") if first == 0 else None
                inner = distances.row("carries") if all(carried) else None
            except QuotaExceeded:
                continue
            for row in (outer, inner):
                if row is not None and _of_all(row):
                    for ways in as_first(schedule, window, row):
                        yield from (one[len(schedule) :] for one in islice(filter(space.legal, ways), 1))


def as_first(schedule: Schedule, window: Sequence[TreeLoop], row: Vector) -> Iterator[tuple[Schedule, ...]]:
    """Schedules in which the first loop of the window has the row, a combination of the loops' rows.

    It takes the place of a loop that it has a coefficient of 1 or -1 of; the others keep their order. For each such
    place: with the others as they are, with one of them reversed.
    """
    names = tuple(loop.name for loop in window)
    for place in reversed(range(len(names))):
        if abs(row[place]) != 1:
            continue
        mine, others = names[place], (*names[:place], *names[place + 1 :])
        steps = [*permute_steps(names, (*others, mine))]
        if row[place] < 0:
            steps.append(Reverse(mine))
        steps += [Skew(name, mine, factor) for name, factor in zip(names, row, strict=True) if factor and name != mine]
        done = (*schedule, *steps, *permute_steps((*others, mine), (mine, *others)))
        yield (done, *((*done, Reverse(name)) for name in others))


def single_steps(space: Space, schedule: Schedule, chain: Chain) -> Iterator[Schedule]:
    """One more step of a free sequence: loops skewed, reversed, neighbours interchanged. Not all are legal."""
    yield from parallel_rows(space, schedule, chain)
    for loop in chain:
        if not _fixed(loop):
            yield (*schedule, Reverse(loop.name))
    for outer, inner in pairwise(chain):
        if not (_fixed(outer) or _fixed(inner)):
            yield (*schedule, Interchange(outer.name, inner.name))


def _fixed(loop: TreeLoop) -> bool:
    return loop.opaque or bool(loop.tile) or loop.register is not None


def _of_all(row: Vector) -> bool:
    """Whether it combines the window's first and last loops: else a smaller window has it, or an order of loops."""
    return bool(row[0] and row[-1])
