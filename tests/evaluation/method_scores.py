"""How methods of transfer compare, over all nests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.evaluation.statistics import mean_interval

ORIGINAL, REFERENCE = "original", "long search"
_BEST = 1.02  # of the time of the fastest method: as good as that


@dataclass(slots=True)
class NestRow:
    """One nest. `seconds` of a run by method, the original and the long search among them; None where there is none.

    By method also the ids of the `donors` found, nearest first, candidates `measured`, `predicted` by a cost model and
    `rejected` by a guard, seconds of `tuning`, and `overhead`: those in which neither a compiler nor a nest ran.
    `weight` turns seconds into the program's. `searched_on`: the machine of the long search.
    """

    program: str
    nest: str
    line: int
    weight: float
    seconds: dict[str, float | None] = field(default_factory=dict)
    measured: dict[str, int] = field(default_factory=dict)
    tuning: dict[str, float] = field(default_factory=dict)
    overhead: dict[str, float] = field(default_factory=dict)
    schedules: dict[str, str] = field(default_factory=dict)
    noise: float = 0.0
    predicted: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    seed: int = 0
    donors: dict[str, list[str]] = field(default_factory=dict)
    searched_on: str | None = None


@dataclass(frozen=True, slots=True)
class MethodScore:
    """Over all programs: time over that of `against`. `beyond`: how many programs are more than 25 % slower.

    A program counts once for each seed; `mean` is the geometric mean of the ratios, and `low` to `high` its 95 %
    interval by the bootstrap over programs, all seeds of one together.
    """

    method: str
    programs: int
    median: float
    worst: float
    mean: float
    low: float
    high: float
    within: int  # 5 %
    beyond: int
    speedup: float  # geometric mean over the original
    measured: float  # candidates a nest
    predicted: float  # candidates a nest
    rejected: float  # candidates a nest
    best: int  # how many programs no other method made more than 2 % faster
    tuning_s: float  # a nest
    overhead_s: float  # a program, in the median
    overhead_most_s: float  # the most of a program


@dataclass(frozen=True, slots=True)
class MethodPair:
    """The geometric mean over programs of a method's time over that of `against`, with its 95 % interval as above."""

    method: str
    against: str
    mean: float
    low: float
    high: float


def scores(rows: Sequence[NestRow], methods: Sequence[str], against: str) -> tuple[MethodScore, ...]:
    """One for each method, of the programs whose nests all have a time of `against`, a method or the long search."""
    whole = _whole_programs(rows, against)
    found = []
    for method in dict.fromkeys((against, *methods)):
        ratios = sorted(_time(nests, method) / _time(nests, against) for nests in whole)
        gains = [_time(nests, ORIGINAL) / _time(nests, method) for nests in whole]
        every = [row for nests in whole for row in nests]
        if not ratios:
            continue
        mean, low, high = _interval(whole, method, against)
        overheads = [sum(row.overhead.get(method, 0.0) for row in nests) for nests in whole]
        found.append(
            MethodScore(
                method=method,
                programs=len(ratios),
                median=float(np.median(ratios)),
                worst=ratios[-1],
                mean=mean,
                low=low,
                high=high,
                within=sum(r <= 1.05 for r in ratios),
                beyond=sum(r > 1.25 for r in ratios),
                speedup=math.exp(sum(map(math.log, gains)) / len(gains)),
                measured=float(np.mean([row.measured.get(method, 0) for row in every])),
                predicted=float(np.mean([row.predicted.get(method, 0) for row in every])),
                rejected=float(np.mean([row.rejected.get(method, 0) for row in every])),
                best=sum(_time(nests, method) <= _BEST * min(_time(nests, m) for m in methods) for nests in whole),
                tuning_s=float(np.mean([row.tuning.get(method, 0.0) for row in every])),
                overhead_s=float(np.median(overheads)),
                overhead_most_s=max(overheads),
            )
        )
    return tuple(found)


def pairs(rows: Sequence[NestRow], groups: Sequence[Sequence[str]], against: str) -> tuple[MethodPair, ...]:
    """The other methods of each group over its first, of the programs that `scores` counts.

    Nothing of a group whose first is `against`: `scores` say it.
    """
    whole = _whole_programs(rows, against)
    return tuple(
        MethodPair(method, first, *_interval(whole, method, first))
        for first, *others in groups
        if first != against
        for method in (others if whole else ())
    )


def _interval(whole: Sequence[Sequence[NestRow]], method: str, against: str) -> tuple[float, float, float]:
    """(geometric mean, low, high) of the ratios of two methods' times; raises ValueError without a program."""
    logs: dict[str, list[float]] = {}
    for nests in whole:
        logs.setdefault(nests[0].program, []).append(math.log(_time(nests, method) / _time(nests, against)))
    mean, low, high = mean_interval(list(logs.values()))
    return math.exp(mean), math.exp(low), math.exp(high)


def fastest_of_all(rows: Sequence[NestRow], methods: Sequence[str], against: str) -> dict[str, float]:
    """By program: the least time of any method over that of `against`, of which it is one."""
    found: dict[str, float] = {}
    for nests in _whole_programs(rows, against):
        ratio = min(_time(nests, method) for method in (against, *methods)) / _time(nests, against)
        found[nests[0].program] = min(found.get(nests[0].program, 1.0), ratio)
    return found


def _whole_programs(rows: Sequence[NestRow], against: str) -> list[list[NestRow]]:
    """The nests of each program and seed, where `against` has a time for all of them."""
    programs: dict[tuple[str, int], list[NestRow]] = {}
    for row in rows:
        programs.setdefault((row.program, row.seed), []).append(row)
    return [nests for nests in programs.values() if all(row.seconds.get(against) for row in nests)]


def _time(nests: Sequence[NestRow], method: str) -> float:
    return sum(row.weight * (row.seconds.get(method) or row.seconds[ORIGINAL] or 0.0) for row in nests)
