"""Random splits of a nest's loops: at blocks of outer loops, at iterators, parameters and numbers."""

from __future__ import annotations

import random

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.walk import placed_statements
from scheduler.replay import Replayer
from scheduler.schedule import Schedule
from scheduler.transform import Split

_TRIES = 4


def random_splits(replayer: Replayer, rng: random.Random, most: int = 2) -> Schedule:
    """At most so many splits that apply, one after the other; often none. Raises QuotaExceeded."""
    splits: Schedule = ()
    for _ in range(rng.randint(1, most)):
        for _ in range(_TRIES):
            step = _random_split(replayer.of(splits), rng)
            if step is None:
                return splits
            try:
                replayer.of((*splits, step))
            except NotApplicable:
                continue
            splits = (*splits, step)
            break
    return splits


def _random_split(replayer: Replayer, rng: random.Random) -> Split | None:
    chains = [placed.loops for placed in placed_statements(replayer.nest) if placed.loops]
    if not chains:
        return None
    chain = rng.choice(chains)
    depth = rng.randrange(len(chain))
    outer = [loop.name for loop in chain[:depth]]
    names = outer + [p.name for p in replayer.nest.parameters]
    if not names or rng.random() < 0.1:
        return Split(chain[depth].name, Affine.constant(rng.randint(-1, 4)))
    name = rng.choice(outer if outer and rng.random() < 0.8 else names)
    size = rng.choice((1, 2, 2, 3, 4, 5))
    at = Affine.of(name).floordiv(size) * size
    return Split(chain[depth].name, at + rng.choice((0, 0, size, size, 1, -1)))
