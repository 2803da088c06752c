"""Runs candidates of one nest: each text once, at full size or on less work, as long as there is time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from perfembed.measuring.events import CandidateMeasured
from perfembed.measuring.ledger import DonorOf, Ledger
from perfembed.measuring.less_work import READ_S, Shorter, shorter
from perfembed.measuring.measurer import Measured, Measurer, Original
from profilers.build import Built, discard
from profilers.harness import TimingSettings
from profilers.outcome import BuildFailed, Outcome, Stopped, Timed, WrongResult
from profilers.timing import Comparison
from scheduler.codegen.original import emit_original
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule, format_schedule
from scheduler.search.explorer import Candidate

HOPEFUL = 0.97  # of the original's time: above it a confirmation would only cost time
SLOW_S = 1.0  # a candidate that takes more
_STOP_SLOW = 1.25  # is given up when it takes more than the best by this factor
_LONG_S = 0.25  # a candidate that takes more is called once
_SAMPLED_S = 0.05  # for the samples of a shorter one: those that are close run again
_CLOSE = 1.15  # of the fastest one's time
_TWICE = 2  # what less work told: a candidate that takes more is given up
_RUN_OFFS, _RUN_OFF_SHARE = 3, 0.1  # runs of each, and of the budget for all of them
_CANDIDATE_SHARE = 0.25  # of the time left to search, for one run of a slow nest's candidate
_CLOSING_RUNS, _CLOSING_S = 3, 4.0  # of the best, to check it, and for what is small
_SEARCH_SHARE = 0.75  # of the budget; the rest is for confirming and checking
_SLOW_READ_S = 0.5  # reading that takes more is avoided from the first candidate on
_WANTED, _SLOW_RUN_S = 10, 0.3  # more candidates; where they do not fit in and take longer, less work is measured


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """A candidate is given up when it takes `stop_best` times as long as the best so far, or `stop_original` times as
    long as the original. `finalists`: how many of the fastest are run again.
    """

    budget_s: float
    stop_best: float | None
    stop_original: float
    finalists: int


@dataclass(slots=True)
class Tried:
    """What running candidates found. `seconds`: None where they failed; of `estimated` ones from less work."""

    candidates: int = 0  # measured
    failed: int = 0
    wrong: int = 0
    notes: list[str] = field(default_factory=list)
    seconds: dict[Schedule, float | None] = field(default_factory=dict)
    at_s: dict[Schedule, float] = field(default_factory=dict)  # when that was known, from the nest's beginning
    given_up: set[Schedule] = field(default_factory=set)  # those that took longer than `seconds`
    estimated: set[Schedule] = field(default_factory=set)
    less_work: str = ""  # which iterations were measured, where not all were


class Trials:
    """One nest's candidates under one budget. The caller holds the machine's measurement lock."""

    def __init__(
        self,
        measurer: Measurer,
        limits: TrialLimits,
        tried: Tried,
        progress: Callable[[CandidateMeasured], None],
        ledger: Ledger,
        spared_s: float | None,
    ) -> None:
        """`tried` is filled. `spared_s`: what the original takes in its program, where it is slow and not run before
        there is a winner.
        """
        began = self._began = time.monotonic()
        self.measurer = measurer
        self.tried = tried
        self.donors: Mapping[Schedule, DonorOf] = {}
        self.original: Original | None = None
        self.original_s = self.best_s = spared_s or 0.0
        self.around_s = READ_S * measurer.captured.total_bytes  # that a run takes besides, until one was timed
        self.deadline = began + limits.budget_s * _SEARCH_SHARE
        self.end = began + limits.budget_s
        self._limits = limits
        self._progress = progress
        self._ledger = ledger
        self._spared = spared_s is not None
        self._best: ScheduledNest | None = None  # of those measured at full size
        self._ran = False
        self._shorter: Shorter | None = None
        self._short: Shorter | None = None  # the same as long as candidates are run on it
        self._scale = 1.0  # seconds of the whole for one of `_short`
        self._cannot_shorten = False
        self._seconds: dict[str, float | None] = {}  # by C text: different trees may give the same code
        self._at_s: dict[str, float] = {}  # of those measured here

    def known_original(self, original: Original | None, seconds: float) -> None:
        """What candidates have to be faster than; `original` where it was run."""
        self.original = original
        self.original_s = self.best_s = seconds

    def give_back(self, seconds: float) -> None:
        """Time spent on what is no part of the budget."""
        self.deadline, self.end = self.deadline + seconds, self.end + seconds

    def expired(self) -> bool:
        """Whether what is left of the budget is needed to check and confirm the best so far, if that is any better.

        What a slow nest needs for it is known from its runs; that of others is a share of the budget.
        """
        end = self.deadline
        if self._spared and self.best_s < HOPEFUL * self.original_s:
            end = self.end - _CLOSING_RUNS * (self.around_s + self.best_s) - _CLOSING_S
        return time.monotonic() > end

    # ----------------------------------------------------------------------------- less work

    def begin_short(self) -> bool:
        """Where reading the data takes long no candidate is run on all of them; whether that is so.

        What the whole takes is told by the original, of which as many iterations are run.
        """
        if not self._spared or self.around_s < _SLOW_READ_S:
            return False
        found = shorter(self.measurer, self.original_s)
        if found is None:
            self._cannot_shorten = True
            return False
        return self._shorten(found, emit_original(found.measurer.nest), self.original_s)

    def _shorten_if_slow(self) -> bool:
        """After a candidate: on less work from now on, where those that are to come would not fit in."""
        cost = self.best_s + self.around_s
        if self._short is not None or self._cannot_shorten or not self._spared or cost < _SLOW_RUN_S:
            return False
        if _WANTED * cost < self.deadline - time.monotonic():
            return False
        self._cannot_shorten = True
        found = shorter(self.measurer, self.best_s)
        if found is None:
            return False
        text = found.body(self._best) if self._best is not None else emit_original(found.measurer.nest)
        return text is not None and self._shorten(found, text, self.best_s)

    def _shorten(self, found: Shorter, text: str, whole_s: float) -> bool:
        measurer = found.measurer.knowing_sizes() if self._best is None else found.measurer
        built = measurer.build([text])[0]
        settings = TimingSettings(min_samples=1, target_seconds=_SAMPLED_S)
        timed = self.measurer.time(built, settings, "original" if self._best is None else "candidates").outcome
        if not isinstance(timed, Timed):
            return False
        self._short = self._shorter = found
        self._scale = whole_s / timed.min
        self.tried.less_work = str(found)
        return True

    # ------------------------------------------------------------------------------ measuring

    def _text(self, scheduled: ScheduledNest) -> tuple[Measurer, str | BuildFailed]:
        """The C text that is measured, and what measures it; of the whole nest where a shorter one has none."""
        if self._short is not None and (text := self._short.body(scheduled)) is not None:
            return self._short.measurer, text
        return self.measurer, self.measurer.body(scheduled)

    def measure(
        self, schedules: Sequence[ScheduledNest], known: Sequence[Outcome | None] | None = None
    ) -> list[float | None]:
        """Seconds in their order; of those with the same text the first one counts, known or not, as in an earlier run.

        None for those that failed and those that there was no time for.
        """
        found: dict[int, float | None] = {}
        waiting = dict(enumerate(zip(schedules, known or [None] * len(schedules), strict=True)))
        while waiting:
            waiting = self._measure_alike(waiting, found)
        return [found.get(number) for number in range(len(schedules))]

    def _measure_alike(
        self, waiting: Mapping[int, tuple[ScheduledNest, Outcome | None]], found: dict[int, float | None]
    ) -> dict[int, tuple[ScheduledNest, Outcome | None]]:
        """Measures until the work that is measured changes; returns those that are left then."""
        texts: dict[int, tuple[Measurer, str]] = {}
        new: dict[str, tuple[Measurer, ScheduledNest]] = {}

        def wanted() -> Iterator[tuple[Measurer, str]]:
            for number, (scheduled, outcome) in waiting.items():
                measurer, text = self._text(scheduled)
                if isinstance(text, BuildFailed):
                    self.tried.seconds[scheduled.schedule] = None
                    if outcome is None:
                        self.tried.failed += 1
                        self.tried.notes.append(f"{format_schedule(scheduled.schedule)}: {text.message}")
                        self._ledger.searched(scheduled.schedule, Measured(text), self.donors.get(scheduled.schedule))
                    continue
                texts[number] = measurer, text
                if outcome is not None:
                    self._seconds.setdefault(text, self._known(outcome))
                elif text not in self._seconds and text not in new:
                    new[text] = measurer, scheduled
                    yield measurer, text

        programs = self.measurer.build_workloads(measurer.workload(text) for measurer, text in wanted())
        built = dict(zip(new, programs, strict=True))
        shortened = False
        for text, (measurer, scheduled) in new.items():
            if self._seconds and self.expired():
                break
            self._seconds[text] = self._try(measurer, scheduled, built[text])
            self._at_s[text] = time.monotonic() - self._began
            if shortened := self._shorten_if_slow():
                break
        for text, program in built.items():
            slow = (self._seconds.get(text) or math.inf) > _CLOSE * self.best_s  # the others are run again
            original = self.original.built.executable if self.original is not None else None
            if slow and isinstance(program, Built) and program.executable != original:
                discard(program)  # a candidate may have the original's text
        for number, (_, text) in texts.items():
            if text in self._seconds:  # for others there was no time
                schedule = waiting[number][0].schedule
                found[number] = self.tried.seconds[schedule] = self._seconds[text]
                if text in self._at_s:
                    self.tried.at_s[schedule] = self._at_s[text]
        left = {number: waiting[number] for number, (_, text) in texts.items() if text not in self._seconds}
        return left if shortened else {}

    def _try(self, measurer: Measurer, scheduled: ScheduledNest, built: Built | BuildFailed) -> float | None:
        """Runs one candidate and keeps what came of it."""
        measured, seconds = self._time(built, 1.0 if measurer is self.measurer else self._scale)
        if isinstance(measured.outcome, Stopped):
            self.tried.given_up.add(scheduled.schedule)
        if measurer is self.measurer:
            self._ledger.searched(scheduled.schedule, measured, self.donors.get(scheduled.schedule))
            if isinstance(measured.outcome, Timed) and seconds == self.best_s:
                self._best = scheduled
        else:
            self.tried.estimated.add(scheduled.schedule)
        return seconds

    def _time(self, built: Built | BuildFailed, scale: float) -> tuple[Measured, float | None]:
        """`scale`: seconds of the whole nest for one of what is run."""
        best_s = self.best_s / scale
        few = 1 if best_s > _LONG_S else 2 if best_s > 0.01 else 3  # the first call counts if it is long
        stop = self.original_s * self._limits.stop_original
        if self.stop_best is not None:
            stop = min(stop, self.best_s * self.stop_best)
        if self._spared and scale == 1.0:  # one that is no better must not take the time of the others
            stop = min(stop, max(_CANDIDATE_SHARE * (self.deadline - time.monotonic()), 1.0))
        settings = TimingSettings(min_samples=few, target_seconds=_SAMPLED_S, stop_above_s=stop / scale)
        began = time.monotonic()
        measured = self.measurer.time(built, settings)
        seconds = self._seconds_of(measured.outcome, scale)
        if seconds is not None and scale == 1.0:
            around = time.monotonic() - began - settings.min_samples * seconds
            self.around_s = max(self.around_s, around) if self._ran else max(around, 0.0)
            self._ran = True
        if isinstance(built, Built):
            self.tried.candidates += 1
        if seconds is None:
            self.tried.failed += not isinstance(measured.outcome, WrongResult)
            self.tried.wrong += isinstance(measured.outcome, WrongResult)
        else:
            self.best_s = min(self.best_s, seconds)
        self._progress(CandidateMeasured(self.best_s, self.original_s, self.tried.candidates))
        return measured, seconds

    @property
    def stop_best(self) -> float | None:
        """What was asked for, less where the best so far is a candidate that takes long."""
        asked = self._limits.stop_best
        slow = SLOW_S < self.best_s < HOPEFUL * self.original_s and self._short is None
        return min(asked, _STOP_SLOW) if asked and slow else asked

    def _known(self, outcome: Outcome) -> float | None:
        """What an earlier run measured."""
        seconds = self._seconds_of(outcome)
        if seconds is not None:
            self.best_s = min(self.best_s, seconds)
        return seconds

    def _seconds_of(self, outcome: Outcome, scale: float = 1.0) -> float | None:
        """A candidate that was given up counts as just that slow."""
        match outcome:
            case Timed():
                return outcome.min * scale
            case Stopped():
                least = self.best_s * (self.stop_best or self._limits.stop_original)
                return max(outcome.after_s * scale, least)
            case _:
                return None

    # -------------------------------------------------------------------------------- run-off

    def run_off(self, ranked: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        """Those nearly as fast as the fastest run again, in turns, and ranked by the median: where a process finds its
        memory makes as much of a difference as lies between them. KeyboardInterrupt ends it early, and is raised.
        """
        close = [c for c in ranked[: self._limits.finalists] if c.seconds <= _CLOSE * ranked[0].seconds]
        if len(close) < 2 or close[0].seconds >= HOPEFUL * self.original_s:
            return ranked
        if any(c.scheduled.schedule not in self.tried.seconds for c in close):
            return ranked  # predicted, and never run
        texts = [self._text(c.scheduled) for c in close]
        scales = [1.0 if measurer is self.measurer else self._scale for measurer, _ in texts]
        built = self.measurer.build_workloads(m.workload(text) for m, text in texts if isinstance(text, str))
        settings = TimingSettings(min_samples=1 if self.best_s / max(scales) > 0.02 else 3, target_seconds=_SAMPLED_S)
        seconds = [[c.seconds] for c in close]
        enough = time.monotonic() + _RUN_OFF_SHARE * self._limits.budget_s
        for _ in range(_RUN_OFFS):
            for number in left_to_run(seconds):
                if time.monotonic() < enough:
                    outcome = self.measurer.time(built[number], settings).outcome
                    seconds[number] += [outcome.min * scales[number]] if isinstance(outcome, Timed) else []
        order = sorted(range(len(close)), key=lambda k: (median(seconds[k]), k))
        return self._at_full_size((*(close[k] for k in order), *ranked[len(close) :]))

    def _at_full_size(self, ranked: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        """Of a nest searched on less work the fastest run once as they are, as long as there is time for it."""
        if self._short is None or self.expired():
            return ranked
        self._short, self.best_s = None, math.inf
        close = [c for c in ranked[: self._limits.finalists] if c.seconds <= _CLOSE * ranked[0].seconds]
        bodies = [self.measurer.body(c.scheduled) for c in close]
        built = self.measurer.build([body for body in bodies if isinstance(body, str)])
        found: list[Candidate] = []
        for candidate, program in zip(close, built, strict=True):
            if found and self.expired():
                break
            most = _TWICE * min(candidate.seconds, self.best_s)
            settings = TimingSettings(min_samples=1, target_seconds=_SAMPLED_S, stop_above_s=most)
            measured = self.measurer.time(program, settings)
            seconds = self._seconds_of(measured.outcome)
            schedule = candidate.scheduled.schedule
            self._ledger.searched(schedule, measured, self.donors.get(schedule))
            self.tried.estimated.discard(schedule)
            self.tried.seconds[schedule] = seconds
            self.tried.at_s[schedule] = time.monotonic() - self._began
            if seconds is not None:
                self.best_s = min(self.best_s, seconds)
                found.append(replace(candidate, seconds=seconds))
        found.sort(key=lambda c: c.seconds)
        return (*found, *(c for c in ranked if c.scheduled.schedule in self.tried.estimated))

    def compared_on_less(self, scheduled: ScheduledNest, budget_s: float) -> Comparison | None:
        """Original and candidate in turns on less work; None where candidates were not run on less."""
        if self._shorter is None or (text := self._shorter.body(scheduled)) is None:
            return None
        measurer = self._shorter.measurer
        original = measurer.knowing_sizes().build([emit_original(measurer.nest)])[0]
        candidate = measurer.build([text])[0]
        timed = measurer.time(original, TimingSettings(min_samples=1), "original").outcome
        if isinstance(original, BuildFailed) or isinstance(candidate, BuildFailed) or not isinstance(timed, Timed):
            return None
        compared = measurer.compare(Original(original, timed), candidate, budget_s, budget_s)
        return compared if isinstance(compared, Comparison) else None


def left_to_run(seconds: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Which of several programs may be the fastest after their first time, by the search, and some runs in turns.

    Of two runs of each or more every one of another program may be longer than all of the fastest: it is out. None
    where one is left.
    """
    again = [times[1:] for times in seconds]
    if any(len(times) < 2 for times in again):
        return tuple(range(len(seconds)))
    longest = min(max(times) for times in again)
    left = tuple(number for number, times in enumerate(again) if min(times) <= longest)
    return left if len(left) > 1 else ()
