"""What a step of a donor can become after a target's schedule: applied, found done, substituted or skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from perfembed.transfer.assignment import Order, statement_key
from perfembed.transfer.match import Matcher, Matching
from perfembed.transfer.state import TransferState
from perfembed.transfer.substitute import isolate, renamed, substitutes
from perfembed.transfer.view import Part, Side, View
from scheduler.errors import NotApplicable, SchedulerError
from scheduler.ir.tree import tree_loops
from scheduler.polyhedral.verdict import Illegal
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule, named_loops
from scheduler.transform import (
    Pack,
    Parallelize,
    RegisterBlock,
    Reschedule,
    Shift,
    Stream,
    Tile,
    Transformation,
    Unroll,
    UnrollJam,
    Vectorize,
)
from scheduler.transform.transfer import AlreadySo, Counterpart, NoCounterpart, Pair, Unmatched

_WEIGHTS: dict[type[Transformation], float] = {
    RegisterBlock: 2.0,
    Tile: 1.5,
    Parallelize: 1.5,
    Pack: 0.5,
    Vectorize: 0.5,
    Shift: 0.5,
    Unroll: 0.25,
    UnrollJam: 0.75,
    Stream: 0.5,
}
_INSERTED_COST = 0.1
_SUBSTITUTED_COST = 0.4
_DONE_COST = 0.02
_MARKS = (Parallelize, Vectorize, Unroll, Pack, Stream)
_UNCHECKED = (Unroll, Pack, Stream)  # nothing of the order depends on them; the candidate is proved as a whole


@dataclass(frozen=True, slots=True)
class Logged:
    """What became of a step of the donor (None: of no step). `steps` are the target's, as adapted; `literal` the same
    with the donor's own parameters, empty where they are no others."""

    action: OneOf["applied", "already", "substituted", "inserted", "skipped"]
    donor: Transformation | None
    steps: Schedule
    reason: str
    pairs: tuple[Pair, ...] = ()
    literal: Schedule = ()


@dataclass(frozen=True, slots=True)
class Alignment:
    """A target schedule with the donor's parameters adapted, and `literal`: with its own. Neither is proved yet.

    `cost` is 0 where everything was applied to equal nodes and 1 where everything was skipped. `known` are the loops
    of both nests as written that stood for each other, `touched` the target's that more than marks were put on.
    """

    schedule: Schedule
    literal: Schedule
    cost: float
    log: tuple[Logged, ...]
    known: tuple[tuple[str, str], ...] = ()
    touched: frozenset[str] = frozenset()


class Successors:
    """One donor's steps; what each of them can become after a target's schedule."""

    def __init__(
        self, donor: Side, schedule: Schedule, target: Side, base: Schedule, parts: tuple[Part, Part], repair: bool
    ) -> None:
        self.donor = donor
        self.target = target
        self.schedule = schedule
        self.matcher = Matcher(*parts)
        self.repair = repair
        self.views: list[View] = []  # before each step
        self.refused: list[str] = []  # why the donor itself cannot take the step
        prefix: Schedule = ()
        for step in schedule:
            self.views.append(donor.view(prefix))
            try:
                donor.view((*prefix, step))
            except NotApplicable as error:
                self.refused.append(str(error))
            else:
                prefix = (*prefix, step)
                self.refused.append("")
        _, first = next(self.matcher.match(donor.view(()), target.view(base), {}, ("level",)))
        self.shared = frozenset(s for path, _ in first.paths for s in path.statements)

    def weight(self, position: int) -> float:
        """How much a step matters: by its kind, and the share of the donor's work that it concerns.

        Only of that part of the donor for which the target has anything: a target that is but one of the donor's nests
        is as good as all of them.
        """
        step, view = self.schedule[position], self.views[position]
        named = set(_concerning(step, view))
        concerned = (p for p in view.paths if named & {x.name for x in p.loops})
        work = sum(self.donor.share(p) for p in concerned if not self.shared or self.shared & set(p.statements))
        return _WEIGHTS.get(type(step), 1.0) * max(work, 0.01)

    def of(self, position: int, state: Alignment) -> Iterator[tuple[int, Alignment]]:
        """(how many steps of the donor were used up, the state after them)."""
        step = self.schedule[position]
        reasons: list[str] = []
        states: list[TransferState] = []
        found = unmatched = False
        if self.refused[position]:
            reasons.append(f"the donor itself cannot take it: {self.refused[position]}")
        else:

            def orders() -> Iterator[Order]:
                if self.repair:
                    yield from ("outer", "free")
                if not self.repair or (unmatched and not found):
                    yield "level"

            for matching in self._matchings(position, state, orders()):
                theirs = self.target.view(state.schedule)
                rest = self.schedule[position + 1 :]
                states.append(
                    TransferState(self.donor, self.target, self.views[position], theirs, matching, step, rest)
                )
                try:
                    yield 1, self._applied(position, state, states[-1])
                    found = True
                except AlreadySo as error:
                    entry = Logged("already", step, (), str(error))
                    yield 1, replace(state, cost=state.cost + _DONE_COST, log=(*state.log, entry))
                    found = True
                except SchedulerError as error:
                    unmatched = unmatched or (isinstance(error, Unmatched) and not found)
                    reasons.append(str(error))
        if not self.repair:
            return
        if not found:
            for transfer_state in states[:1]:
                yield from self._substituted(position, state, transfer_state, reasons)
            entry = Logged("skipped", step, (), reasons[0] if reasons else "nothing of it fits")
            yield 1, replace(state, cost=state.cost + self.weight(position), log=(*state.log, entry))

    def _matchings(self, position: int, state: Alignment, orders: Iterable[Order]) -> Iterator[Matching]:
        """Those that say something different about the step's operands."""
        named = _concerning(self.schedule[position], self.views[position])
        seen: list[tuple[str | None, ...]] = []
        ours, theirs = self.views[position], self.target.view(state.schedule)
        for _, found in self.matcher.match(ours, theirs, dict(state.known), orders):
            partners = tuple(pair.target if (pair := found.loops.get(n)) else None for n in named)
            if partners not in seen:
                seen.append(partners)
                yield found

    def _applied(self, position: int, state: Alignment, transfer_state: TransferState) -> Alignment:
        made = transfer_state.counterpart()
        apart = sum(pair.distance for pair in made.pairs) / max(len(made.pairs), 1)
        following = self._extended(state, made, "applied", transfer_state, made.note, ())
        return replace(following, cost=following.cost + self.weight(position) * apart)

    def _substituted(
        self, position: int, state: Alignment, transfer_state: TransferState, reasons: list[str]
    ) -> Iterator[tuple[int, Alignment]]:
        try:
            for option in substitutes(transfer_state, state.schedule):
                why = f"{option.reason}; instead, because {reasons[0]}" if reasons else option.reason
                try:
                    following = self._extended(state, option.step, "substituted", transfer_state, why, option.before)
                except SchedulerError as error:
                    reasons.append(str(error))
                    continue
                used = range(position, position + option.consumed)
                cost = following.cost + _SUBSTITUTED_COST * sum(map(self.weight, used))
                yield option.consumed, replace(following, cost=cost)
                return
        except SchedulerError as error:  # nothing to be derived from this target
            reasons.append(str(error))

    def _extended(
        self,
        state: Alignment,
        made: Counterpart,
        action: OneOf["applied", "substituted"],
        transfer_state: TransferState,
        reason: str,
        before: Schedule,
    ) -> Alignment:
        """The state with a step's counterpart, after what has to be inserted for it. Raises SchedulerError."""
        step = transfer_state.step
        inserted, names = before, dict[str, str]()
        if made.chain and self.repair:
            splits, names = isolate(
                self.target, (*state.schedule, *before), made.chain, made.innermost, _concerned(transfer_state)
            )
            inserted = (*before, *splits)
        adapted, literal = renamed(made.adapted, names), renamed(made.literal, names)
        schedule = (*state.schedule, *inserted, *adapted)
        tree = self.target.replayer.tree(schedule)
        if not isinstance(step, _UNCHECKED):
            self._check(schedule, step)
        log = state.log
        if inserted:
            why = "so that its loops are perfectly nested" if not before else reason
            log = (*log, Logged("inserted", None, inserted, why))
        origins = {loop.name: loop.origin for loop in tree_loops(transfer_state.theirs.tree)}
        ours = {loop.name: loop.origin for path in self.donor.view(()).paths for loop in path.loops}
        ours |= {x.name: x.origin for view in self.views for path in view.paths for x in path.loops}
        loops = [pair for pair in made.pairs if pair.kind == "loop"]
        known = dict(state.known) | {ours[p.donor]: origins[p.target] for p in loops if p.donor in ours}
        for path, _ in transfer_state.matching.paths:
            if set(named_loops(step)) <= {loop.name for loop in path.loops}:
                partners = transfer_state.matching.statements
                known |= {statement_key(s): partners[s].target for s in path.statements if s in partners}
        touched = state.touched
        if not isinstance(step, _MARKS):
            every = {x.name: x.origin for x in tree_loops(tree)} | origins
            touched |= {every[n] for one in adapted for n in _concerning(one, transfer_state.theirs) if n in every}
        return Alignment(
            schedule,
            (*state.literal, *inserted, *literal),
            state.cost + _INSERTED_COST * len(inserted),
            (*log, Logged(action, step, adapted, reason, made.pairs, literal if literal != adapted else ())),
            tuple(known.items()),
            touched,
        )

    def _check(self, schedule: Schedule, step: Transformation) -> None:
        """The order must be legal after every step; marks that earlier steps set may wait. Raises NoCounterpart."""
        verdict = self.target.replayer.replay(schedule)
        if isinstance(verdict, ScheduledNest):
            return
        if isinstance(verdict, Illegal):
            stale = verdict.loop is not None and not isinstance(step, Parallelize | Vectorize | RegisterBlock)
            if not stale:
                raise NoCounterpart(f"not legal: {verdict}")
            return
        raise NoCounterpart(verdict.reason)


def _concerning(step: Transformation, view: View) -> tuple[str, ...]:
    """The loops that a step is about."""
    return tuple(view.kinds) if isinstance(step, Reschedule) else named_loops(step)


def _concerned(transfer_state: TransferState) -> frozenset[str]:
    """The target's statements for those under all loops of the donor's step; of several the heaviest."""
    named = set(named_loops(transfer_state.step))
    for path, partner in transfer_state.matching.paths:
        if named <= {loop.name for loop in path.loops}:
            return frozenset(partner.statements)
    return frozenset()
