"""What tuning a nest does to the machine: it compiles, runs, compares and waits.

Whoever decides (`trials`, `checking`, `tuning.nest_tuner`) asks a `Runner` and knows no other clock than its;
`recording` has one that remembers, and one that answers from memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from profilers.build import Built, CompilerConfig, compile_workloads, discard
from profilers.contained.child import Limits
from profilers.harness import check_workload, time_workload, write_reference
from profilers.load import LoadMeter
from profilers.outcome import (
    BuildFailed,
    Failure,
    Outcome,
    Timed,
    Verified,
)
from profilers.specification import TimingSettings
from profilers.timing import CompareSettings, Comparison, ComparisonFailed, compare_interleaved
from profilers.workload import Workload


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of a process that is started: its limits and its environment."""

    limits: Limits
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Compile:
    """How texts are compiled: several at a time, each for `timeout_s` seconds at most, into a folder."""

    config: CompilerConfig
    folder: Path
    jobs: int
    timeout_s: float
    environment: Mapping[str, str]


class Runner(Protocol):
    """All that takes time on the machine. Seconds are of wall time."""

    def now(self) -> float:
        """The clock that budgets are kept by."""
        ...

    def compile(self, workloads: Iterable[Workload], how: Compile) -> tuple[Built | BuildFailed, ...]:
        """As `profilers.build.compile_workloads`."""
        ...

    def discard(self, built: Built) -> None:
        """The build is not needed any more."""
        ...

    def time(self, built: Built, settings: TimingSettings, where: Surroundings) -> tuple[Outcome, float | None]:
        """As `profilers.harness.time_workload`; and how many cores others kept busy meanwhile."""
        ...

    def compare(
        self, original: Built, candidate: Built, settings: CompareSettings, seed: int, where: Surroundings
    ) -> Comparison | ComparisonFailed:
        """As `profilers.timing.compare_interleaved`."""
        ...

    def reference(self, built: Built, path: Path, where: Surroundings) -> Timed | Failure:
        """As `profilers.harness.write_reference`."""
        ...

    def check(self, built: Built, path: Path, tolerance: float | None, where: Surroundings) -> Verified | Failure:
        """As `profilers.harness.check_workload`."""
        ...


class Processes:
    """The machine itself: everything is run, each time in a contained process."""

    def now(self) -> float:
        return time.monotonic()

    def compile(self, workloads: Iterable[Workload], how: Compile) -> tuple[Built | BuildFailed, ...]:
        return compile_workloads(
            workloads, how.config, how.folder, how.jobs, how.timeout_s, environment=how.environment
        )

    def discard(self, built: Built) -> None:
        discard(built)

    def time(self, built: Built, settings: TimingSettings, where: Surroundings) -> tuple[Outcome, float | None]:
        load = LoadMeter()
        outcome = time_workload(built, settings=settings, limits=where.limits, environment=where.environment)
        return outcome, load.other_load()

    def compare(
        self, original: Built, candidate: Built, settings: CompareSettings, seed: int, where: Surroundings
    ) -> Comparison | ComparisonFailed:
        return compare_interleaved(
            original, candidate, settings=settings, seed=seed, limits=where.limits, environment=where.environment
        )

    def reference(self, built: Built, path: Path, where: Surroundings) -> Timed | Failure:
        return write_reference(built, path, limits=where.limits, environment=where.environment)

    def check(self, built: Built, path: Path, tolerance: float | None, where: Surroundings) -> Verified | Failure:
        return check_workload(built, path, tolerance, limits=where.limits, environment=where.environment)
