"""Where the candidates of a nest come from: sources behind one protocol.

What is known of the nest, what is computed for the machine, what donors lead to, what a model predicts to be fast, and
the neighbours of what was fast.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol

from perfembed.errors import UsageError
from perfembed.measuring.measurer import Conditions, Measurer
from perfembed.tuning.nest_outcome import Effort
from scheduler.codegen.emit.workload import plain
from scheduler.computed.propose import computed
from scheduler.errors import SchedulerError, TextError
from scheduler.ir.nest import LoopNest
from scheduler.moves.openmp_schedule import fitted, steady
from scheduler.moves.space import Space
from scheduler.polyhedral.verdict import Illegal
from scheduler.replay import LegalityOptions, Refused, Replayer, ScheduledNest
from scheduler.schedule import Schedule, parse_schedule
from scheduler.search.drawn import Drawn
from scheduler.search.explorer import Candidate, Evaluate, in_variety
from scheduler.search.neighbours import neighbours, to_refine

if TYPE_CHECKING:
    from perfembed.retrieval.retrieve import Retrieval, Retrieved
    from perfembed.transfer.view import Side
    from perfembed.tuning.profiled import NestProfiled, Profiler


_RETRIEVAL_S = 2.0  # for finding candidates; of a long or a short budget so much:
_RETRIEVAL_SHARES = 1 / 30, 0.3
_REFINED = 4  # neighbours of the best schedule, measured at a time
_DRAWN_BATCH = 4


@dataclass(frozen=True, slots=True)
class SearchContext:
    """Of one nest's search. `threads_around`: how it runs among other threads (`Sharing.context`); `note` keeps what a
    reader of the outcome should know.
    """

    space: Space
    threads_around: str
    note: Callable[[str], None]


class Source(Protocol):
    """One way to candidates."""

    def propose(self, nest: Replayer, context: SearchContext) -> Iterable[Schedule]:
        """Schedules of the nest, the most promising first; not all of them need be legal."""
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """What earlier runs found good, or an expert wrote."""

    schedules: Sequence[Schedule]

    def propose(self, nest: Replayer, context: SearchContext) -> Iterable[Schedule]:
        return self.schedules


class Computed:
    """What suits the machine, from the machine alone."""

    def propose(self, nest: Replayer, context: SearchContext) -> Iterable[Schedule]:
        first = nest.eliminations()
        found = computed(context.space.of(first) if first else context.space, context.note)
        return [(*first, *schedule) for schedule in found]


@dataclass(frozen=True, slots=True)
class Transferred:
    """What the schedules of similar nests lead to; None: donors could not be looked for."""

    found: Retrieved | None

    def propose(self, nest: Replayer, context: SearchContext) -> Iterable[Schedule]:
        return [c.scheduled.schedule for c in self.found.recommendation.chosen] if self.found is not None else []


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a search found on a model's predictions, in their order, but not the alike ones in a row."""

    ranked: tuple[Candidate, ...]

    def propose(self, nest: Replayer, context: SearchContext) -> Iterable[Schedule]:
        found = [c.scheduled.schedule for c in self.ranked]
        return [found[place] for place in in_variety(found, [c.seconds for c in self.ranked])]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Of the best schedules that were measured (`scheduler.search.neighbours.to_refine`)."""

    ranked: tuple[Candidate, ...]

    def propose(self, nest: Replayer, context: SearchContext) -> Iterable[Schedule]:
        return self.parents(context)

    def parents(self, context: SearchContext) -> dict[Schedule, Schedule]:
        """Each neighbour with the schedule it is one of."""
        measured = {c.scheduled.tree for c in self.ranked}
        chosen = to_refine(self.ranked)
        return {
            steady(near.schedule, context.threads_around): one.scheduled.schedule
            for one in chosen
            for near in neighbours(context.space, one.scheduled, measured=measured, limit=_REFINED // len(chosen))
        }


def proposed(nest: Replayer, context: SearchContext, *sources: Source) -> list[Schedule]:
    """What the sources propose by turns, each schedule once, as it must be among other threads and does best."""
    by_turns = zip_longest(*(source.propose(nest, context) for source in sources))
    around = context.threads_around
    schedules = (one for turn in by_turns for one in turn if one is not None)
    return list(dict.fromkeys(fitted(nest, steady(one, around), around) for one in schedules))


def drawing(space: Space, effort: Effort, measure: Evaluate, conditions: Conditions, deadline: float) -> Drawn | None:
    """The search that draws a share of the candidates at random from all that is legal, for cost models to learn from.

    Within their share of the time until `deadline` (s); None where there are none. It comes before the search proper:
    what that does not find for lack of time must be there all the same.
    """
    now = conditions.runner.now
    wanted = math.ceil(effort.drawn * ((effort.schedules if effort.evaluate == "run" else effort.top) or 0))
    if not wanted or effort.evaluate == "model":
        return None
    last = now() + effort.drawn * (deadline - now())
    return Drawn(space, measure, seed=conditions.seed, batch=_DRAWN_BATCH, limit=wanted, expired=lambda: now() > last)


@dataclass(frozen=True, slots=True)
class Donated:
    """What looking for donors found, or why nothing (`problem`); `profiled`: the nest, before that."""

    found: Retrieved | None = None
    profiled: NestProfiled | None = None
    problem: str = ""

    @property
    def donors(self) -> dict[Schedule, tuple[str, float]]:
        """Of each candidate that is a donor's: the donor, and how far the nests' embeddings are apart."""
        chosen = self.found.recommendation.chosen if self.found is not None else ()
        return {c.scheduled.schedule: (c.donor.name, c.donor.distance) for c in chosen if c.donated}


def donated(
    retrieval: Retrieval, measurer: Measurer, effort: Effort, seconds: float | None, profiler: Profiler | None
) -> Donated:
    """Finds what donors lead to; `seconds`: the nest as written on one thread. Needs no time of the original."""
    profiled: NestProfiled | None = None
    try:
        side = retrieval.side(measurer.replayer, measurer.captured.parameters)
        profiled = _profiled(retrieval, side, measurer, profiler) if profiler is not None else None
        clock = _retrieval_clock(measurer.conditions, effort)
        found = retrieval.retrieve(
            side,
            measure=effort.top,
            expired=clock,
            profile=profiled.profile if profiled is not None else None,
            seconds=seconds,
            writable=lambda scheduled: isinstance(measurer.body(scheduled), str),
        )
    except SchedulerError as problem:
        return Donated(profiled=profiled, problem=f"nothing could be transferred: {problem}")
    return Donated(found, profiled)


def _profiled(retrieval: Retrieval, side: Side, measurer: Measurer, profiler: Profiler) -> NestProfiled | None:
    """The nest's, where donors had better be looked for with its profile."""
    donors = retrieval.neighbours(side)
    why = profiler.reason(measurer.nest, donors)
    if not why:
        return None
    conditions = measurer.conditions
    folder = conditions.workdir / "profile"
    found = profiler.profile(why, measurer.nest, measurer.captured, conditions.threads, conditions.compiler, folder)
    return replace(found, before=donors)


def _retrieval_clock(conditions: Conditions, effort: Effort) -> Callable[[], bool]:
    """Whether donors enough were looked at; asked first after the nearest, for which models had to be loaded."""
    least, most = (effort.budget_s * share for share in _RETRIEVAL_SHARES)
    last = conditions.runner.now() + most
    started: list[float] = []

    def expired() -> bool:
        now = conditions.runner.now()
        if not started:
            started.append(now)
        return now > min(started[0] + max(_RETRIEVAL_S, least), last)

    return expired


_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*:(.*)", re.DOTALL | re.ASCII)


def expert_schedules(
    texts: Sequence[str], nests: Sequence[LoopNest], allowed: Callable[[LoopNest], LegalityOptions]
) -> Mapping[str, Schedule]:
    """Schedules by the names of their nests, of texts `NEST: step; step`, or `step; step` where there is one nest.

    Raises UsageError for a text that does not parse, a nest that there is not, and a schedule that is not legal.
    """
    named = {nest.name: nest for nest in nests}
    shown = ", ".join(f"{n.name} (line {n.span.line})" if n.span else n.name for n in nests) or "none that can be tuned"
    found: dict[str, Schedule] = {}
    for text in texts:
        match = _NAMED.fullmatch(text)
        if match is None and len(nests) != 1:
            raise UsageError("--schedule: which nest is it for?", f"--schedule 'NEST: …' with one of {shown}")
        name, steps = (match[1], match[2]) if match is not None else (nests[0].name, text)
        if name not in named:
            raise UsageError(f"--schedule: there is no nest {name}", f"nests: {shown}")
        if name in found:
            raise UsageError(f"--schedule: there are two for nest {name}", "give one")
        try:
            found[name] = parse_schedule(steps.strip())
        except TextError as problem:
            raise UsageError(f"--schedule: {problem}", "docs/reference/transformations.md has the steps") from None
        _prove(named[name], found[name], allowed(named[name]))
    return found


def _prove(nest: LoopNest, schedule: Schedule, allowed: LegalityOptions) -> None:
    """Raises UsageError with the first step that cannot be taken, or two instances that would change places."""
    nest = plain(nest)
    where = f"--schedule: nest {nest.name}" + (f" (line {nest.span.line})" if nest.span else "")
    try:
        verdict = allowed.replayer(nest).replay(schedule)
    except SchedulerError as problem:
        raise UsageError(f"{where}: {problem}") from None
    if isinstance(verdict, ScheduledNest):
        return
    if isinstance(verdict, Refused):
        raise UsageError(f"{where}: step {verdict.step + 1}: {verdict.reason}")
    if isinstance(verdict, Illegal):
        raise UsageError(f"{where}: it would change what the program computes: {verdict}")
    raise UsageError(f"{where}: whether it is legal is not known: {verdict.reason}")
