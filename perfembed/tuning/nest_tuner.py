"""Tunes one nest: searches schedules by measuring them, then confirms and checks the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from perfembed.measuring.ledger import Ledger, TrialLimits
from perfembed.measuring.measurer import Measurer
from perfembed.measuring.remeasure import remeasure
from perfembed.measuring.trials import HOPEFUL, Trials
from perfembed.tuning import candidates
from perfembed.tuning.confirming import Confirmation
from perfembed.tuning.nest_outcome import NO_GUIDES, Guides, NestOutcome, NestTask
from perfembed.tuning.result import Event
from profilers.outcome import Timed
from scheduler.codegen.emit.workload import plain
from scheduler.errors import SchedulerError
from scheduler.moves.openmp_schedule import fitted
from scheduler.moves.space import Space
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import minimize_strides
from scheduler.replay import ScheduledNest
from scheduler.schedule import format_schedule
from scheduler.search import make_search
from scheduler.search.explorer import Candidate, Explorer, SearchResult, SearchStopped
from scheduler.search.genetic import Accepts

_MEASURED, _PREDICTED = 4, 64  # schedules evaluated together
_NARROW, _WIDE = 3, 8  # beams, of runs and of predictions, which cost next to nothing
_BETTER = 0.98  # of the best so far: less gained, and no more of what a model thought good is measured
_COLD_BYTES = 64 << 20  # with more, the first to touch its data pays for it: its original is run at once
_SLOW = 1 / 240  # of the budget: an original that takes more is spared


class NestTuner:
    """One nest, its inputs and its budget. The caller holds the machine's measurement lock."""

    def __init__(
        self, task: NestTask, progress: Callable[[Event], None], ledger: Ledger, guides: Guides = NO_GUIDES
    ) -> None:
        """Raises QuotaExceeded."""
        effort, in_program_s = task.effort, task.in_program_s
        self.nest = plain(task.nest)  # objects under their own names, as the measured text declares them
        self.conditions, self.effort, self.ledger, self.guides = task.conditions, effort, ledger, guides
        self.replayer = task.conditions.allowed.replayer(self.nest)
        self.measurer = Measurer(self.nest, self.replayer, task.captured, task.conditions, sharing=task.sharing)
        self.outcome = NestOutcome()
        self.interrupted = False
        self.drawn = 0  # of the candidates, those of `Effort.drawn`
        self._in_program_s = in_program_s
        self._sequential_s = None if self.measurer.threaded else in_program_s  # as written; cost models want to know
        self._spared = effort.spare_original and (in_program_s or 0.0) > _SLOW * effort.budget_s
        limit = TrialLimits(effort.budget_s, effort.stop_best, effort.stop_original, effort.finalists, effort.crowding)
        spared_s = in_program_s if self._spared else None
        self.trials = Trials(self.measurer, limit, self.outcome, progress, ledger, spared_s)
        if in_program_s is not None:
            limits = self.measurer.limits
            self.measurer.limits = replace(limits, wall_s=max(limits.wall_s, 4 * in_program_s + 60.0))
        self._search: Explorer | None = None
        self._confirmation = Confirmation(self.trials, effort, self.outcome, in_program_s, self._spared)

    def run(self) -> NestOutcome:
        """Searches until the budget is spent, then confirms. On Ctrl-C the best so far is confirmed.

        Raises NestNotMeasurable, OutOfTime.
        """
        with self.conditions.watch.phase("legality"):
            baseline = self._baseline()
            if baseline is not None:
                self._begin(baseline)
                result = self._interruptible()
                self.outcome.illegal, self.outcome.rejected = result.illegal, result.rejected
                self.outcome.best_s = self.trials.best_s
                self._confirmation.confirm(self._run_off(result.ranked), self.interrupted)
                ran = self.trials.original is not None or any(s is not None for s in self.outcome.seconds.values())
                if self.outcome.failed and not ran:
                    self.outcome.not_run = self.outcome.not_run or self.outcome.failure
        return self.outcome

    # ---------------------------------------------------------------------------- the original

    def _baseline(self) -> Timed | None:
        """What the original takes, run or, of a slow one, in its program; None where it does not run."""
        meanwhile = [self._retrieve] if self.effort.search == "transfer" and self.effort.given is None else []
        if not self._spared:
            original = self.measurer.original(self._in_program_s, *meanwhile)
            if isinstance(original, str):
                self.outcome.reason = self.outcome.not_run = original
                return None
            self.trials.known_original(original, original.timed.min)
            return original.timed
        for retrieve in meanwhile:
            retrieve()
        large = self.measurer.captured.total_bytes > _COLD_BYTES
        if not self.trials.begin_short() and large and not self._confirmation.referenced():
            return None
        return Timed((self.trials.original_s,))

    def _begin(self, baseline: Timed) -> None:
        self.outcome.original_s = self.trials.original_s
        sequential = self.measurer.sequential(baseline)
        self._sequential_s = sequential.min
        self.ledger.begin(self.replayer, sequential)
        self.outcome.normalization = format_schedule(minimize_strides(self.replayer, maximal_fission(self.replayer)))

    def _retrieve(self) -> None:
        """Finds what donors lead to, while the original compiles."""
        assert self.guides.retrieval is not None
        with self.conditions.watch.phase("retrieval"):
            retrieval = self.guides.retrieval()
            found = candidates.donated(retrieval, self.measurer, self.effort, self._sequential_s, self.guides.profiler)
        self.outcome.retrieved, self.outcome.profiled = found.found, found.profiled
        self.outcome.notes += [found.problem] * bool(found.problem)
        self.trials.donors = found.donors

    # ------------------------------------------------------------------------------ the search

    def _interruptible(self) -> SearchResult:
        """The search, or what it has found until it is interrupted or cannot go on."""
        try:
            return self._searched()
        except KeyboardInterrupt:
            if not self.effort.confirm_interrupted:
                raise
            self.interrupted = True
            assert self._search is not None
        except SchedulerError as problem:
            if self._search is None:
                raise
            self.outcome.notes.append(f"the search ended early: {problem}")
        return self._search.result(complete=False)

    def _searched(self) -> SearchResult:
        """Candidates measured as their sources propose them; or all predicted, and the best of them measured."""
        effort = self.effort
        space = Space(self.replayer, self.conditions.target, dict(self.measurer.captured.parameters))
        around = self.measurer.sharing.context if self.measurer.sharing is not None else ""
        context = candidates.SearchContext(space, around, self.outcome.notes.append)
        if effort.given is not None:
            self._search = Explorer(space, self._evaluate)
            self._search.start((fitted(self.replayer, effort.given, around),))
            return self._search.result(complete=True)
        if effort.search == "transfer":
            return self._transferred(context)
        return self._found(context)

    def _transferred(self, context: candidates.SearchContext) -> SearchResult:
        """What donors lead to measured, and what suits the machine, then the neighbours of the best of it."""
        search = self._search = Explorer(context.space, self._evaluate, batch=_MEASURED, expired=self.trials.expired)
        nest, transferred = self.replayer, candidates.Transferred(self.outcome.retrieved)
        chosen = list(transferred.propose(nest, context))
        own = candidates.Computed().propose(nest, context) if self.effort.compute else ()
        derived = candidates.Known([schedule for schedule in own if schedule not in chosen])
        self.outcome.computed.update(derived.schedules)
        known = candidates.proposed(nest, context, candidates.Known(self.ledger.promising()))
        waiting = list(dict.fromkeys((*known, *candidates.proposed(nest, context, derived, transferred))))
        jobs = self.conditions.jobs  # so many compile at a time: something is known while the others are not yet made
        search.start(waiting[:jobs])
        search.start(waiting[jobs:])
        if self.effort.refine:
            self._refine(context, search)
        return search.result(complete=not self.trials.expired())

    def _found(self, context: candidates.SearchContext) -> SearchResult:
        """By a search of `scheduler.search`, after what is drawn at random."""
        effort, run = self.effort, self.effort.evaluate == "run"
        drawn = candidates.drawing(context.space, effort, self._evaluate, self.conditions, self.trials.deadline)
        if drawn is not None:
            self._search = drawn
            self.drawn = drawn.run().evaluated
        halfway = (self.conditions.runner.now() + self.trials.deadline) / 2
        search = self._search = make_search(
            effort.search,
            context.space,
            self._evaluate if run else self._predict,
            seed=self.conditions.seed,
            limit=None if effort.schedules is None else effort.schedules - (self.drawn if run else 0),
            expired=self.trials.expired if run else lambda: self.conditions.runner.now() > halfway,
            batch=_MEASURED if run else _PREDICTED,
            width=_NARROW if run else _WIDE,
            accepts=self._guard(),
        )
        known = candidates.Known(self.ledger.promising())
        if run:
            if drawn is not None:
                search.after(drawn)
            search.start(candidates.proposed(self.replayer, context, known))
            return search.run()
        predicted = search.run()
        if effort.evaluate == "model":
            return predicted
        search = self._search = Explorer(context.space, self._evaluate)
        if drawn is not None:
            search.after(drawn)
        search.start(candidates.proposed(self.replayer, context, known))
        self._measure_predicted(context, search, candidates.Predicted(predicted.ranked))
        return replace(search.result(predicted.complete), illegal=predicted.illegal)

    def _measure_predicted(
        self, context: candidates.SearchContext, search: Explorer, source: candidates.Predicted
    ) -> None:
        """The best predicted, and neighbours of the best until none is better; then the next, while that helps."""
        found, top = list(source.propose(self.replayer, context)), max(1, self.effort.top - self.drawn)
        for first in range(0, len(found), top):
            before_s = self.trials.best_s
            search.start(candidates.proposed(self.replayer, context, candidates.Known(found[first : first + top])))
            if not self.effort.refine:
                break
            while self._refine(context, search):
                pass
            if self.trials.expired() or (first and self.trials.best_s > _BETTER * before_s):
                break

    def _refine(self, context: candidates.SearchContext, search: Explorer) -> bool:
        """Measures neighbours of the best schedules so far; whether one of them is better than all."""
        ranked = search.result(complete=True).ranked
        if self.trials.expired() or not ranked or ranked[0].seconds >= HOPEFUL * self.trials.original_s:
            return False
        near = candidates.Neighbours(ranked).parents(context)
        self.outcome.refined |= near
        search.start(tuple(near))
        return search.result(complete=True).ranked[0] is not ranked[0]

    def _guard(self) -> Accepts | None:
        if self.effort.guard == "none":
            return None
        from perfembed.tuning.guarding import guard_of  # here, not above: a slow import

        parameters, target = self.measurer.captured.parameters, self.conditions.target
        model, classifier = self.guides.model, self.guides.classifier
        return guard_of(self.effort.guard, self.replayer, parameters, target, model, classifier, self._sequential_s)

    def _predict(self, schedules: Sequence[ScheduledNest]) -> list[float | None]:
        assert self.guides.model is not None
        parameters, target = self.measurer.captured.parameters, self.conditions.target
        speedups = self.guides.model.predict(self.replayer, parameters, target, schedules, self._sequential_s)
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
            return remeasure(self.trials, ranked)
        except KeyboardInterrupt:
            if not self.effort.confirm_interrupted:
                raise
            self.interrupted = True
            return ranked
