"""Whether one of the fastest candidates of a nest computes the same and is faster than the original, for sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from perfembed.measuring.checking import Checker, Reference
from perfembed.measuring.measurer import Checked, Original
from perfembed.measuring.remeasure import compared_on_less
from perfembed.measuring.trials import BUSY, HOPEFUL, SLOW_S, Trials
from perfembed.tuning.nest_outcome import Effort, NestOutcome, Winner
from perfembed.tuning.program import NO_CODE
from profilers.build import Built
from profilers.outcome import BuildFailed, Outcome, Timed, WrongResult
from profilers.specification import TimingSettings
from profilers.timing import Comparison, ComparisonFailed, compare_apart
from scheduler.codegen.runtime_checks.guards import runtime_condition
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.errors import SchedulerError
from scheduler.frontend import Sharing
from scheduler.ir.tree import statements_below, tree_loops
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule
from scheduler.search.explorer import Candidate

_SAMPLED_S = 0.05  # for the samples of a short nest
_ENOUGH_S = 0.1  # a first call of a nest that takes more tells as much as a later one
_CLEAR = 1.25  # times faster, and a slow original need not be run again
_PLAIN = 1.5  # times faster, and one more run of each is enough
_LIKELY = 1.1  # and where there is no time to run it again
_GRACE_S = 5.0  # beyond the budget, for turns where a winner that is much faster had a slow run
_LESS_S = 2.0  # for turns on less work, where there is no time for others
_TURNS = 4  # runs of each, at least, in a comparison in turns
_NOT_FASTER = "no legal schedule was faster than the original"


class Confirmation:
    """Of one nest. What it finds goes into the outcome and to the ledger; what it runs, `trials` has the time for."""

    def __init__(
        self, trials: Trials, effort: Effort, outcome: NestOutcome, in_program_s: float | None, spared: bool
    ) -> None:
        """`in_program_s`: what the original takes in its program; `spared`: it was not run for the search."""
        self.measurer = trials.measurer
        self.replayer = trials.measurer.replayer
        self.conditions = trials.measurer.conditions
        self.trials = trials
        self.effort = effort
        self.outcome = outcome
        self.ledger = trials.ledger
        self._in_program_s = in_program_s
        self._spared = spared
        self._checker: Checker | None = None
        self._reference: Reference | None = None  # of a spared nest: its run

    @property
    def _confirm_s(self) -> float:
        if self.effort.confirm_s is not None:
            return self.effort.confirm_s
        return 2.0 if self.effort.search == "transfer" else 5.0

    def confirm(self, ranked: tuple[Candidate, ...], interrupted: bool) -> None:
        """The fastest schedule that computes the same and is faster in an interleaved run with the original."""
        outcome = self.outcome
        finalists = 1 if interrupted else self.effort.finalists
        hopeful = self._hopeful(ranked)[:finalists]
        if not hopeful:
            alone = outcome.retrieved is not None and not outcome.retrieved.neighbours
            outcome.reason = "no donor to transfer from" if alone else _NOT_FASTER
            if outcome.other_load and (busy := median(outcome.other_load)) > BUSY:
                outcome.reason += f" (others kept {busy:.1f} cores busy meanwhile: try again when the machine is quiet)"
            if not alone and not outcome.candidates:
                outcome.reason = outcome.failure or "no other schedule is legal, or none that is has different code"
            return
        if self._spared:
            if self._reference is None and not self.referenced():
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
                problem = self._untestable(candidate.scheduled)
                checked = None if problem else checker.check(candidate.scheduled, self._reference)
            if checked is None:
                outcome.failed += 1
                outcome.reason = f"{NO_CODE}: {problem}"
                continue
            if not checked.passed:
                self._refute(candidate.scheduled.schedule, checked.failure)
                continue
            body = self.measurer.body(candidate.scheduled)
            assert isinstance(body, str)
            built = self.measurer.build([body])[0]
            if isinstance(built, BuildFailed):
                outcome.failed += 1
                continue
            comparison = self._compared(built, candidate, checked, interrupted)
            if not isinstance(comparison, Comparison):
                continue
            if comparison.faster and (unfair := self._unfair(comparison, candidate.scheduled)):
                outcome.reason = unfair  # and nobody is told that it was faster
                continue
            self.ledger.confirmed(candidate.scheduled.schedule, comparison, checked)
            if comparison.faster:
                shortest = self.replayer.shortest(candidate.scheduled.schedule)
                outcome.chosen = candidate.scheduled.schedule
                outcome.winner = Winner(replace(candidate.scheduled, schedule=shortest), comparison, checked.passed)
                return
            outcome.reason = "no schedule was confirmed faster than the original in an interleaved run"

    def _untestable(self, scheduled: ScheduledNest) -> str:
        """Why no code with the tests that it needs in a program can be written, for their size; what is measured needs
        none, and does not know what its arrays are called there, by which other tests succeed."""
        tree = PolyTree(self.replayer.of(scheduled.schedule).model, scheduled.tree)
        try:
            runtime_condition(self.replayer.nest, self.replayer.model, tree)
        except SchedulerError as problem:
            return str(problem) if isinstance(problem.__cause__, QuotaExceeded) else ""
        return ""

    def _unfair(self, comparison: Comparison, scheduled: ScheduledNest) -> str:
        """Why a candidate only looks faster: beside others, who take cores away, it is well to want only one."""
        loads = [one.other_load for one in comparison.rounds] or self.outcome.other_load
        if not loads or (busy := median(loads)) <= BUSY:
            return ""
        if not loses_threads(self.replayer, self.measurer.sharing, scheduled):
            return ""
        return (
            f"others kept {busy:.1f} cores busy meanwhile, beside whom fewer threads than the program's look faster"
            " than they are: try again when the machine is quiet"
        )

    def _is_estimated(self, candidate: Candidate) -> bool:
        return candidate.scheduled.schedule in self.outcome.estimated

    def _hopeful(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        return [c for c in ranked if c.seconds < HOPEFUL * self.trials.original_s]

    def referenced(self) -> bool:
        """Runs the original of a spared nest once, as what outputs are compared with; False where it does not run.

        It may be faster than in the program, where its data are cold, as a candidate's are not here.
        """
        trials, began = self.trials, self.conditions.runner.now()
        self._checker = Checker(self.measurer, trials.original_s)
        ran = self._checker.reference()
        if not isinstance(ran, Reference):
            self.outcome.reason = self.outcome.not_run = f"the extracted nest does not run: {ran}"
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

    def _compared(
        self, built: Built, candidate: Candidate, checked: Checked, interrupted: bool
    ) -> Comparison | ComparisonFailed | None:
        """The original against a candidate: in turns, or, of a slow one that is much faster, from runs made before."""
        assert self.trials.original is not None
        left = self.trials.end - self.conditions.runner.now()
        if not self._spared:
            longer = 0.0 if interrupted else 20 * self.trials.original_s
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
        turns_s = _TURNS * (originals.min + min(runs)) + 3 * _TURNS * self.trials.around_s
        if left > turns_s or (apart.ratio > _PLAIN and turns_s < _GRACE_S):  # one disturbed run would be its end
            most = max(turns_s, min(left, self._confirm_s + 20 * originals.min))
            return self.measurer.compare(self.trials.original, built, most, most)
        if apart.ratio > 1:
            less = compared_on_less(self.trials, candidate.scheduled, max(_LESS_S, min(left, self._confirm_s)))
            if less is not None and less.faster:
                self.outcome.notes.append("compared in turns on less work; the times are of runs of all of it")
                return replace(less, samples_original=originals.samples_s, samples_candidate=tuple(runs))
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


def loses_threads(replayer: Replayer, sharing: Sharing | None, scheduled: ScheduledNest) -> bool:
    """Whether a statement that the user's pragmas share among threads is run by one of them in the schedule."""
    shared = {one.loop for one in sharing.shared if one.threads} if sharing is not None else set()
    around = (loop for loop in tree_loops(replayer.tree(())) if loop.name in shared)
    theirs = {statement for loop in around for statement in statements_below(loop)}
    parallel = (loop for loop in tree_loops(scheduled.tree) if loop.parallel is not None)
    ours = {statement for loop in parallel for statement in statements_below(loop)}
    every = {statement for node in scheduled.tree for statement in statements_below(node)}
    return bool(theirs & every - ours)


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
