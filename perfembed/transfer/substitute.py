"""What takes the place of a step that does not fit as it is: loops made perfect first, another loop, a derived band."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

from perfembed.transfer.assignment import distances
from perfembed.transfer.state import TransferState
from perfembed.transfer.view import Path, Side
from scheduler.affine.structures import computed_structures
from scheduler.errors import SchedulerError
from scheduler.ir.tree import Leaf, TreeLoop, path_to, tree_loops
from scheduler.moves.permutable import fuse_time_loop, permutable_band
from scheduler.normalize.stride import permute_steps
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule
from scheduler.transform import (
    Distribute,
    Fuse,
    Interchange,
    Parallelize,
    RegisterBlock,
    Reschedule,
    Shift,
    Tile,
    Transformation,
    Vectorize,
)
from scheduler.transform.transfer import Counterpart, NoCounterpart

_LOOP_FIELDS = frozenset(("outer", "inner", "loop", "loops", "first", "second"))
_MAX_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Substitute:
    """`before` is inserted, then `step` takes the place of `consumed` steps of the donor, for the reason given."""

    before: Schedule
    step: Counterpart
    consumed: int
    reason: str


def isolate(
    side: Side, schedule: Schedule, chain: tuple[str, ...], innermost: bool, wanted: frozenset[str] = frozenset()
) -> tuple[Schedule, dict[str, str]]:
    """(splits that make the loops of `chain` perfectly nested, the loops' new names where they changed).

    `chain` is ordered from outside in; with `innermost` down to the statements. Of several bodies the one with
    a statement of `wanted`, else that with most work, stays with the chain. Raises NoCounterpart where a split is not
    legal.
    """
    view = side.view(schedule)
    paths = [p for p in view.paths if set(chain) <= {x.name for x in p.loops}]
    if not paths:
        raise NoCounterpart(f"loops {', '.join(chain)} are not inside each other")
    path = next((p for p in paths if not wanted.isdisjoint(p.statements)), paths[0])
    statement = path.statements[0]
    names = [loop.name for loop in path.loops]
    first = min(names.index(name) for name in chain)
    last = len(names) - 1 if innermost else max(names.index(name) for name in chain)
    steps: Schedule = ()
    for level in range(last - 1, first - 1, -1):
        for after in (True, False):
            around = _loops_to(side, (*schedule, *steps), statement)
            loop, child = around[level], around[level + 1].name
            at = next(k for k, n in enumerate(loop.children) if isinstance(n, TreeLoop) and n.name == child)
            position = at + 1 if after else at
            if not 0 < position < len(loop.children):
                continue
            split = (*schedule, *steps, Distribute(loop.name, position))
            if not _legal(side, split):
                raise NoCounterpart(f"{loop.name} holds more than loop {child} and cannot be split")
            steps = (*steps, Distribute(loop.name, position))
    renamed = [loop.name for loop in _loops_to(side, (*schedule, *steps), statement)]
    return steps, {old: new for old, new in zip(names, renamed, strict=True) if old != new}


def renamed(schedule: Schedule, names: Mapping[str, str]) -> Schedule:
    """The steps with their loops renamed."""

    def one(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(one, value))
        return names.get(value, value) if isinstance(value, str) else value

    def step(given: Transformation) -> Transformation:
        changed = {f.name: one(getattr(given, f.name)) for f in fields(given) if f.name in _LOOP_FIELDS}
        return replace(given, **changed)  # type: ignore[arg-type]

    return tuple(map(step, schedule))


def substitutes(state: TransferState, schedule: Schedule) -> Iterator[Substitute]:
    """What could stand in for the step after `schedule`, the most similar first; not all of it is legal."""
    match state.step:
        case Interchange():
            yield from _moved(state, state.step)
        case Parallelize():
            yield from _parallel(state, state.step)
        case Vectorize():
            yield from _vector(state, state.step)
        case Tile():
            yield from _banded(state, state.step, schedule)
        case RegisterBlock():
            yield from _other_vector(state, state.step)
        case Shift() | Fuse():
            yield from _fused(state, schedule)
        case Reschedule():
            yield from _recomputed(state, state.step)
        case _:
            return


def _recomputed(state: TransferState, step: Reschedule) -> Iterator[Substitute]:
    """What isl computes for the target, those first that are as deep as what it is to stand for."""
    depth = max(len(one.rows) for one in step.maps)

    def other(structure: Schedule) -> int:
        return min(abs(max(len(m.rows) for m in one.maps) - depth) for one in structure if isinstance(one, Reschedule))

    for found in sorted(computed_structures(state.target.replayer).structures(), key=other):
        yield Substitute((), Counterpart(found, found, ()), 1, "what isl's scheduler computes for these loops")


def _paths(state: TransferState, loop: str) -> tuple[Path, ...]:
    """The target's paths that stand for the donor's paths through a loop."""
    found = (state.matching.target_path(p) for p in state.ours.paths if any(x.name == loop for x in p.loops))
    return tuple(path for path in found if path is not None)


def _free(side: Side, path: Path, sequential: frozenset[str]) -> list[TreeLoop]:
    """The loops of a path that may run in parallel, outermost first; none if one of them does."""
    if any(loop.parallel for loop in path.loops):
        return []
    blocks = {name for loop in path.loops if loop.register for name in loop.register.loops}
    return [
        loop
        for loop in path.loops
        if loop.name not in sequential
        and loop.name not in blocks
        and side.worth_threads(path, loop)
        and not any(inner.parallel for inner in tree_loops(loop.children))
    ]


def _moved(state: TransferState, step: Interchange) -> Iterator[Substitute]:
    """One of the two loops moved past the other while those between keep their order."""
    outer, inner = state.pair(step.outer).target, state.pair(step.inner).target
    path = [loop.name for loop in state.common_path(outer, inner).loops]
    first, last = path.index(outer), path.index(inner)
    if first >= last - 1:
        return
    band = tuple(path[first : last + 1])
    for order, reason in (
        ((*band[1:], outer), f"{outer} alone moved inside {inner}"),
        ((inner, *band[:-1]), f"{inner} alone moved outside {outer}"),
    ):
        found = permute_steps(band, order)
        yield Substitute((), Counterpart(found, found, (), band), 1, reason)


def _parallel(state: TransferState, step: Parallelize) -> Iterator[Substitute]:
    sequential = state.target.sequential(state.theirs, reductions=True)
    for path in _paths(state, step.loop):
        for loop in _free(state.target, path, sequential)[:1]:
            found = (state.grain(step, loop, 1),)
            yield Substitute((), Counterpart(found, found, ()), 1, f"{loop.name} is the outermost that may be parallel")


def _vector(state: TransferState, step: Vectorize) -> Iterator[Substitute]:
    sequential = state.target.sequential(state.theirs)
    for path in _paths(state, step.loop):
        loop = path.loops[-1]
        if (
            all(isinstance(child, Leaf) for child in loop.children)
            and loop.name not in sequential
            and not loop.vector
            and not loop.opaque
        ):
            found = (Vectorize(loop.name),)
            yield Substitute((), Counterpart(found, found, ()), 1, f"{loop.name} is the innermost loop here")


def _banded(state: TransferState, step: Tile, schedule: Schedule) -> Iterator[Substitute]:
    """The skews that make the target's own band permutable, then the tiling."""
    targets = {p.target for name in step.loops if (p := state.loops.get(name))}
    if len(targets) < 2:
        return
    path = state.common_path(*targets)
    names = [loop.name for loop in path.loops]
    inside = [k for k, name in enumerate(names) if name in targets]
    band = path.loops[inside[0] : inside[-1] + 1]
    replayer = state.target.replayer
    if any(len(loop.children) != 1 for loop in band[:-1]):
        return
    with replayer.model.quota():
        skewed = permutable_band(replayer, schedule, band)
    if skewed is None or len(skewed) == len(schedule):
        return
    made = replace(state, theirs=state.target.view(skewed)).counterpart()
    yield Substitute(skewed[len(schedule) :], made, 1, "the skews that let this band be tiled")


def _fused(state: TransferState, schedule: Schedule) -> Iterator[Substitute]:
    """All that the donor delays and fuses, as the target's own time loop needs it."""
    run: list[Transformation] = [state.step]
    for later in state.rest:
        if not isinstance(later, Shift | Fuse):
            break
        run.append(later)
    deepest = len({path_depth(state, s.first) for s in run if isinstance(s, Fuse)})
    replayer = state.target.replayer
    sequential = state.target.sequential(state.theirs)
    times = [x for x in tree_loops(state.theirs.tree) if x.name in sequential and len(x.children) > 1]
    for loop in times[:1]:
        for depth in range(min(max(deepest, 1), _MAX_DEPTH), 0, -1):
            with replayer.model.quota():
                fused = fuse_time_loop(replayer, schedule, loop, depth)
            if fused is not None:
                steps = fused[len(schedule) :]
                reason = f"the delays with which what is inside {loop.name} can be fused"
                yield Substitute((), Counterpart(steps, steps, ()), len(run), reason)
                return


def path_depth(state: TransferState, loop: str) -> int:
    """At which level the donor has a loop; -1 where it has not."""
    path = state.ours.path_of(loop)
    return next((k for k, x in enumerate(path.loops) if x.name == loop), -1) if path else -1


def _other_vector(state: TransferState, step: RegisterBlock) -> Iterator[Substitute]:
    """The loop most like the donor's vector loop among those along which the target writes contiguously."""
    pair = state.loops.get(step.loops[-1])
    paths = _paths(state, step.loops[-1])
    if not paths:
        return
    sequential = state.target.sequential(state.theirs)
    loops = [
        loop
        for loop in paths[0].loops
        if not loop.tile
        and not loop.opaque
        and loop.name not in sequential
        and (pair is None or loop.name != pair.target)
        and state.writes_along(loop)
    ]
    if not loops:
        return
    apart = distances((step.loops[-1],), tuple(x.name for x in loops), state.ours.loops, state.theirs.loops)[0]
    vector = loops[int(apart.argmin())]
    rows = [p.target for n in step.loops[:-1] if (p := state.loops.get(n)) and p.target != vector.name]
    named = (*(state.loop(name) for name in rows), vector)
    sizes = (*step.sizes[: len(rows)], step.sizes[-1])
    names = tuple(loop.name for loop in named)
    found = (RegisterBlock(names, *state.register_sizes(sizes, step.vector_bytes, named)),)
    yield Substitute(
        (), Counterpart(found, found, (), state.order(names), True), 1, f"{vector.name} is written contiguously"
    )


def _loops_to(side: Side, schedule: Schedule, statement: str) -> list[TreeLoop]:
    return [n for _, n in path_to(side.replayer.tree(schedule), statement) if isinstance(n, TreeLoop)]


def _legal(side: Side, schedule: Schedule) -> bool:
    try:
        return isinstance(side.replayer.replay(schedule), ScheduledNest)
    except SchedulerError:
        return False
