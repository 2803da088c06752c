"""Local refinement: the neighbours of a measured winner, which differ in one parameter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from scheduler.errors import SchedulerError
from scheduler.ir.tree import TreeNode
from scheduler.machine.target import register_shapes
from scheduler.moves.register_blocking import wider_vectors
from scheduler.moves.space import Space, chains_with
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule, nest_steps
from scheduler.search.explorer import Candidate
from scheduler.transform import Pack, Parallelize, RegisterBlock, Skew, Tile, Transformation, Unroll, UnrollJam

_BLOCKS = ((6, 2), (4, 3), (4, 2), (8, 1), (12, 1))  # (rows, vectors a row), as many as registers hold
_OF_SAME = 3  # shapes tried where the block has that width already
_UNROLLED = (2, 4, 8)
_CLOSE = 1.15  # of the fastest one's time


def neighbours(
    space: Space, scheduled: ScheduledNest, *, measured: Collection[tuple[TreeNode, ...]] = (), limit: int = 8
) -> tuple[ScheduledNest, ...]:
    """At most `limit` legal schedules with half or twice a tile, another register block, unrolling or grain.

    None of the trees in `measured` is among them, and none twice. Of several tilings the first one's come first.
    """
    seen = {scheduled.tree, *measured}
    found: list[ScheduledNest] = []
    first = nest_steps(scheduled.schedule)
    rest = scheduled.schedule[len(first) :]
    for schedule in ((*first, *other) for other in _varied(space.of(first), rest)):
        if len(found) == limit:
            break
        try:
            verdict = space.replayer.replay(schedule)
        except SchedulerError:
            continue
        if isinstance(verdict, ScheduledNest) and verdict.tree not in seen:
            seen.add(verdict.tree)
            found.append(verdict)
    return tuple(found)


def _varied(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    """Register blocks exchanged, all tilings scaled, then one loop's tile, then the other parameters; those of a step
    together, by turns.
    """
    turns = [list(_of_step(space, schedule, k)) for k in range(len(schedule))]
    turns.insert(0, list(_register_blocks(space, schedule)))
    for round_ in range(max(map(len, turns), default=0)):
        for options in turns:
            if round_ < len(options):
                yield options[round_]


def _register_blocks(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    """Other sizes of all register blocks at once, then of one."""
    positions = [k for k, s in enumerate(schedule) if isinstance(s, RegisterBlock) and len(s.sizes) == 2]
    together = [positions] if len(positions) > 1 else []
    for chosen in (*together, *([k] for k in positions)):
        for rows, vectors, wide in _shapes(space, schedule, chosen[0]):
            new: dict[int, int] = {}  # sizes of the block before
            steps: list[Transformation] = []
            for position, step in enumerate(schedule):
                if isinstance(step, RegisterBlock):
                    new = {}
                    if position in chosen:
                        sizes = (rows, vectors * _lanes(space, schedule, position, wide))
                        new = dict(zip(step.sizes, sizes, strict=True))
                        step = RegisterBlock(step.loops, sizes, wide)
                elif isinstance(step, Pack):  # panels stay as wide as the register block that reads them
                    step = replace(step, panel=new.get(step.panel, step.panel))
                steps.append(step)
            yield tuple(steps)


def _shapes(space: Space, schedule: Schedule, position: int) -> Iterator[tuple[int, int, int]]:
    """(rows, vectors a row, bytes of a vector, 0 the usual): what the core suggests of other widths first."""
    block = schedule[position]
    assert isinstance(block, RegisterBlock)
    element = _element_bytes(space, schedule, position)
    core = space.target.core
    for wide in wider_vectors(space.target) if element else ():
        found = register_shapes(core, element, wide)
        yield from ((s.rows, s.vectors, wide) for s in found[: 1 if wide != block.vector_bytes else _OF_SAME])
    yield from ((rows, vectors, 0) for rows, vectors in _BLOCKS)


def _element_bytes(space: Space, schedule: Schedule, position: int) -> int:
    """Of what the register block there works with; 0 where its loops are no chain."""
    block = schedule[position]
    assert isinstance(block, RegisterBlock)
    chain = chains_with(space.replayer.tree(schedule[:position]), block.loops[-1])
    return space.element_bytes(chain) if chain else 0


def _lanes(space: Space, schedule: Schedule, position: int, vector_bytes: int) -> int:
    """Elements in a vector of the innermost loop of the register block there."""
    block = schedule[position]
    assert isinstance(block, RegisterBlock)
    element = _element_bytes(space, schedule, position)
    return max(1, (vector_bytes or space.target.vector_bytes) // element) if element else block.sizes[-1]


def _of_step(space: Space, schedule: Schedule, position: int) -> Iterator[Schedule]:
    step = schedule[position]

    def exchanged(*new: Transformation) -> Schedule:
        return (*schedule[:position], *new, *schedule[position + 1 :])

    match step:
        case Tile():
            for factor in (0.5, 2.0):
                yield exchanged(Tile(step.loops, tuple(max(2, int(s * factor)) for s in step.sizes)))
            waves = any(isinstance(later, Skew) and later.outer not in step.loops for later in schedule[position:])
            if len(step.loops) > 1 and not waves:  # the factor of a skew belongs to the sizes' ratio
                for k in range(len(step.loops)):
                    for factor in (0.5, 2.0):
                        sizes = (*step.sizes[:k], max(2, int(step.sizes[k] * factor)), *step.sizes[k + 1 :])
                        yield exchanged(Tile(step.loops, sizes))
        case Unroll() | UnrollJam():
            for factor in _UNROLLED:
                if factor != step.factor:
                    yield exchanged(replace(step, factor=factor))
            yield exchanged()
        case Parallelize():
            for chunk in {max(1, step.chunk // 2), step.chunk * 2} if step.chunk else ():
                yield exchanged(replace(step, chunk=chunk))
            yield exchanged(replace(step, dynamic=1 - step.dynamic, chunk=0 if step.dynamic else 1))
        case _:
            return


def to_refine(ranked: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The fastest, and the next one that is nearly as fast and made of other steps: sizes that suit it may turn it."""

    def steps(candidate: Candidate) -> list[str]:
        return sorted(type(step).__name__ for step in candidate.scheduled.schedule)

    best = ranked[0]
    others = (c for c in ranked[1:] if c.seconds <= _CLOSE * best.seconds and steps(c) != steps(best))
    return (best, *islice(others, 1))
