"""Whether a nest gets the same donors when it is written in another way.

Each nest is written again in a few ways that compute the same: loops interchanged, split and put together at random,
as far as dependences allow; sums in a scalar or in the array; values in temporaries or not. Its donors are those of
other algorithms than its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfembed.errors import PerfembedError
from perfembed.files import read_input
from perfembed.measuring.target import target_of
from perfembed.retrieval.donors import Donors, accepting, nearest
from perfembed.retrieval.families import LeftOut
from perfembed.retrieval.nest_space import NestSpace
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.source import parse
from profilers.machine import describe_machine
from scheduler.errors import SchedulerError
from scheduler.ir.nest import LoopNest
from scheduler.ir.walk import placed_statements, uses
from scheduler.machine.target import Target
from scheduler.normalize.materialized_nest import nest_of
from scheduler.replay import Replayer, ScheduledNest
from scheduler.transform import Distribute, Fuse, Interchange
from tests.generator import random_schedule, random_spelling

_TRIES = 12  # for each spelling
_STEPS = 3
_DONORS = 5


@dataclass(frozen=True, slots=True)
class SpellingDonors:
    """Of one nest how many other `spellings` there are, how many of them have the same first donor, and the share of
    their five nearest donors that are the same."""

    program: str
    nest: str
    spellings: int
    same_first: int
    shared: float


def other_spellings(nest: LoopNest, rng: random.Random, count: int) -> list[LoopNest]:
    """At most so many nests that compute the same in other orders, some with sums and values in scalars of their own,
    each once; private arrays are expanded.

    Raises QuotaExceeded.
    """
    replayer = Replayer(nest)
    written, found = replayer.tree(()), [replayer.nest]
    for _ in range(_TRIES * count):
        if len(found) > count:
            break
        try:
            drawn = random_schedule(nest, rng, _STEPS, written)
            steps = tuple(step for step in drawn if isinstance(step, Interchange | Distribute | Fuse))
            scheduled = replayer.replay(steps)
        except SchedulerError:
            continue
        if isinstance(scheduled, ScheduledNest):
            made = nest_of(replayer.nest, scheduled.tree) if scheduled.tree != written else replayer.nest
            made = random_spelling(made, rng) if made is not None else None
            if made is not None and made not in found:
                found.append(made)
    return found[1:]


def is_c(nest: LoopNest) -> bool:
    """Whether private arrays (expanded) are used only in the loops that they have a dimension for: as scalars in C."""
    chains = {placed.statement.name: {loop.name for loop in placed.loops} for placed in placed_statements(nest)}
    scopes = {array.name: array.scope for array in nest.arrays if array.expanded}
    return all(
        scopes.get(use.access.array, "") in {*chains[placed.statement.name], ""}
        for placed in placed_statements(nest)
        for use in uses(placed)
    )


def run_spellings(
    paths: Sequence[str],
    count: int,
    options: TuneOptions,
    seed: int,
    space: NestSpace,
    sources: Sequence[Donors],
    progress: Callable[[str], None],
) -> tuple[SpellingDonors, ...]:
    """`count` other spellings of every nest that has some. Raises PerfembedError where a program cannot be read."""
    target = target_of(describe_machine(), options.threads)
    sizes = dict(options.parameters)
    results = []
    for path in paths:
        algorithm = Path(path).stem
        for nest in parse(path, read_input(path), options).nests:

            def donors(one: LoopNest, algorithm: str = algorithm) -> list[str]:
                return _donors(one, sizes, target, space, sources, algorithm)

            try:
                spellings = other_spellings(nest, random.Random(f"{seed} {path} {nest.name}"), count)
                wanted = donors(nest) if spellings else []
                got = [donors(spelling) for spelling in spellings]
            except (SchedulerError, PerfembedError) as problem:
                progress(f"{path}: {nest.name}: {problem}")
                continue
            if not got or not wanted:
                continue
            first = sum(one[:1] == wanted[:1] for one in got)
            shared = sum(len(set(one) & set(wanted)) for one in got) / sum(map(len, got))
            results.append(SpellingDonors(path, nest.name, len(got), first, shared))
            progress(f"{path}: {nest.name}: the same first donor in {first} of {len(got)} other spellings")
    return tuple(results)


def _donors(
    nest: LoopNest,
    sizes: Mapping[str, int],
    target: Target,
    space: NestSpace,
    sources: Sequence[Donors],
    algorithm: str,
) -> list[str]:
    vector = space.vector(Replayer(nest), sizes, target)
    return [one.donor.nest_id for one in nearest(sources, vector, _DONORS, accepting(LeftOut([algorithm])))]
