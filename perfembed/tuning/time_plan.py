"""How the time of a run of `tune` is divided: among the nests that wait, and what is kept for the whole program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from perfembed.capture import ProgramProfile
from perfembed.errors import NotRead
from perfembed.measuring.stopwatch import Budget, Stopwatch
from perfembed.tuning.inputs import NestInputs
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.result import TuneResult
from profilers.deadline import OutOfTime, within
from profilers.load import crowding

_LEAST_S = 1.0  # for a nest
_CHECKING_S, _CHECKING_RUNS, _CHECKING_SHARE = 4.0, 1.5, 0.3  # for building and running the whole program at the end
_WRITING_S = 0.5  # of that for its text, on a quiet machine
_BUSY = 2.0  # times as long as on a quiet machine: others are at work, or more of ours than there are cores
_NEST_S = 3.0  # what a nest takes on a quiet machine, at least


@contextmanager
def in_budget(options: TuneOptions) -> Iterator[Budget]:
    """The budget of a run of `tune`, which begins: no program that is started in here runs on behind its last moment.

    Raises NotRead where that comes before there is anything to write.
    """
    watch = Stopwatch(began=options.began_s)
    assert watch.began is not None
    budget = Budget(options.budget_s, watch.began, watch)
    try:
        with within(budget.at_last):
            yield budget
    except OutOfTime:
        raise NotRead(
            f"the budget of {options.budget_s:g} s was spent before it was known what there is to tune",
            "--budget allows more; what else keeps the machine busy?",
        ) from None


def with_all_time(result: TuneResult, budget: Budget) -> TuneResult:
    """The result with the time that passed until now."""
    return replace(result, seconds=budget.wall_s(), phases=budget.watch.spent())


class TimePlan:
    """Of one run of `tune`. Seconds of wall time."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.profile: ProgramProfile | None = None

    def ran(self, wall_s: float) -> None:
        """What one run of the program takes."""
        self.budget.original_s = wall_s

    @property
    def crowding(self) -> float:
        """How many times as long everything takes because others use the machine, too; 1 where they hardly do."""
        found = crowding()
        return found if found > _BUSY else 1.0

    @property
    def checking_s(self) -> float:
        """For building and running the whole program at the end."""
        ran = self.profile
        building_s = _WRITING_S * self.crowding + ran.built_s if ran is not None else 0.0
        return max(_CHECKING_S, building_s) + (_CHECKING_RUNS * ran.wall_s if ran is not None else 0.0)

    def of_first(self, waiting: Sequence[NestInputs]) -> float | None:
        """For the first of the nests that wait, by what each can gain; None where there is nothing left.

        Beside others it gets at least what a nest needs then: what is left of little goes to what matters most.
        """
        left = self.budget.left() - min(_CHECKING_SHARE * self.budget.seconds, self.checking_s)
        if left < _LEAST_S * self.crowding:
            return None
        share = waiting[0].gain_s / sum(inputs.gain_s for inputs in waiting)
        least = _NEST_S * self.crowding if self.crowding > 1 else _LEAST_S
        return min(left, max(least, left * share))

    def nest_left(self) -> float:
        """Until a nest has to end, done or not."""
        return self.budget.at_last() - self.checking_s
