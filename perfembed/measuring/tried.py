"""What running candidates is allowed, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler.schedule import Schedule


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """A candidate is given up when it takes `stop_best` times as long as the best so far, or `stop_original` times as
    long as the original. `finalists`: how many of the fastest are run again. `closing_s`: of the budget, the least that
    is left for confirming and checking.
    """

    budget_s: float
    stop_best: float | None
    stop_original: float
    finalists: int
    closing_s: float = 0.0


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
