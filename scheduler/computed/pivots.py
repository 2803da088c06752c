"""Loops around a pivot: one iteration of theirs writes what all the others read (Floyd-Warshall, Gauss-Jordan).

`for k { for i { for j: S(A[i][j], A[i][k], A[k][j]) } }` can run no loop in parallel, for row k and column k change
while they are read. Split at k and at k + 1, the iterations before the pivot and those behind it are parallel.
Source: Griebl, Feautrier and Lengauer 2000 (index set splitting), IJPP 28(6); that the places are those where two
subscripts of an array meet is ours.
"""

from __future__ import annotations

from scheduler.errors import NotApplicable
from scheduler.ir.affine import Affine
from scheduler.ir.walk import Placed, uses
from scheduler.moves.space import Space
from scheduler.normalize.stride import minimize_strides
from scheduler.schedule import Schedule
from scheduler.transform import Parallelize, Split

_MOST_SPLITS = 16
_DEEP = 1000
_LEAST_SHARE = 0.05  # of the nest's work is in a statement whose loops are split


def pivots(space: Space) -> tuple[Schedule, ...]:
    """The nest with its sequential loops split at pivots, where loops become parallel by that; legal schedules.

    Empty where a loop as far outside is parallel without, or no pivot is found. Raises QuotaExceeded.
    """
    splits = _splits(space) if space.target.threads > 1 else ()
    if not splits or _parallel_depth(space) <= min(_depth(space, s.loop) for s in splits if isinstance(s, Split)):
        return ()
    inside = space.of(splits)
    orders = dict.fromkeys(((), minimize_strides(inside.replayer, ())))
    made = (inside.vectorized(inside.parallelized(order)) for order in orders)
    found = ((*splits, *schedule) for schedule in made if _is_parallel(schedule))
    return tuple(schedule for schedule in found if space.legal(schedule))


def _parallel_depth(space: Space) -> int:
    """Loops around the outermost that is parallel as written; more than there are where none is."""
    marks = (step.loop for step in space.parallelized(()) if isinstance(step, Parallelize))
    return min((_depth(space, loop) for loop in marks), default=_DEEP)


def _depth(space: Space, name: str) -> int:
    """Loops of the nest as written around one of them; none is as deep as a loop that splits made."""
    every = (placed.loops for placed in space.replayer.model.placed.values())
    return next((k for around in every for k, loop in enumerate(around) if loop.name == name), _DEEP)


def _is_parallel(schedule: Schedule) -> bool:
    return any(isinstance(step, Parallelize) for step in schedule)


def _splits(space: Space) -> Schedule:
    """Each loop of the statements with the most work that carries dependences split around its first pivot."""
    splits: Schedule = ()
    done: set[str] = set()
    while len(splits) + 2 <= _MOST_SPLITS:
        found = _next(space.of(splits), done)
        if found is None:
            break
        name, depth, at = found
        done.add(name)
        try:
            behind = _second_part(space, splits, Split(name, at), depth)
            first, second = Split(name, at), Split(behind, at + 1)
            done |= {behind, _second_part(space, (*splits, first), second, depth)}
        except NotApplicable:
            continue
        splits = (*splits, first, second)
    return splits


def _second_part(space: Space, splits: Schedule, step: Split, depth: int) -> str:
    """The name of the second of the loops that a loop at some depth is split into. Raises NotApplicable."""
    before, after = (space.of(s).replayer.model.placed for s in (splits, (*splits, step)))
    return next(placed.loops[depth].name for name, placed in after.items() if name not in before)


def _next(space: Space, done: set[str]) -> tuple[str, int, Affine] | None:
    """A loop that carries dependences, its depth, and the iteration of it that writes what others read."""
    sequential = space.sequential(())
    total = sum(space.instances(name) for name in space.replayer.model.placed)
    for name, placed in space.replayer.model.placed.items():
        if space.instances(name) < _LEAST_SHARE * total:
            continue
        for depth, loop in enumerate(placed.loops[1:], 1):
            if loop.name in sequential and loop.name not in done and (at := _pivot(placed, depth)) is not None:
                return loop.name, depth, at
    return None


def _pivot(placed: Placed, depth: int) -> Affine | None:
    """The iteration of a statement's loop in which it writes what it reads in all: outside iterators say which."""
    loop = placed.loops[depth]
    if loop.is_opaque or loop.step != 1:
        return None
    inside = {x.name for x in placed.loops[depth:]}
    accesses = [use.access for use in uses(placed)]
    for written in (use.access for use in uses(placed) if use.is_write):
        for place, subscript in enumerate(written.subscripts):
            if not isinstance(subscript, Affine) or subscript.coefficient(loop.name) != 1:
                continue
            rest = subscript - Affine.of(loop.name)
            for other in (access for access in accesses if access.array == written.array):
                meeting = other.subscripts[place]
                if isinstance(meeting, Affine) and not (meeting.names() | rest.names()) & inside and meeting.names():
                    return meeting - rest
    return None
