"""Tunes one nest: searches schedules by measuring them, then confirms and checks the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from perfembed.capture import CapturedNest
from perfembed.measuring.checking import Checker, Reference
from perfembed.measuring.ledger import Ledger
from perfembed.measuring.measurer import Checked, Conditions, Measurer, Original
from perfembed.measuring.trials import HOPEFUL, SLOW_S, TrialLimits, Trials, Tried
from perfembed.tuning.result import Evaluate, Event
from profilers.build import Built
from profilers.harness import TimingSettings
from profilers.outcome import BuildFailed, Outcome, Timed, WrongResult
from profilers.timing import Comparison, ComparisonFailed, compare_apart
from scheduler.codegen.workload import plain
from scheduler.computed import computed
from scheduler.cost.problem import CostModel
from scheduler.errors import SchedulerError
from scheduler.ir.nest import LoopNest
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import minimize_strides
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.search import make_search
from scheduler.search.explorer import Candidate, Explorer, SearchResult, SearchStopped, in_variety
from scheduler.search.neighbours import neighbours
from scheduler.space import Space

if TYPE_CHECKING:
    from perfembed.retrieval.retrieve import Retrieval, Retrieved

_MEASURED, _PREDICTED = 4, 64  # schedules evaluated together
_NARROW, _WIDE = 3, 8  # beams, of runs and of predictions, which cost next to nothing
_RETRIEVAL_S = 2.0  # for finding candidates; of a long or a short budget so much:
_RETRIEVAL_SHARES = 1 / 30, 0.3
_CLOSE = 1.15  # of the fastest one's time
_BETTER = 0.98  # of the best so far: less gained, and no more of what a model thought good is measured
_REFINED = 4  # neighbours of the best schedule, measured at a time
_COLD_BYTES = 64 << 20  # with more, the first to touch its data pays for it: its original is run at once
_SLOW = 1 / 240  # of the budget: an original that takes more is spared
_SAMPLED_S = 0.05  # for the samples of a short nest
_ENOUGH_S = 0.1  # a first call of a nest that takes more tells as much as a later one
_CLEAR = 1.25  # times faster, and a slow original need not be run again
_PLAIN = 1.5  # times faster, and one more run of each is enough
_LIKELY = 1.1  # and where there is no time to run it again
_LESS_S = 2.0  # for turns on less work, where there is no time for others
_TURNS = 4  # runs of each, at least, in a comparison in turns
_NOT_FASTER = "no legal schedule was faster than the original"


@dataclass(frozen=True, slots=True)
class Effort:
    """How a nest is searched: by a search of `scheduler.search`, or "transfer".

    A transfer measures the `top` candidates that donors lead to, with `compute` those that suit the machine
    besides, and, with `refine` and while there is time, neighbours of the best.
    `evaluate` "run" measures every candidate; "model" predicts them and confirms the best, "model+run" predicts them
    and measures the `top` best; with `refine` then neighbours of the best one until none of them is better, and so on
    with the next `top`, once at least and while that helps.
    `schedules` different ones are measured at most (None: as many as fit). A candidate is given up when it takes
    `stop_best` times as long as the best so far, or `stop_original` times as long as the original.
    """

    search: str = "beam"
    evaluate: Evaluate = "run"
    top: int = 10
    refine: bool = True
    compute: bool = True
    budget_s: float = 60.0
    schedules: int | None = None
    stop_best: float | None = 1.5
    stop_original: float = 8.0
    finalists: int = 4  # how many of the fastest are confirmed, until one is
    confirm_s: float | None = None  # for comparing a short nest with the original; None: what suits the search
    confirm_interrupted: bool = True  # on Ctrl-C the best so far is still confirmed
    spare_original: bool = False  # where it is slow it is run once, for the winner; its time is known from the program


@dataclass(frozen=True, slots=True)
class Winner:
    """A schedule confirmed faster than the original and checked to compute the same."""

    scheduled: ScheduledNest
    comparison: Comparison
    checks: tuple[str, ...]


@dataclass(slots=True)
class NestOutcome(Tried):
    """What the search of one nest found; `winner` None keeps the original, `reason` says why."""

    winner: Winner | None = None
    reason: str = ""
    original_s: float | None = None
    best_s: float | None = None  # of the search, before it is confirmed
    predicted: int = 0
    illegal: int = 0
    normalization: str = ""
    retrieved: Retrieved | None = None
    computed: set[Schedule] = field(default_factory=set)  # of the candidates, those that no donor led to
    refined: dict[Schedule, Schedule] = field(default_factory=dict)  # neighbours of good schedules, and of which
    chosen: Schedule | None = None  # the winner's, as it was measured


class NestTuner:
    """One nest, its inputs and its budget. The caller holds the machine's measurement lock."""

    def __init__(
        self,
        nest: LoopNest,
        captured: CapturedNest,
        conditions: Conditions,
        effort: Effort,
        progress: Callable[[Event], None],
        ledger: Ledger,
        in_program_s: float | None = None,
        model: CostModel | None = None,
        retrieval: Callable[[], Retrieval] | None = None,
    ) -> None:
        """`in_program_s`: what the captured call takes in the program itself. Raises QuotaExceeded.

        `model`: needed unless `effort.evaluate` is "run"; `retrieval`: where `effort.search` is "transfer"; it is asked
        for, and may take its time to load, while the original compiles. `run` raises what it does.
        """
        self.nest = plain(nest)  # objects under their own names, as the measured text declares them
        self.replayer = Replayer(self.nest, conditions.reassociate)
        self.measurer = Measurer(self.nest, self.replayer, captured, conditions)
        self.conditions = conditions
        self.effort = effort
        self.ledger = ledger
        self.outcome = NestOutcome()
        self.interrupted = False
        self._in_program_s = in_program_s
        self._model = model
        self._retrieval = retrieval
        self._spared = effort.spare_original and (in_program_s or 0.0) > _SLOW * effort.budget_s
        limit = TrialLimits(effort.budget_s, effort.stop_best, effort.stop_original, effort.finalists)
        spared_s = in_program_s if self._spared else None
        self.trials = Trials(self.measurer, limit, self.outcome, progress, ledger, spared_s)
        if in_program_s is not None:
            limits = self.measurer.limits
            self.measurer.limits = replace(limits, wall_s=max(limits.wall_s, 4 * in_program_s + 60.0))
        self._checker: Checker | None = None
        self._reference: Reference | None = None  # of a spared nest: its run
        self._search: Explorer | None = None

    def run(self) -> NestOutcome:
        """Searches until the budget is spent, then confirms. On Ctrl-C the best so far is confirmed.

        Raises NestNotMeasurable.
        """
        with self.conditions.watch.phase("legality"):
            return self._run()

    def _run(self) -> NestOutcome:
        outcome = self.outcome
        transfer = self.effort.search == "transfer"
        if self._spared:
            assert self._in_program_s is not None
            if transfer:
                self._retrieve()
            large = self.measurer.captured.total_bytes > _COLD_BYTES
            if not self.trials.begin_short() and large and not self._referenced():
                return outcome
            baseline = Timed((self.trials.original_s,))
        else:
            original = self.measurer.original(self._in_program_s, *([self._retrieve] if transfer else []))
            if isinstance(original, str):
                outcome.reason = original
                return outcome
            baseline = original.timed
            self.trials.known_original(original, baseline.min)
        outcome.original_s = self.trials.original_s
        replayer = self.replayer
        self.ledger.begin(replayer, baseline)
        outcome.normalization = format_schedule(minimize_strides(replayer, maximal_fission(replayer)))
        space = Space(replayer, self.conditions.target, dict(self.measurer.captured.parameters))
        try:
            result = self._searched(space)
        except KeyboardInterrupt:
            if not self.effort.confirm_interrupted:
                raise
            self.interrupted = True
            assert self._search is not None
            result = self._search.result(complete=False)
        except SchedulerError as problem:
            if self._search is None:
                raise
            outcome.notes.append(f"the search ended early: {problem}")
            result = self._search.result(complete=False)
        outcome.illegal = result.illegal
        outcome.best_s = self.trials.best_s
        self._confirm(self._run_off(result.ranked))
        return outcome

    def _searched(self, space: Space) -> SearchResult:
        """Every candidate measured; or all predicted, and the best of them measured."""
        effort = self.effort
        if effort.search == "transfer":
            return self._transferred(space)
        halfway = (self.conditions.runner.now() + self.trials.deadline) / 2
        self._search = make_search(
            effort.search,
            space,
            self._evaluate if effort.evaluate == "run" else self._predict,
            seed=self.conditions.seed,
            limit=effort.schedules,
            expired=self.trials.expired if effort.evaluate == "run" else lambda: self.conditions.runner.now() > halfway,
            batch=_MEASURED if effort.evaluate == "run" else _PREDICTED,
            width=_NARROW if effort.evaluate == "run" else _WIDE,
        )
        if effort.evaluate == "run":
            self._search.start(self.ledger.promising())
            return self._search.run()
        predicted = self._search.run()
        if effort.evaluate == "model":
            return predicted
        self._search = Explorer(space, self._evaluate)
        found = [c.scheduled.schedule for c in predicted.ranked]
        order = in_variety(found, [c.seconds for c in predicted.ranked])
        self._search.start(self.ledger.promising())
        for first in range(0, len(order), effort.top):
            before_s = self.trials.best_s
            self._search.start([found[place] for place in order[first : first + effort.top]])
            if not effort.refine:
                break
            while self._refine(space, self._search):
                pass
            if self.trials.expired() or (first and self.trials.best_s > _BETTER * before_s):
                break
        return replace(self._search.result(predicted.complete), illegal=predicted.illegal)

    def _transferred(self, space: Space) -> SearchResult:
        """What donors lead to measured, and what suits the machine, then the neighbours of the best of it."""
        search = self._search = Explorer(space, self._evaluate, batch=_MEASURED, expired=self.trials.expired)
        found = self.outcome.retrieved
        chosen = [c.scheduled.schedule for c in found.recommendation.chosen] if found is not None else []
        own = [schedule for schedule in self._computed(space) if schedule not in chosen]
        self.outcome.computed.update(own)
        by_turns = (one for pair in zip_longest(own, chosen) for one in pair if one is not None)
        search.start((*self.ledger.promising(), *by_turns))
        if self.effort.refine:
            self._refine(space, search)
        return search.result(complete=not self.trials.expired())

    def _computed(self, space: Space) -> tuple[Schedule, ...]:
        """From the machine alone; where nothing can be had, what donors lead to is measured all the same."""
        return computed(space, self.outcome.notes.append) if self.effort.compute else ()

    def _retrieve(self) -> None:
        """Finds what donors lead to. Needs no time of the original: it is done while that compiles."""
        with self.conditions.watch.phase("retrieval"):
            self._retrieved()

    def _retrieved(self) -> None:
        assert self._retrieval is not None
        retrieval = self._retrieval()
        try:
            side = retrieval.side(self.replayer, self.measurer.captured.parameters)
            found = retrieval.retrieve(side, measure=self.effort.top, expired=self._retrieval_clock())
        except SchedulerError as problem:
            self.outcome.notes.append(f"nothing could be transferred: {problem}")
            return
        self.outcome.retrieved = found
        self.trials.donors = {
            c.scheduled.schedule: (c.donor.name, c.donor.distance) for c in found.recommendation.chosen if c.donated
        }

    def _retrieval_clock(self) -> Callable[[], bool]:
        """Whether donors enough were looked at; asked first after the nearest, for which models had to be loaded."""
        least, most = (self.effort.budget_s * share for share in _RETRIEVAL_SHARES)
        last = self.conditions.runner.now() + most
        started: list[float] = []

        def expired() -> bool:
            now = self.conditions.runner.now()
            if not started:
                started.append(now)
            return now > min(started[0] + max(_RETRIEVAL_S, least), last)

        return expired

    def _refine(self, space: Space, search: Explorer) -> bool:
        """Measures neighbours of the best schedules so far (`to_refine`); whether one of them is better than all."""
        ranked = search.result(complete=True).ranked
        if self.trials.expired() or not ranked or ranked[0].seconds >= HOPEFUL * self.trials.original_s:
            return False
        measured = {c.scheduled.tree for c in ranked}
        chosen = to_refine(ranked)
        near = {
            neighbour.schedule: one.scheduled.schedule
            for one in chosen
            for neighbour in neighbours(space, one.scheduled, measured=measured, limit=_REFINED // len(chosen))
        }
        self.outcome.refined |= near
        search.start(tuple(near))
        return search.result(complete=True).ranked[0] is not ranked[0]

    def _predict(self, schedules: Sequence[ScheduledNest]) -> list[float | None]:
        assert self._model is not None
        parameters, target = self.measurer.captured.parameters, self.conditions.target
        speedups = self._model.predict(self.replayer, parameters, target, schedules)
        self.outcome.predicted += len(schedules)
        return [self.trials.original_s / max(float(speedup), 1e-9) for speedup in speedups]

    def _evaluate(self, schedules: Sequence[ScheduledNest]) -> list[float | None]:
        if self.trials.expired():
            raise SearchStopped
        return self.trials.measure(schedules, [self.ledger.known(s.schedule) for s in schedules])

    # ---------------------------------------------------------------------------- confirmation

    def _run_off(self, ranked: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        if self.interrupted:
            return ranked
        try:
            return self.trials.run_off(ranked)
        except KeyboardInterrupt:
            if not self.effort.confirm_interrupted:
                raise
            self.interrupted = True
            return ranked

    @property
    def _confirm_s(self) -> float:
        if self.effort.confirm_s is not None:
            return self.effort.confirm_s
        return 2.0 if self.effort.search == "transfer" else 5.0

    def _confirm(self, ranked: tuple[Candidate, ...]) -> None:
        """The fastest schedule that computes the same and is faster in an interleaved run with the original."""
        outcome = self.outcome
        finalists = 1 if self.interrupted else self.effort.finalists
        hopeful = self._hopeful(ranked)[:finalists]
        if not hopeful:
            alone = outcome.retrieved is not None and not outcome.retrieved.neighbours
            outcome.reason = "no donor to transfer from" if alone else _NOT_FASTER
            if not alone and not outcome.candidates and not self.trials.expired():
                outcome.reason = "no other schedule is legal, or none that is has different code"
            return
        if self._spared:
            if self._reference is None and not self._referenced():
                return
            hopeful = [c for c in hopeful if self._is_estimated(c) or c in self._hopeful([c])]
            outcome.reason = _NOT_FASTER
        checker = self._checker or Checker(self.measurer, self.trials.original_s)
        for candidate in hopeful:
            concluded = self.ledger.concluded(candidate.scheduled.schedule)
            if concluded:
                outcome.reason = "confirmed by an earlier run"
                return
            if concluded is not None:
                continue
            with self.conditions.watch.phase("checking"):
                checked = checker.check(candidate.scheduled, self._reference)
            if not checked.passed:
                self._refute(candidate.scheduled.schedule, checked.failure)
                continue
            body = self.measurer.body(candidate.scheduled)
            assert isinstance(body, str)
            built = self.measurer.build([body])[0]
            if isinstance(built, BuildFailed):
                outcome.failed += 1
                continue
            comparison = self._compared(built, candidate, checked)
            if not isinstance(comparison, Comparison):
                continue
            self.ledger.confirmed(candidate.scheduled.schedule, comparison, checked)
            if comparison.faster:
                shortest = self.replayer.shortest(candidate.scheduled.schedule)
                outcome.chosen = candidate.scheduled.schedule
                outcome.winner = Winner(replace(candidate.scheduled, schedule=shortest), comparison, checked.passed)
                return
            outcome.reason = "no schedule was confirmed faster than the original in an interleaved run"

    def _is_estimated(self, candidate: Candidate) -> bool:
        return candidate.scheduled.schedule in self.outcome.estimated

    def _hopeful(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        return [c for c in ranked if c.seconds < HOPEFUL * self.trials.original_s]

    def _referenced(self) -> bool:
        """Runs the original of a spared nest once, as what outputs are compared with; False where it does not run.

        It may be faster than in the program, where its data are cold, as a candidate's are not here.
        """
        trials, began = self.trials, self.conditions.runner.now()
        self._checker = Checker(self.measurer, trials.original_s)
        ran = self._checker.reference()
        if not isinstance(ran, Reference):
            self.outcome.reason = f"the extracted nest does not run: {ran}"
            return False
        self._reference = ran
        best_s = trials.best_s
        trials.known_original(Original(ran.built, ran.timed), min(trials.original_s, ran.timed.min))
        trials.best_s = min(trials.best_s, best_s)
        self.outcome.original_s = trials.original_s
        assert self._in_program_s is not None
        spent = self.conditions.runner.now() - began
        trials.give_back(min(spent, 2 * self._in_program_s))  # a run of the original is free
        return True

    def _compared(self, built: Built, candidate: Candidate, checked: Checked) -> Comparison | ComparisonFailed | None:
        """The original against a candidate: in turns, or, of a slow one that is much faster, from runs made before."""
        assert self.trials.original is not None
        left = self.trials.end - self.conditions.runner.now()
        if not self._spared:
            longer = 0.0 if self.interrupted else 20 * self.trials.original_s
            most = max(left, 0.0) if self.effort.spare_original else math.inf
            much = self.trials.original_s > _PLAIN * candidate.seconds
            if much and (plainly := self._plainly(built, candidate)) is not None:
                return plainly
            return self.measurer.compare(self.trials.original, built, self._confirm_s + longer, most)
        runs = [] if self._is_estimated(candidate) else [candidate.seconds]
        runs += checked.seconds if min(checked.seconds, default=0.0) > _ENOUGH_S else ()
        if len(runs) < 2:
            settings = TimingSettings(min_samples=1 if candidate.seconds > SLOW_S else 2, target_seconds=0.1)
            again = self.measurer.time(built, settings, "confirming").outcome
            if not isinstance(again, Timed):
                return None
            runs += again.samples_s
        assert self._in_program_s is not None
        originals = Timed((*self.trials.original.timed.samples_s, self._in_program_s))
        apart = compare_apart(originals, Timed(tuple(runs)))
        if apart.low > _CLEAR or apart.high < 1:
            return apart
        if left > _TURNS * (originals.min + min(runs)) + 3 * _TURNS * self.trials.around_s:
            left = min(left, self._confirm_s + 20 * originals.min)
            return self.measurer.compare(self.trials.original, built, left, left)
        if apart.ratio > 1:
            less = self.trials.compared_on_less(candidate.scheduled, max(_LESS_S, min(left, self._confirm_s)))
            if less is not None and less.faster:
                took = f"{originals.min:.3g} s and {min(runs):.3g} s"
                self.outcome.notes.append(f"compared in turns on less work; a run of all the work took {took}")
                return less
        self.outcome.reason = (
            f"the best schedule took {min(runs):.3g} s instead of {originals.min:.3g} s: too little to be sure of"
            " in the time that was left (--budget)"
        )
        return apart if apart.low > _LIKELY else None

    def _plainly(self, built: Built, candidate: Candidate) -> Comparison | None:
        """From the runs made before and one more of each; None where they leave a doubt."""
        assert self.trials.original is not None
        settings = TimingSettings(min_samples=2, max_samples=3, target_seconds=_SAMPLED_S)
        pair = [self.measurer.time(one, settings, "confirming").outcome for one in (self.trials.original.built, built)]
        if not all(isinstance(one, Timed) for one in pair):
            return None
        originals, again = (one.samples_s for one in pair if isinstance(one, Timed))
        before = self.trials.original.timed.samples_s
        return plainly_faster((*before, *originals), (candidate.seconds, *again), self._in_program_s)

    def _refute(self, schedule: Schedule, failure: Outcome | None) -> None:
        wrong = isinstance(failure, WrongResult)
        self.outcome.wrong += wrong
        self.outcome.failed += not wrong
        self.outcome.reason = f"the fastest schedule computed something else: {failure}"
        if failure is not None:
            self.ledger.refuted(schedule, failure)


def plainly_faster(
    originals: Sequence[float], candidates: Sequence[float], in_program_s: float | None
) -> Comparison | None:
    """Runs that were not taken in turns compared, where each of a candidate's is 1.5 times faster; else None.

    The nest in its program counts as one more run of the original where it is faster there.
    """
    if in_program_s is not None and in_program_s < min(originals):
        originals = (*originals, in_program_s)  # the compiler made better code of it
    apart = compare_apart(Timed(tuple(originals)), Timed(tuple(candidates)))
    return apart if apart.low > _PLAIN else None


def to_refine(ranked: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The fastest, and the next one that is nearly as fast and made of other steps: sizes that suit it may turn it."""

    def steps(candidate: Candidate) -> list[str]:
        return sorted(type(step).__name__ for step in candidate.scheduled.schedule)

    best = ranked[0]
    others = (c for c in ranked[1:] if c.seconds <= _CLOSE * best.seconds and steps(c) != steps(best))
    return (best, *islice(others, 1))
