"""Random and nonsensical schedules of random nests, transferred: nothing but SchedulerError, and all of it legal."""

import random
from dataclasses import fields, replace

import pytest

from perfembed.transfer.candidates import candidates, read_donor
from perfembed.transfer.compose import compositions, partial, trees_of
from perfembed.transfer.view import Side
from scheduler.errors import SchedulerError
from scheduler.ir.affine import Affine
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.search.neighbours import neighbours
from tests.generator.nests.random_nest import random_nest
from tests.generator.schedules import random_schedule
from tests.perfembed.transfer_support import EMBEDDER, MACHINE

pytestmark = pytest.mark.gcc


def mangled(rng, step):
    """The step with one field replaced by something absurd."""
    field = rng.choice(fields(step))
    value, big = getattr(step, field.name), rng.choice((0, -1, 1, 2, 7, 10**6, 10**17, -(10**17)))
    if isinstance(value, int):
        new = big
    elif isinstance(value, str):
        new = rng.choice(("nope", "S0", "S1", "i", "j", "k", "i_t", "a"))
    elif isinstance(value, Affine):
        new = Affine.of(rng.choice(("i", "zz", "n")), 3) + big
    else:
        new = rng.choice(((), value * 2, value[::-1], tuple(big if isinstance(x, int) else "i" for x in value)))
    return replace(step, **{field.name: new})


def transfer(seed):
    rng = random.Random(seed)
    first, second = random_nest(rng), random_nest(rng)
    replayer = Replayer(first)
    schedule = random_schedule(replayer.nest, rng, rng.randint(1, 7), replayer.tree(()), 0.1)
    if seed % 3 == 1:
        schedule = tuple(rng.sample(schedule, len(schedule)))
    if seed % 3 == 2:
        schedule = tuple(mangled(rng, step) if rng.random() < 0.4 else step for step in schedule)
    sizes = (5, 40, 300) if seed % 2 else (0, 1, -3, 40, 10**12)

    def some(nest):
        return {p.name: rng.choice(sizes) for p in nest.parameters}

    target = Side(Replayer(second), some(second), MACHINE, EMBEDDER)
    text = format_schedule(schedule)
    given = read_donor(first, text, some(first), MACHINE, EMBEDDER, name=f"seed {seed}")
    assert set(given.schedule) <= set(parse_schedule(text))  # without steps that change nothing
    found = candidates(given, target)
    fresh = Replayer(second)
    for candidate in found:
        again = fresh.replay(candidate.scheduled.schedule)
        assert isinstance(again, ScheduledNest) and again.tree == candidate.scheduled.tree, seed
    for trees in trees_of(target):
        partials = [partial(given, target, tree) for tree in trees]
        for candidate in compositions(target, trees, partials, found, lambda pool: [rng.random() for _ in pool]):
            again = fresh.replay(candidate.scheduled.schedule)
            assert isinstance(again, ScheduledNest) and again.tree == candidate.scheduled.tree, seed
    for near in neighbours(target.space, found[0].scheduled, limit=3) if found else ():
        assert isinstance(fresh.replay(near.schedule), ScheduledNest), seed


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(1000, 1400), marks=pytest.mark.slow)], ids=len)
def test_nothing_breaks_and_everything_is_legal(seeds):
    refused = 0
    for seed in seeds:
        try:
            transfer(seed)
        except SchedulerError:
            refused += 1
    assert refused < len(seeds) / 4
