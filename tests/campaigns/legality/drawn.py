"""Where the schedules of a campaign come from: as they come, grown while legal, and as the search proposes them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from scheduler.errors import NotApplicable
from scheduler.machine.target import Target
from scheduler.matrices.crossover import Breeder, matrix_of
from scheduler.matrices.sample import Matrix, Unsampled
from scheduler.moves.register_blocking import register_moves
from scheduler.moves.space import Space
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.polyhedral.verdict import Illegal
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.search.closely import variations
from scheduler.search.free import free_sequence
from scheduler.search.random import RandomSearch
from scheduler.search.sampling import Samples, SampleSearch
from scheduler.transform import Pack, RegisterBlock, Tile, Transformation
from tests.generator import random_schedule, random_step

_LENGTH = 6  # steps of a random schedule
_PROPOSED = 0.2  # share of the programs whose search space is looked at
_PRETENDED = 600  # of all sizes, so that loops are worth tiling
_FREE = 4  # steps of a free sequence
_NEAR = 40  # of what differs in one decision so many are drawn from
_BLOCKS = {1: 1, 2: 2, 3: 3, 4: 2, 6: 3, 8: 4, 12: 5, 16: 4}  # small extents must still fill a block


def drawn_schedules(replayer: Replayer, rng: random.Random, count: int) -> Iterator[Schedule]:
    """`count` schedules, and for some programs two more that the search would try."""
    for number in range(count):
        length = rng.randint(1, _LENGTH)
        if number % 3 == 2:
            yield random_schedule(replayer.nest, rng, length, replayer.tree(()), refused=0.05)
        else:
            yield _grown(replayer, rng, length)
    if rng.random() < _PROPOSED:
        yield from _proposed(replayer, rng, 2)


def _grown(replayer: Replayer, rng: random.Random, length: int) -> Schedule:
    """Steps are kept while the schedule stays legal; now and then an illegal one ends it."""
    kept: Schedule = ()
    for _ in range(length * 3):
        step = random_step(replayer.nest, rng, replayer.tree(kept))
        if step is None:
            continue
        longer = (*kept, step)
        replayed = replayer.replay(longer)
        if isinstance(replayed, ScheduledNest):
            kept = longer
        elif isinstance(replayed, Illegal) and rng.random() < 0.1:
            return longer
        if len(kept) == length:
            break
    return kept


def _proposed(replayer: Replayer, rng: random.Random, count: int) -> Iterator[Schedule]:
    """Structures of the search space with a move inside and parallel loops, in sizes that fit tiny extents."""
    space = Space(replayer, Target(threads=3), {})
    structures = space.normalized_structures()
    for _ in range(count):
        schedule = rng.choice(structures)
        chains = space.leaf_chains(schedule)
        if chains:
            chain = rng.choice(chains)
            makers = (space.tilings, space.wavefronts, partial(register_moves, space), space.inner_moves)
            moved = [s for s in islice(rng.choice(makers)(schedule, chain), 40) if len(s) > len(schedule)]
            schedule = rng.choice(moved) if moved else schedule
        small = tuple(small_step(step, rng) for step in schedule)
        if isinstance(replayer.replay(small), ScheduledNest) and rng.random() < 0.7:
            small = space.parallelized(small)
        yield small


def sampled_schedules(replayer: Replayer, rng: random.Random, count: int) -> Iterator[Schedule]:
    """Matrices drawn at random and one bred from those before each, as they are and completed by tiles and marks, in
    sizes that fit tiny extents.
    """
    space = Space(replayer, Target(threads=3), {p.name: _PRETENDED for p in replayer.nest.parameters})
    search = SampleSearch(space, lambda schedules: [None] * len(schedules), seed=rng.getrandbits(32))
    try:
        samples = Samples(space, rng)
        parents: list[Matrix] = []
        for _ in range(count):
            found = samples.next()
            if found is None:
                return
            parents.append(matrix_of(found))
            for step in (found, samples.step(_bred(samples.breeder, parents, rng))):
                yield (step,)
                if space.legal((step,)):
                    for schedule in search.completed((step,)):
                        yield tuple(small_step(step, rng) for step in schedule)
    except (Unsampled, QuotaExceeded):
        return


def _bred(breeder: Breeder, parents: list[Matrix], rng: random.Random) -> Matrix:
    first, second = rng.choice(parents), rng.choice(parents)
    match rng.randrange(4):
        case 0:
            return breeder.crossed(first, second)
        case 1:
            return breeder.between(first, second)
        case 2:
            return breeder.distributed(first)
    return breeder.mutated(first, rng.random())


def free_schedules(replayer: Replayer, rng: random.Random, count: int) -> Iterator[Schedule]:
    """Free sequences, each as it is and as random search completes it, and what differs from that in one decision."""
    space = Space(replayer, Target(threads=3), {p.name: _PRETENDED for p in replayer.nest.parameters})
    search = RandomSearch(space, lambda schedules: [None] * len(schedules), seed=rng.getrandbits(32))
    structures = space.normalized_structures()
    for _ in range(count):
        try:
            free = free_sequence(space, rng, rng.choice(structures), rng.randint(1, _FREE))
            completed = search.completed(free)
            near = list(islice(variations(space, completed), _NEAR))
        except (NotApplicable, QuotaExceeded):
            continue
        yield free
        for schedule in (completed, *rng.sample(near, min(2, len(near)))):
            yield tuple(small_step(step, rng) for step in schedule)


def small_step(step: Transformation, rng: random.Random) -> Transformation:
    """With sizes that fit loops of a few iterations."""
    match step:
        case Tile():
            return replace(step, sizes=tuple(rng.choice((2, 3, 4, 5)) for _ in step.sizes))
        case RegisterBlock():
            return replace(step, sizes=tuple(_BLOCKS.get(size, 4) for size in step.sizes))
        case Pack() if step.panel:
            return replace(step, panel=_BLOCKS.get(step.panel, 4))
    return step
