"""All that one donor offers a target: alignments of whole nests and of what is inside sequential loops, all proved."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal as OneOf

from perfembed.transfer.align import align
from perfembed.transfer.embedders import NodeEmbedder, Tree
from perfembed.transfer.successors import Alignment, Logged
from perfembed.transfer.view import WHOLE, Part, Side, View, normalized, outer_sequential
from scheduler.affine.structures import computed_structures
from scheduler.computed.stencils import suited
from scheduler.errors import NotApplicable, SchedulerError
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.moves.wider_vectors import in_wider_vectors
from scheduler.normalize.fission import refuse_neighbours
from scheduler.polyhedral.verdict import Illegal
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, nest_steps, parse_schedule
from scheduler.transform import ForwardArray, Pack, Parallelize, Reschedule, Vectorize

Parameters = OneOf["adapted", "literal"]
_ROUNDS = 4
_MINIMUM_SHARE = 0.05
_NORMALIZED_COST = 0.02
_COMPUTED, _COMPUTED_STEPS = 2, 4  # structures, and how many steps of others one is like
_STALE_MARKS = 8
_PERFECT = 0.06
_NOT_ALIKE = 0.6
_LONG = 16  # steps; of more than these the shortest are not looked for


@dataclass(frozen=True, slots=True)
class Donor:
    """A nest out of the database with its schedule; `distance` of the nests' embeddings, `speedup` where measured."""

    side: Side
    schedule: Schedule
    name: str
    distance: float = 0.0
    speedup: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A legal schedule of the target and where it comes from.

    `parameters`: the donor's own or adapted. `completed`: loops that the recipe says nothing about got the usual marks.
    `inside`: the sequential loops around were left out of the matching. `cost` is the alignment's (`Alignment`).
    """

    scheduled: ScheduledNest
    donor: Donor
    cost: float
    log: tuple[Logged, ...]
    parameters: Parameters
    completed: bool
    inside: bool

    @property
    def donated(self) -> bool:
        """Whether anything of it is the donor's: else all of it was derived from the target."""
        return any(entry.donor is not None and entry.action != "skipped" for entry in self.log)


def read_donor(
    nest: Side | LoopNest | str,
    schedule: Schedule | str,
    sizes: Mapping[str, int],
    machine: Target,
    embedder: NodeEmbedder,
    *,
    name: str,
    distance: float = 0.0,
    speedup: float | None = None,
) -> Donor:
    """A donor from what a database holds: texts are parsed strictly. `sizes` of the parameters, `machine` it ran on.

    A side that was read before is used as it is. What a search did and undid again is left out: the target need not fit
    it. A donor that did without private arrays is the nest that was left. Raises SchedulerError (text that does not
    parse, dependences too hard to compute, other steps that change the
    nest itself: these are computed for each nest anew, in `scheduler.computed`).
    """
    steps = parse_schedule(schedule) if isinstance(schedule, str) else schedule
    first = tuple(takewhile(lambda step: isinstance(step, ForwardArray), steps))
    steps = steps[len(first) :]
    if nest_steps(steps):
        raise NotApplicable("a schedule that changes the nest itself fits no other nest")
    if not isinstance(nest, Side):
        found = parse_nest(nest) if isinstance(nest, str) else nest
        nest = Side(Replayer(found), sizes, machine, embedder)
    if first:
        nest = Side(nest.replayer.of(first), nest.parameters, nest.machine, embedder, first)
    if len(steps) <= _LONG:
        with contextlib.suppress(NotApplicable):  # the alignment says which step does not fit
            steps = nest.replayer.shortest(steps)
    return Donor(nest, steps, name, distance, speedup)


def candidates(donor: Donor, target: Side, *, width: int = 2, repair: bool = True) -> tuple[Candidate, ...]:
    """The legal schedules a donor leads to, least cost first, each tree once; none that leaves the target as it is.

    With `repair` False the paper's recipe: every step must match and apply as it is.
    """
    found: dict[Tree, Candidate] = {}
    plain = target.replayer.tree(())
    for alignment, inside in _alignments(donor, target, width, repair):
        for schedule, parameters, log in variants(alignment, repair, target):
            proved, dropped = prove(target, schedule)
            if proved is None:
                continue
            log = (*log, *dropped)
            made = [Candidate(proved, donor, alignment.cost, log, parameters, False, inside)]
            if repair:
                made += completed(target, made[0])
            for one in made:
                tree = one.scheduled.tree
                if tree != plain and (tree not in found or one.cost < found[tree].cost):
                    found[tree] = one
    return tuple(sorted(found.values(), key=lambda c: c.cost))


def variants(
    alignment: Alignment, repair: bool, target: Side
) -> Iterator[tuple[Schedule, Parameters, tuple[Logged, ...]]]:
    """With adapted parameters, the donor's own, where tiles run in wavefronts the sizes that suit the machine, register
    blocks of wider vectors where it has some, and where the nests differ also without buffers; each with its log."""
    yield alignment.schedule, "adapted", alignment.log
    for fitted in (suited, in_wider_vectors) if repair else ():
        if (ours := fitted(target.space, alignment.schedule)) != alignment.schedule:
            changed = {old: new for old, new in zip(alignment.schedule, ours, strict=True) if old != new}
            log = (replace(e, steps=tuple(changed.get(step, step) for step in e.steps)) for e in alignment.log)
            yield ours, "adapted", tuple(log)
    if alignment.literal != alignment.schedule:
        yield alignment.literal, "literal", tuple(replace(e, steps=e.literal or e.steps) for e in alignment.log)
    packs = {step for step in alignment.schedule if isinstance(step, Pack)}
    if packs and repair and alignment.cost > _PERFECT:
        rest = tuple(step for step in alignment.schedule if not isinstance(step, Pack))
        reason = "tried without buffers: what pays at the donor need not here"
        skipped = (
            Logged("skipped", e.donor, (), reason) if e.steps and packs.issuperset(e.steps) else e
            for e in alignment.log
        )
        yield rest, "adapted", tuple(skipped)


def prove(target: Side, schedule: Schedule) -> tuple[ScheduledNest | None, tuple[Logged, ...]]:
    """The schedule proved legal as a whole; marks that later steps made illegal are dropped, and logged, first."""
    dropped: list[Logged] = []
    for _ in range(_STALE_MARKS):
        try:
            verdict = target.replayer.replay(schedule)
        except SchedulerError:
            return None, ()
        if isinstance(verdict, ScheduledNest):
            return verdict, tuple(dropped)
        if not isinstance(verdict, Illegal) or verdict.loop is None:
            return None, ()
        named = verdict.loop
        stale = [s for s in schedule if isinstance(s, Parallelize | Vectorize) and s.loop == named]
        if not stale:
            return None, ()
        schedule = tuple(s for s in schedule if s is not stale[-1])
        dropped.append(Logged("skipped", stale[-1], (), f"not legal after the later steps: {verdict}"))
    return None, ()


def _alignments(donor: Donor, target: Side, width: int, repair: bool) -> Iterator[tuple[Alignment, bool]]:
    """(alignment, whether it leaves out sequential loops around): of the whole nests, then of what is inside."""
    if not repair:
        for alignment in align(donor.side, donor.schedule, target, width=width, repair=False):
            yield alignment, False
        return
    hidden = outer_sequential(donor.side), outer_sequential(target)
    best = 1.0
    for base, extra in bases(target, donor.schedule):
        if best <= _PERFECT:
            return
        seen = set[tuple[frozenset[str], frozenset[str]]]()
        whole = (WHOLE, WHOLE)
        parts = [whole]
        while parts:
            chosen = parts.pop(0)
            seen.add((chosen[0].hidden, chosen[1].hidden))
            for alignment in align(donor.side, donor.schedule, target, base=base, parts=chosen, width=width):
                best = min(best, alignment.cost)
                complete = _continued(donor, target, alignment, chosen)
                log = (*begun(base), *complete.log)
                yield replace(complete, cost=complete.cost + extra, log=log), chosen != whole
                if chosen is whole:
                    used = {a for a, _ in alignment.known}, {b for _, b in alignment.known}
                    ours = hidden[0] if used[0] & hidden[0] else frozenset[str]()
                    theirs = hidden[1] if used[1] & hidden[1] else frozenset[str]()
                    if (ours, theirs) not in seen:
                        seen.add((ours, theirs))
                        parts.append((Part(hidden=ours), Part(hidden=theirs)))


def bases(target: Side, donor: Schedule = ()) -> Iterator[tuple[Schedule, float]]:
    """(schedule to begin with, what that costs): the target as written, split and reordered for small strides, that
    with the loops fused again where data are shared, and what isl's scheduler computes. The latter makes loops anew,
    which no step may precede: it is left out for donors that do so themselves."""
    computed = computed_structures(target.replayer)  # asked for first, waited for last
    split = normalized(target)
    fused = target.remembered("fused", lambda: refuse_neighbours(target.replayer, split))
    known = dict.fromkeys(((), split, fused))
    yield from ((base, _NORMALIZED_COST * len(base)) for base in known)
    if not any(isinstance(step, Reschedule) for step in donor):
        found = computed.structures(tuple(known))[:_COMPUTED]
        yield from ((base, _NORMALIZED_COST * _COMPUTED_STEPS) for base in found)


def begun(base: Schedule) -> tuple[Logged, ...]:
    """What is logged of the steps that an alignment began with."""
    if not base:
        return ()
    computed = any(isinstance(step, Reschedule) for step in base)
    reason = "what isl's scheduler computes" if computed else "loops split, or reordered for small strides"
    return (Logged("inserted", None, base, f"to begin with: {reason}"),)


def _continued(donor: Donor, target: Side, first: Alignment, parts: tuple[Part, Part]) -> Alignment:
    """The recipe once more for those parts of the target that it has not reached yet (two products, one donor)."""
    result = first
    for _ in range(_ROUNDS):
        view = target.view(result.schedule)
        missed = [
            path
            for path in view.paths
            if target.share(path) >= _MINIMUM_SHARE and not result.touched & {x.origin for x in path.loops}
        ]
        if not missed or not result.touched:
            return result
        left = Part(frozenset(missed[0].statements), parts[1].hidden)
        share = target.share(missed[0])
        early = {loop.name for loop in missed[0].loops}
        base, literal = _unmarked(result.schedule, early), _unmarked(result.literal, early)
        found = align(donor.side, donor.schedule, target, base=base, parts=(parts[0], left), width=1)
        if not found or not found[0].touched or found[0].cost > _NOT_ALIKE:
            return result
        more = found[0]
        result = Alignment(
            more.schedule,
            (*literal, *more.literal[len(base) :]),
            result.cost * (1 - share) + more.cost * share,
            (*result.log, *more.log),
            (*result.known, *more.known),
            result.touched | more.touched,
        )
    return result


def _unmarked(schedule: Schedule, loops: set[str]) -> Schedule:
    """Without the marks on loops that are only now to be transformed."""
    return tuple(s for s in schedule if not (isinstance(s, Parallelize | Vectorize) and s.loop in loops))


def _worth(target: Side, view: View, mark: Parallelize) -> bool:
    path, loop = view.path_of(mark.loop), view.loop(mark.loop)
    return path is not None and loop is not None and target.worth_threads(path, loop)


def completed(target: Side, candidate: Candidate) -> list[Candidate]:
    """The candidate with the usual marks on all loops that have none."""
    space, schedule = target.space, candidate.scheduled.schedule
    try:
        with target.replayer.model.quota():
            marks = space.vectorized(space.parallelized(schedule))[len(schedule) :]
    except SchedulerError:
        return []
    view = target.view(schedule)
    marks = tuple(mark for mark in marks if not isinstance(mark, Parallelize) or _worth(target, view, mark))
    marked = (*schedule, *marks)
    proved, dropped = prove(target, marked) if marked != schedule else (None, ())
    if proved is None:
        return []
    entry = Logged("inserted", None, marked[len(schedule) :], "the usual marks where the recipe says nothing")
    return [replace(candidate, scheduled=proved, log=(*candidate.log, entry, *dropped), completed=True)]
