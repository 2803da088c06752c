"""Runs candidates of one nest: each text once, at full size or on less work, as long as there is time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from perfembed.measuring.events import CandidateMeasured
from perfembed.measuring.ledger import DonorOf, Ledger, TrialLimits, Tried
from perfembed.measuring.less_work import READ_S, Shorter, shorter
from perfembed.measuring.measurer import Measured, Measurer, Original
from profilers.build import Built
from profilers.outcome import BuildFailed, Outcome, Stopped, Timed, WrongResult
from profilers.specification import TimingSettings
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule, format_schedule

HOPEFUL = 0.97  # of the original's time: above it a confirmation would only cost time
SLOW_S = 1.0  # a candidate that takes more
_STOP_SLOW = 1.25  # is given up when it takes more than the best by this factor
_LONG_S = 0.25  # a candidate that takes more is called once
SAMPLED_S = 0.05  # for the samples of a shorter one: those that are close run again
BUSY, _REPEATS = 0.3, 6  # cores that others use; what was slow then runs again, of a nest so often
CLOSE = 1.15  # of the fastest one's time
_CANDIDATE_SHARE = 0.25  # of the time left to search, for one run of a slow nest's candidate
_CLOSING_S = 1.5  # for the winner at least, on a quiet machine; where it is not, more than a share of the budget
_CLOSING_RUNS, _CLOSING_SLOW_S = 3, 4.0  # of a slow nest's best, to check it, and for what is small
_SEARCH_SHARE = 0.75  # of the budget; the rest is for confirming and checking
_SLOW_READ_S = 0.5  # reading that takes more is avoided from the first candidate on
_WANTED, _SLOW_RUN_S = 10, 0.3  # more candidates; where they do not fit in and take longer, less work is measured


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
        self.measurer = measurer
        began = self._began = self.now()
        self.tried = tried
        self.donors: Mapping[Schedule, DonorOf] = {}
        self.original: Original | None = None
        self.original_s = self.best_s = spared_s or 0.0
        self.around_s = READ_S * measurer.captured.total_bytes  # that a run takes besides, until one was timed
        search_s = limits.budget_s * _SEARCH_SHARE
        if limits.crowding > 1:
            search_s = min(search_s, limits.budget_s - _CLOSING_S * limits.crowding)
        self.deadline = began + search_s
        self.end = began + limits.budget_s
        self.limits = limits
        self._progress = progress
        self.ledger = ledger
        self._spared = spared_s is not None
        self._best: ScheduledNest | None = None  # of those measured at full size
        self._ran = False
        self._repeats = _REPEATS
        self.shorter: Shorter | None = None
        self.short: Shorter | None = None  # the same as long as candidates are run on it
        self.scale = 1.0  # seconds of the whole for one of `short`
        self._cannot_shorten = False
        self._seconds: dict[str, float | None] = {}  # by C text: different trees may give the same code
        self._at_s: dict[str, float] = {}  # of those measured here

    def now(self) -> float:
        return self.measurer.conditions.runner.now()

    def since_began(self) -> float:
        """Seconds since the nest was begun."""
        return self.now() - self._began

    def known_original(self, original: Original | None, seconds: float) -> None:
        """What candidates have to be faster than; `original` where it was run."""
        self.original = original
        self.original_s = self.best_s = seconds

    def give_back(self, seconds: float) -> None:
        """Time spent on what is no part of the budget."""
        self.deadline, self.end = self.deadline + seconds, self.end + seconds

    def expired(self) -> bool:
        """Whether what is left of the budget is needed to check and confirm the best so far, if that is any better.

        What a slow nest needs for it is known from its runs; that of others is a share of the budget. One candidate is
        always measured, however long it took to find it.
        """
        if not self._at_s:
            return False
        end = self.deadline
        if self._spared and self.best_s < HOPEFUL * self.original_s:
            end = self.end - _CLOSING_RUNS * (self.around_s + self.best_s) - _CLOSING_SLOW_S * self.limits.crowding
        return self.now() > end

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
        return self._shorten(found, found.measurer.original_body(), self.original_s)

    def _shorten_if_slow(self) -> bool:
        """After a candidate: on less work from now on, where those that are to come would not fit in."""
        cost = self.best_s + self.around_s
        if self.short is not None or self._cannot_shorten or not self._spared or cost < _SLOW_RUN_S:
            return False
        if _WANTED * cost < self.deadline - self.now():
            return False
        self._cannot_shorten = True
        found = shorter(self.measurer, self.best_s)
        if found is None:
            return False
        text = found.body(self._best) if self._best is not None else found.measurer.original_body()
        return text is not None and self._shorten(found, text, self.best_s)

    def _shorten(self, found: Shorter, text: str, whole_s: float) -> bool:
        measurer = found.measurer.knowing_sizes() if self._best is None else found.measurer
        built = measurer.build([text])[0]
        settings = TimingSettings(min_samples=1, target_seconds=SAMPLED_S)
        timed = self.measurer.time(built, settings, "original" if self._best is None else "candidates").outcome
        if not isinstance(timed, Timed):
            return False
        self.short = self.shorter = found
        self.scale = whole_s / timed.min
        self.tried.less_work = str(found)
        return True

    # ------------------------------------------------------------------------------ measuring

    def text(self, scheduled: ScheduledNest) -> tuple[Measurer, str | BuildFailed]:
        """The C text that is measured, and what measures it; of the whole nest where a shorter one has none."""
        if self.short is not None and (text := self.short.body(scheduled)) is not None:
            return self.short.measurer, text
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
                measurer, text = self.text(scheduled)
                if isinstance(text, BuildFailed):
                    self.tried.seconds[scheduled.schedule] = None
                    if outcome is None:
                        self.tried.failed += 1
                        self.tried.failure = self.tried.failure or f"a candidate cannot be run: {text.message}"
                        self.tried.notes.append(f"{format_schedule(scheduled.schedule)}: {text.message}")
                        self.ledger.searched(scheduled.schedule, Measured(text), self.donors.get(scheduled.schedule))
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
            self._at_s[text] = self.since_began()
            if shortened := not self.expired() and self._shorten_if_slow():
                break
        for text, program in built.items():
            slow = (self._seconds.get(text) or math.inf) > CLOSE * self.best_s  # the others are run again
            original = self.original.built.executable if self.original is not None else None
            if slow and isinstance(program, Built) and program.executable != original:
                self.measurer.conditions.runner.discard(program)  # a candidate may have the original's text
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
        measured, seconds = self._time(built, 1.0 if measurer is self.measurer else self.scale)
        if isinstance(measured.outcome, Stopped):
            self.tried.given_up.add(scheduled.schedule)
        if measurer is self.measurer:
            self.ledger.searched(scheduled.schedule, measured, self.donors.get(scheduled.schedule))
            if isinstance(measured.outcome, Timed) and seconds == self.best_s:
                self._best = scheduled
        else:
            self.tried.estimated.add(scheduled.schedule)
        return seconds

    def _time(self, built: Built | BuildFailed, scale: float) -> tuple[Measured, float | None]:
        """`scale`: seconds of the whole nest for one of what is run."""
        best_s = self.best_s / scale
        few = 1 if best_s > _LONG_S else 2 if best_s > 0.01 else 3  # the first call counts if it is long
        stop = self.original_s * self.limits.stop_original
        if self.stop_best is not None:
            stop = min(stop, self.best_s * self.stop_best)
        if self._spared and scale == 1.0:  # one that is no better must not take the time of the others
            stop = min(stop, max(_CANDIDATE_SHARE * (self.deadline - self.now()), 1.0))
        settings = TimingSettings(min_samples=few, target_seconds=SAMPLED_S, stop_above_s=stop / scale)
        began = self.now()
        measured = self.measurer.time(built, settings)
        seconds = self.seconds_of(measured.outcome, scale)
        self.tried.other_load.append(measured.other_load or 0.0)
        if self.tried.other_load[-1] > BUSY and seconds is not None and seconds > self.best_s and self._repeats:
            self._repeats -= 1  # threads that wait for a core make anything slow
            began, again = self.now(), self.measurer.time(built, settings)
            if (second := self.seconds_of(again.outcome, scale)) is not None and second < seconds:
                measured, seconds = again, second
        if seconds is not None and scale == 1.0:
            around = self.now() - began - settings.min_samples * seconds
            self.around_s = max(self.around_s, around) if self._ran else max(around, 0.0)
            self._ran = True
        if isinstance(built, Built):
            self.tried.candidates += 1
        if seconds is None:
            self.tried.failed += not isinstance(measured.outcome, WrongResult)
            self.tried.failure = self.tried.failure or f"a candidate does not compile or run: {_said(measured.outcome)}"
            self.tried.wrong += isinstance(measured.outcome, WrongResult)
        else:
            self.best_s = min(self.best_s, seconds)
        self._progress(CandidateMeasured(self.best_s, self.original_s, self.tried.candidates))
        return measured, seconds

    @property
    def stop_best(self) -> float | None:
        """What was asked for, less where the best so far is a candidate that takes long."""
        asked = self.limits.stop_best
        slow = SLOW_S < self.best_s < HOPEFUL * self.original_s and self.short is None
        return min(asked, _STOP_SLOW) if asked and slow else asked

    def _known(self, outcome: Outcome) -> float | None:
        """What an earlier run measured."""
        seconds = self.seconds_of(outcome)
        if seconds is not None:
            self.best_s = min(self.best_s, seconds)
        return seconds

    def seconds_of(self, outcome: Outcome, scale: float = 1.0) -> float | None:
        """A candidate that was given up counts as just that slow."""
        match outcome:
            case Timed():
                return outcome.min * scale
            case Stopped():
                least = self.best_s * (self.stop_best or self.limits.stop_original)
                return max(outcome.after_s * scale, least)
            case _:
                return None


def _said(outcome: Outcome) -> str:
    """The line that says what went wrong."""
    lines = (outcome.message if isinstance(outcome, BuildFailed) else str(outcome)).splitlines() or [""]
    return next((line for line in lines if "error" in line or "undefined" in line), lines[0])
