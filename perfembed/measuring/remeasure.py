"""The fastest candidates run again, in turns, and those that ran on less work as they are, before one is confirmed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from perfembed.measuring.measurer import Original
from perfembed.measuring.trials import CLOSE, HOPEFUL, SAMPLED_S, Trials
from profilers.outcome import BuildFailed, Timed
from profilers.specification import TimingSettings
from profilers.timing import Comparison
from scheduler.replay import ScheduledNest
from scheduler.search.explorer import Candidate

_TWICE = 2  # what less work told: a candidate that takes more is given up
_RUN_OFFS, _RUN_OFF_SHARE = 3, 0.1  # runs of each, and of the budget for all of them


def remeasure(trials: Trials, ranked: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Those nearly as fast as the fastest run again, in turns, and ranked by the median: where a process finds its
    memory makes as much of a difference as lies between them. KeyboardInterrupt ends it early, and is raised.
    """
    close = [c for c in ranked[: trials.limits.finalists] if c.seconds <= CLOSE * ranked[0].seconds]
    if len(close) < 2 or close[0].seconds >= HOPEFUL * trials.original_s:
        return ranked
    if any(c.scheduled.schedule not in trials.tried.seconds for c in close):
        return ranked  # predicted, and never run
    texts = [trials.text(c.scheduled) for c in close]
    scales = [1.0 if measurer is trials.measurer else trials.scale for measurer, _ in texts]
    built = trials.measurer.build_workloads(m.workload(text) for m, text in texts if isinstance(text, str))
    settings = TimingSettings(min_samples=1 if trials.best_s / max(scales) > 0.02 else 3, target_seconds=SAMPLED_S)
    seconds = [[c.seconds] for c in close]
    enough = trials.now() + _RUN_OFF_SHARE * trials.limits.budget_s
    for _ in range(_RUN_OFFS):
        for number in left_to_run(seconds):
            if trials.now() < enough:
                outcome = trials.measurer.time(built[number], settings).outcome
                seconds[number] += [outcome.min * scales[number]] if isinstance(outcome, Timed) else []
    order = sorted(range(len(close)), key=lambda k: (median(seconds[k]), k))
    return _at_full_size(trials, (*(close[k] for k in order), *ranked[len(close) :]))


def _at_full_size(trials: Trials, ranked: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Of a nest searched on less work the fastest run once as they are, as long as there is time for it."""
    if trials.short is None or trials.expired():
        return ranked
    trials.short, trials.best_s = None, math.inf
    close = [c for c in ranked[: trials.limits.finalists] if c.seconds <= CLOSE * ranked[0].seconds]
    bodies = {c: body for c in close if isinstance(body := trials.measurer.body(c.scheduled), str)}
    built = trials.measurer.build(bodies.values())
    found: list[Candidate] = []
    for candidate, program in zip(bodies, built, strict=True):
        if found and trials.expired():
            break
        most = _TWICE * min(candidate.seconds, trials.best_s)
        settings = TimingSettings(min_samples=1, target_seconds=SAMPLED_S, stop_above_s=most)
        measured = trials.measurer.time(program, settings)
        seconds = trials.seconds_of(measured.outcome)
        schedule = candidate.scheduled.schedule
        trials.ledger.searched(schedule, measured, trials.donors.get(schedule))
        trials.tried.estimated.discard(schedule)
        trials.tried.seconds[schedule] = seconds
        trials.tried.at_s[schedule] = trials.since_began()
        if seconds is not None:
            trials.best_s = min(trials.best_s, seconds)
            found.append(replace(candidate, seconds=seconds))
    found.sort(key=lambda c: c.seconds)
    return (*found, *(c for c in ranked if c.scheduled.schedule in trials.tried.estimated))


def compared_on_less(trials: Trials, scheduled: ScheduledNest, budget_s: float) -> Comparison | None:
    """Original and candidate in turns on less work; None where candidates were not run on less."""
    if trials.shorter is None or (text := trials.shorter.body(scheduled)) is None:
        return None
    measurer = trials.shorter.measurer
    original = measurer.knowing_sizes().build([measurer.original_body()])[0]
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
