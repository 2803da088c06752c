"""Tunes one nest: searches schedules by measuring them, then confirms and checks the best.

Long, because every way to candidates ends in the same trials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from perfembed.capture import CapturedNest
from perfembed.measuring.ledger import Ledger
from perfembed.measuring.measurer import Conditions, Measurer
from perfembed.measuring.run_off import run_off
from perfembed.measuring.trials import HOPEFUL, Trials
from perfembed.measuring.tried import TrialLimits
from perfembed.tuning.confirming import Confirmation
from perfembed.tuning.drawing import drawing
from perfembed.tuning.nest_outcome import Effort, NestOutcome
from perfembed.tuning.result import Event
from profilers.outcome import Timed
from scheduler.codegen.emit.workload import plain
from scheduler.computed.propose import computed
from scheduler.cost.problem import CostModel
from scheduler.errors import SchedulerError
from scheduler.frontend import Sharing
from scheduler.ir.nest import LoopNest
from scheduler.moves.openmp_schedule import fitted, steady
from scheduler.moves.space import Space
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import minimize_strides
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.search import make_search
from scheduler.search.explorer import Candidate, Explorer, SearchResult, SearchStopped, in_variety
from scheduler.search.neighbours import neighbours, to_refine

if TYPE_CHECKING:
    from perfembed.retrieval.retrieve import Retrieval
    from perfembed.transfer.view import Side
    from perfembed.tuning.profiled import Profiler
    from profilers.profile import Profile
    from scheduler.cost.surrogate import SurrogateClassifier

_MEASURED, _PREDICTED = 4, 64  # schedules evaluated together
_NARROW, _WIDE = 3, 8  # beams, of runs and of predictions, which cost next to nothing
_RETRIEVAL_S = 2.0  # for finding candidates; of a long or a short budget so much:
_RETRIEVAL_SHARES = 1 / 30, 0.3
_BETTER = 0.98  # of the best so far: less gained, and no more of what a model thought good is measured
_REFINED = 4  # neighbours of the best schedule, measured at a time
_COLD_BYTES = 64 << 20  # with more, the first to touch its data pays for it: its original is run at once
_SLOW = 1 / 240  # of the budget: an original that takes more is spared


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
        sharing: Sharing | None = None,
        classifier: SurrogateClassifier | None = None,
        profiler: Profiler | None = None,
    ) -> None:
        """`in_program_s`: what the captured call takes in the program itself. Raises QuotaExceeded.

        `model`: needed unless `effort.evaluate` is "run" without it as a guard; `classifier`: where that is the guard;
        `profiler`: says whether donors are looked for with a profile, None: without;
        `retrieval`: where `effort.search` is "transfer"; it is asked
        for, and may take its time to load, while the original compiles. `sharing`: what pragmas say of the nest. `run`
        raises what it does.
        """
        self.nest = plain(nest)  # objects under their own names, as the measured text declares them
        self.replayer = conditions.allowed.replayer(self.nest)
        self.measurer = Measurer(self.nest, self.replayer, captured, conditions, sharing=sharing)
        self.conditions = conditions
        self.effort = effort
        self.ledger = ledger
        self.outcome = NestOutcome()
        self.interrupted = False
        self.drawn = 0  # of the candidates, those of `Effort.drawn`
        self._in_program_s = in_program_s
        self._sequential_s = None if self.measurer.threaded else in_program_s  # as written; cost models want to know
        self._model = model
        self._classifier = classifier
        self._retrieval = retrieval
        self._profiler = profiler
        self._spared = effort.spare_original and (in_program_s or 0.0) > _SLOW * effort.budget_s
        limit = TrialLimits(effort.budget_s, effort.stop_best, effort.stop_original, effort.finalists, effort.closing_s)
        spared_s = in_program_s if self._spared else None
        self.trials = Trials(self.measurer, limit, self.outcome, progress, ledger, spared_s)
        if in_program_s is not None:
            limits = self.measurer.limits
            self.measurer.limits = replace(limits, wall_s=max(limits.wall_s, 4 * in_program_s + 60.0))
        self._search: Explorer | None = None
        self._confirmation = Confirmation(
            self.measurer, self.replayer, self.trials, effort, self.outcome, ledger, in_program_s, self._spared
        )

    def run(self) -> NestOutcome:
        """Searches until the budget is spent, then confirms. On Ctrl-C the best so far is confirmed.

        Raises NestNotMeasurable, OutOfTime.
        """
        with self.conditions.watch.phase("legality"):
            return self._run()

    def _run(self) -> NestOutcome:
        outcome = self.outcome
        transfer = self.effort.search == "transfer" and self.effort.given is None
        if self._spared:
            assert self._in_program_s is not None
            if transfer:
                self._retrieve()
            large = self.measurer.captured.total_bytes > _COLD_BYTES
            if not self.trials.begin_short() and large and not self._confirmation.referenced():
                return outcome
            baseline = Timed((self.trials.original_s,))
        else:
            original = self.measurer.original(self._in_program_s, *([self._retrieve] if transfer else []))
            if isinstance(original, str):
                outcome.reason = outcome.not_run = original
                return outcome
            baseline = original.timed
            self.trials.known_original(original, baseline.min)
        outcome.original_s = self.trials.original_s
        replayer = self.replayer
        sequential = self.measurer.sequential(baseline)
        self._sequential_s = sequential.min
        self.ledger.begin(replayer, sequential)
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
        outcome.illegal, outcome.rejected = result.illegal, result.rejected
        outcome.best_s = self.trials.best_s
        self._confirmation.confirm(self._run_off(result.ranked), self.interrupted)
        if self.trials.original is None and outcome.failed and all(s is None for s in outcome.seconds.values()):
            outcome.not_run = outcome.not_run or outcome.failure
        return outcome

    def _searched(self, space: Space) -> SearchResult:
        """Every candidate measured; or all predicted, and the best of them measured."""
        effort = self.effort
        if effort.given is not None:
            search = self._search = Explorer(space, self._evaluate)
            search.start((fitted(self.replayer, effort.given, self._context),))
            return search.result(complete=True)
        if effort.search == "transfer":
            return self._transferred(space)
        run = effort.evaluate == "run"
        drawn = drawing(space, effort, self._evaluate, self.conditions, self.trials.deadline)
        if drawn is not None:
            self._search = drawn
            self.drawn = drawn.run().evaluated
        accepts = None
        if effort.guard != "none":
            from perfembed.tuning.guarding import guard_of  # here, not above: a slow import

            parameters, target = self.measurer.captured.parameters, self.conditions.target
            accepts = guard_of(
                effort.guard, self.replayer, parameters, target, self._model, self._classifier, self._sequential_s
            )
        halfway = (self.conditions.runner.now() + self.trials.deadline) / 2
        self._search = make_search(
            effort.search,
            space,
            self._evaluate if run else self._predict,
            seed=self.conditions.seed,
            limit=None if effort.schedules is None else effort.schedules - (self.drawn if run else 0),
            expired=self.trials.expired if run else lambda: self.conditions.runner.now() > halfway,
            batch=_MEASURED if run else _PREDICTED,
            width=_NARROW if run else _WIDE,
            accepts=accepts,
        )
        if run:
            if drawn is not None:
                self._search.after(drawn)
            self._search.start(self._fitted(self.ledger.promising()))
            return self._search.run()
        predicted = self._search.run()
        if effort.evaluate == "model":
            return predicted
        self._search = Explorer(space, self._evaluate)
        if drawn is not None:
            self._search.after(drawn)
        top = max(1, effort.top - self.drawn)
        found = [c.scheduled.schedule for c in predicted.ranked]
        order = in_variety(found, [c.seconds for c in predicted.ranked])
        self._search.start(self._fitted(self.ledger.promising()))
        for first in range(0, len(order), top):
            before_s = self.trials.best_s
            self._search.start(self._fitted([found[place] for place in order[first : first + top]]))
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
        waiting = self._fitted((*self.ledger.promising(), *by_turns))
        first = (
            self.conditions.jobs
        )  # as many as compile at a time: something is known while the others are not yet made
        search.start(waiting[:first])
        search.start(waiting[first:])
        if self.effort.refine:
            self._refine(space, search)
        return search.result(complete=not self.trials.expired())

    def _fitted(self, schedules: Sequence[Schedule]) -> tuple[Schedule, ...]:
        """As they must be among other threads, and do best."""
        context = self._context
        fitting = (fitted(self.replayer, steady(schedule, context), context) for schedule in schedules)
        return tuple(dict.fromkeys(fitting))

    @property
    def _context(self) -> str:
        return self.measurer.sharing.context if self.measurer.sharing is not None else ""

    def _computed(self, space: Space) -> tuple[Schedule, ...]:
        """From the machine alone; where nothing can be had, what donors lead to is measured all the same."""
        if not self.effort.compute:
            return ()
        first = self.replayer.eliminations()
        found = computed(space.of(first) if first else space, self.outcome.notes.append)
        return tuple((*first, *schedule) for schedule in found)

    def _retrieve(self) -> None:
        """Finds what donors lead to. Needs no time of the original: it is done while that compiles."""
        with self.conditions.watch.phase("retrieval"):
            self._retrieved()

    def _retrieved(self) -> None:
        assert self._retrieval is not None
        retrieval = self._retrieval()
        try:
            side = retrieval.side(self.replayer, self.measurer.captured.parameters)
            profile = self._profile(retrieval, side)
            clock = self._retrieval_clock()
            found = retrieval.retrieve(
                side,
                measure=self.effort.top,
                expired=clock,
                profile=profile,
                seconds=self._sequential_s,
                writable=lambda scheduled: isinstance(self.measurer.body(scheduled), str),
            )
        except SchedulerError as problem:
            self.outcome.notes.append(f"nothing could be transferred: {problem}")
            return
        self.outcome.retrieved = found
        self.trials.donors = {
            c.scheduled.schedule: (c.donor.name, c.donor.distance) for c in found.recommendation.chosen if c.donated
        }

    def _profile(self, retrieval: Retrieval, side: Side) -> Profile | None:
        """Of the nest, where donors had better be looked for with one."""
        if self._profiler is None:
            return None
        donors = retrieval.neighbours(side)
        why = self._profiler.reason(self.nest, donors)
        if not why:
            return None
        conditions, captured = self.conditions, self.measurer.captured
        folder = conditions.workdir / "profile"
        found = self._profiler.profile(why, self.nest, captured, conditions.threads, conditions.compiler, folder)
        self.outcome.profiled = replace(found, before=donors)
        return found.profile

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
            steady(neighbour.schedule, self._context): one.scheduled.schedule
            for one in chosen
            for neighbour in neighbours(space, one.scheduled, measured=measured, limit=_REFINED // len(chosen))
        }
        self.outcome.refined |= near
        search.start(tuple(near))
        return search.result(complete=True).ranked[0] is not ranked[0]

    def _predict(self, schedules: Sequence[ScheduledNest]) -> list[float | None]:
        assert self._model is not None
        parameters, target = self.measurer.captured.parameters, self.conditions.target
        speedups = self._model.predict(self.replayer, parameters, target, schedules, self._sequential_s)
        self.outcome.predicted += len(schedules)
        return [self.trials.original_s / max(float(speedup), 1e-9) for speedup in speedups]

    def _evaluate(self, schedules: Sequence[ScheduledNest]) -> list[float | None]:
        if self.trials.expired():
            raise SearchStopped
        return self.trials.measure(schedules, [self.ledger.known(s.schedule) for s in schedules])

    def _run_off(self, ranked: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        if self.interrupted:
            return ranked
        try:
            return run_off(self.trials, ranked)
        except KeyboardInterrupt:
            if not self.effort.confirm_interrupted:
                raise
            self.interrupted = True
            return ranked
