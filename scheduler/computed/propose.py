"""Schedules computed from what is known of the machine, each for a core that many programs have; no donor is needed."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.computed.contraction import contractions
from scheduler.computed.factorization import factorizations
from scheduler.computed.lanes import columns, lanes
from scheduler.computed.pivots import pivots
from scheduler.computed.stencils import time_tiles
from scheduler.computed.streams import streams
from scheduler.errors import SchedulerError
from scheduler.moves.space import Space
from scheduler.schedule import Schedule

GENERATORS: tuple[Callable[[Space], tuple[Schedule, ...]], ...] = (
    contractions,
    factorizations,
    time_tiles,
    pivots,
    columns,
    lanes,
    streams,
)
MOST = 6  # schedules of a nest


def computed(space: Space, tell: Callable[[str], None]) -> tuple[Schedule, ...]:
    """Legal schedules for the cores the nest has, at most `MOST`.

    A core whose schedules cannot be had (dependences too hard to analyse) is told of, and does not keep others from
    theirs.
    """
    found: dict[Schedule, None] = {}
    for generator in GENERATORS:
        try:
            with space.replayer.model.quota():
                found |= dict.fromkeys(generator(space))
        except SchedulerError as problem:
            tell(f"no {generator.__name__.replace('_', ' ')} could be computed: {problem}")
    return tuple(found)[:MOST]
