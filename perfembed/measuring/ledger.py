"""What a tuner reports while it measures, what it need not measure because it is known already, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from perfembed.measuring.measurer import Checked, Measured
from profilers.outcome import Outcome, Timed
from profilers.timing import Comparison
from scheduler.replay import Replayer
from scheduler.schedule import Schedule

DonorOf = tuple[str, float]
"""The id of the nest that a schedule comes from, and how far the nests' embeddings are apart."""


class Ledger(Protocol):
    """One nest's. Schedules are in the nest's own names."""

    def begin(self, replayer: Replayer, baseline: Timed) -> None:
        """The original has been timed; `replayer` is of the nest that will be searched."""
        ...

    def promising(self) -> Sequence[Schedule]:
        """Schedules to begin with."""
        ...

    def known(self, schedule: Schedule) -> Outcome | None:
        """What came of it under the same conditions; None where it has not been measured."""
        ...

    def searched(self, schedule: Schedule, measured: Measured, donor: DonorOf | None = None) -> None:
        """A candidate of the search, or one transferred from a donor, was measured."""
        ...

    def concluded(self, schedule: Schedule) -> bool | None:
        """Whether an earlier run confirmed that it is faster and computes the same; None where it did not look."""
        ...

    def confirmed(self, schedule: Schedule, comparison: Comparison, checked: Checked) -> None:
        """A candidate that computes what the original does was compared with it in alternation."""
        ...

    def refuted(self, schedule: Schedule, failure: Outcome) -> None:
        """A candidate was checked and does not compute what the original does."""
        ...


class NoLedger:
    """Nothing is known, nothing is kept."""

    def begin(self, replayer: Replayer, baseline: Timed) -> None:
        pass

    def promising(self) -> Sequence[Schedule]:
        return ()

    def known(self, schedule: Schedule) -> Outcome | None:
        return None

    def searched(self, schedule: Schedule, measured: Measured, donor: DonorOf | None = None) -> None:
        pass

    def concluded(self, schedule: Schedule) -> bool | None:
        return None

    def confirmed(self, schedule: Schedule, comparison: Comparison, checked: Checked) -> None:
        pass

    def refuted(self, schedule: Schedule, failure: Outcome) -> None:
        pass


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """A candidate is given up when it takes `stop_best` times as long as the best so far, or `stop_original` times as
    long as the original. `finalists`: how many of the fastest are run again. `crowding`: how many times as long as on a
    quiet machine everything takes.
    """

    budget_s: float
    stop_best: float | None
    stop_original: float
    finalists: int
    crowding: float = 1.0


@dataclass(slots=True)
class Tried:
    """What running candidates found. `seconds`: None where they failed; of `estimated` ones from less work."""

    candidates: int = 0  # measured
    failed: int = 0
    wrong: int = 0
    failure: str = ""  # what the first one that failed died of
    notes: list[str] = field(default_factory=list)
    seconds: dict[Schedule, float | None] = field(default_factory=dict)
    at_s: dict[Schedule, float] = field(default_factory=dict)  # when that was known, from the nest's beginning
    given_up: set[Schedule] = field(default_factory=set)  # those that took longer than `seconds`
    estimated: set[Schedule] = field(default_factory=set)
    other_load: list[float] = field(default_factory=list)  # cores that others kept busy, by candidate
    less_work: str = ""  # which iterations were measured, where not all were
