"""Aggressive legal schedules: packing, register blocks, threads, private arrays on the heap, unrolled loops."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from scheduler.codegen import emit
from scheduler.errors import CodegenUnsupported, NotApplicable
from scheduler.machine.target import Core, Target
from scheduler.moves.register_blocking import register_moves
from scheduler.moves.space import Chain, Space
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import (
    AosToSoa,
    ForwardArray,
    Pack,
    Parallelize,
    RegisterBlock,
    Split,
    Stream,
    Tile,
    Unroll,
    UnrollJam,
    Vectorize,
)
from tests.campaigns.legality.drawn import drawn_schedules, small_step
from tests.generator import random_first_steps

Maker = Callable[[Schedule, Chain], Iterator[Schedule]]
_ATTEMPTS = 6
_ENOUGH = 6  # kinds of steps in one schedule
_CHANGED = 0.25  # share of the schedules that change the nest first
_KINDS: tuple[tuple[str, type], ...] = (
    ("copied apart", AosToSoa),
    ("eliminated", ForwardArray),
    ("split", Split),
    ("packed", Pack),
    ("register blocks", RegisterBlock),
    ("parallel", Parallelize),
    ("tiled", Tile),
    ("vectorized", Vectorize),
)


def aggressive(replayer: Replayer, rng: random.Random) -> tuple[Schedule, Counter[str]] | None:
    """A schedule that is legal and of which code can be made, and what it holds; None where none was found.

    Of several the one that holds most, mostly.
    """
    found: list[tuple[Schedule, Counter[str]]] = []
    for _ in range(_ATTEMPTS):
        try:
            first = random_first_steps(replayer, rng) if rng.random() < _CHANGED else ()
            inside = replayer.of(first)
            schedule = (*first, *_draw(inside, rng))
            replayed = replayer.replay(schedule)
            if not schedule or not isinstance(replayed, ScheduledNest):
                continue
            text = emit(replayed, inside.model, original="", checked=True)
        except (CodegenUnsupported, NotApplicable, QuotaExceeded):
            continue
        found.append((schedule, contents(schedule, text)))
        if len(found[-1][1]) >= _ENOUGH:
            break
    if not found:
        return None
    return max(found, key=lambda pair: len(pair[1])) if rng.random() < 0.8 else rng.choice(found)


def contents(schedule: Schedule, text: str) -> Counter[str]:
    """What a schedule and the text made of it hold, each once."""
    held = [name for name, kind in _KINDS if any(isinstance(step, kind) for step in schedule)]
    held += ["unrolled"] if any(isinstance(step, Unroll | UnrollJam) for step in schedule) else []
    held += ["private arrays on the heap"] if "pe_alloc(sizeof(" in text else []
    held += ["allocating"] if "pe_alloc(" in text else []
    held += ["streamed"] if "pe_stream(" in text else []
    held += ["vector types"] if "pe_v" in text else []
    held += ["overlap tested"] if "pe_apart(" in format_schedule(schedule) + text else []
    return Counter(held)


def _draw(replayer: Replayer, rng: random.Random) -> Schedule:
    kind = rng.random()
    if kind < 0.15:
        return next(iter(drawn_schedules(replayer, rng, 1)))
    lanes = rng.choice((16, 16, 32))
    core = Core(registers=((2 * lanes, 32), (lanes, 16)))
    space = Space(replayer, Target(threads=2, vector_bytes=lanes, core=core), {})
    structures = space.normalized_structures()
    schedule = structures[:2][-1] if rng.random() < 0.5 else rng.choice(structures)
    moved = schedule
    if kind < 0.85:
        blocks: Maker = partial(register_moves, space)
        others: tuple[Maker, ...] = (space.tilings, space.wavefronts, space.inner_moves)
        moved = _moved(space, schedule, (blocks,) if kind < 0.6 else others, rng)
        if rng.random() < 0.75:
            shrunk = [tuple(small_step(step, rng) for step in moved) for _ in range(4)]
            moved = next((s for s in shrunk if space.legal(s)), moved)
        moved = _kept(space, schedule, moved)
    if rng.random() < 0.25:
        moved = _unrolled(space, moved, rng)
    if rng.random() < 0.8:
        moved = _kept(space, moved, space.parallelized(moved))
    if rng.random() < 0.4:
        moved = _kept(space, moved, _streamed(space, moved))
    if rng.random() < 0.6:
        moved = _kept(space, moved, space.vectorized(moved))
    return moved


def _moved(space: Space, schedule: Schedule, makers: tuple[Maker, ...], rng: random.Random) -> Schedule:
    """With one of the makers' moves for one of the chains, any chain that has one."""
    found = list(space.leaf_chains(schedule))
    rng.shuffle(found)
    for chain in found:
        for make in rng.sample(makers, len(makers)):
            moves = [s for s in islice(make(schedule, chain), 40) if len(s) > len(schedule)]
            if moves:
                return rng.choice(moves)
    return schedule


def _unrolled(space: Space, schedule: Schedule, rng: random.Random) -> Schedule:
    found = [loop for chain in space.leaf_chains(schedule) for loop in chain if loop.unroll == 1 and not loop.opaque]
    if not found:
        return schedule
    return _kept(space, schedule, (*schedule, Unroll(rng.choice(found).name, rng.choice((2, 3, 4)))))


def _streamed(space: Space, schedule: Schedule) -> Schedule:
    """Whatever innermost loops write marked to be written past the caches; code is made of it where that is right."""
    marks = [
        Stream(chain[-1].name, use.access.array)
        for chain in space.leaf_chains(schedule)
        if not (chain[-1].opaque or chain[-1].tile or chain[-1].register)
        for statement, _ in chain[-1].rows
        for use in space.replayer.model.uses(statement)
        if use.is_write
    ]
    return (*schedule, *dict.fromkeys(marks))


def _kept(space: Space, before: Schedule, after: Schedule) -> Schedule:
    return after if space.legal(after) else before
