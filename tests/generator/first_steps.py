"""Random steps that change the nest: splits at blocks of outer loops, iterators and numbers; arrays copied
apart; private arrays done without."""

from __future__ import annotations

import random

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.walk import placed_statements
from scheduler.normalize.accumulators import accumulators
from scheduler.replay import Replayer
from scheduler.schedule import Schedule
from scheduler.transform import AosToSoa, ForwardArray, NestStep, Split
from scheduler.transform.aos_to_soa import read_only_columns

_TRIES = 4
_APART = 0.5  # of the steps, where there is an array for it; each kind


def random_first_steps(replayer: Replayer, rng: random.Random, most: int = 2) -> Schedule:
    """At most so many steps that apply, one after the other; often none. Raises QuotaExceeded."""
    steps: Schedule = ()
    for _ in range(rng.randint(1, most)):
        for _ in range(_TRIES):
            step = _random_step(replayer.of(steps), rng)
            if step is None:
                return steps
            try:
                replayer.of((*steps, step))
            except NotApplicable:
                continue
            steps = (*steps, step)
            break
    return steps


def _random_step(replayer: Replayer, rng: random.Random) -> NestStep | None:
    needless = accumulators(replayer.nest)
    if needless and rng.random() < _APART:
        return ForwardArray(needless[0])
    apart = [array.name for array in replayer.nest.arrays if read_only_columns(replayer.nest, array.name)]
    return AosToSoa(rng.choice(apart)) if apart and rng.random() < _APART else _random_split(replayer, rng)


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
