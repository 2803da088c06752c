"""Free sequences drawn at random: fusions at any level, and interchanges, reversals and skews of any loops.

Beside the factors that are solved for stand small ones drawn at random: a model must have seen what does not pay.
"""

from __future__ import annotations

import random
from itertools import islice

from scheduler.moves.fusion import fusions
from scheduler.moves.space import Space
from scheduler.moves.unimodular import single_steps
from scheduler.schedule import Schedule
from scheduler.transform import Reschedule, Reverse, Shift, Skew

_FUSED = 0.3  # of the steps, where there is anything to fuse
_GUESSED = 0.25  # of the other steps are skews by a factor that was not solved for
_FACTORS = (-2, -1, 1, 1, 2, 3)
_FUSIONS = 4
_TRIES = 2  # for a step that is legal


def free_sequence(space: Space, rng: random.Random, schedule: Schedule, length: int) -> Schedule:
    """A legal schedule extended by at most `length` steps, each of which keeps it legal."""
    for _ in range(length):
        proposed = (_step(space, rng, schedule) for _ in range(_TRIES))
        schedule = next((one for one in proposed if one is not None and space.legal(one)), schedule)
    return schedule


def is_free(schedule: Schedule) -> bool:
    """Whether a schedule has a step that only free sequences, schedule matrices and time tilings have."""
    return any(isinstance(step, Reschedule | Reverse | Skew | Shift) for step in schedule)


def _step(space: Space, rng: random.Random, schedule: Schedule) -> Schedule | None:
    if rng.random() < _FUSED:
        fused = list(islice(fusions(space, schedule), _FUSIONS))
        if fused:
            return rng.choice(fused)
    chains = space.leaf_chains(schedule)
    if not chains:
        return None
    chain = rng.choice(chains)
    loops = [loop.name for loop in chain if not loop.opaque]
    if len(loops) > 1 and rng.random() < _GUESSED:
        outer, inner = sorted(rng.sample(range(len(loops)), 2))
        return (*schedule, Skew(loops[outer], loops[inner], rng.choice(_FACTORS)))
    steps = list(single_steps(space, schedule, chain))
    return rng.choice(steps) if steps else None
