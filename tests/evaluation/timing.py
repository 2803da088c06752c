"""How far the comparison of two programs can be believed: a nest against itself, and against a slower one.

An A/A comparison that declares one of two equal programs faster is a false alarm; a planted slowdown that is not
found is a miss. Both are counted at the settings that `tune` decides with.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfembed.errors import EnvironmentMissing
from profilers.build import Built, CompilerConfig, compile_workloads
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.outcome import BuildFailed
from profilers.timing import CompareSettings, Comparison, ComparisonFailed, compare_interleaved
from profilers.workload import Argument, ConstantFill, RandomFill, Workload

_ELEMENTS = 20_000
_SOURCE = """
void pe_kernel(void *const *args);
void pe_kernel(void *const *args)
{
    double *x = args[0];
    const long rounds = *(const long *)args[1];
    for (long r = 0; r < rounds; r++)
        for (long i = 1; i < 20000; i++)
            x[i] = x[i] * 0.5 + x[i - 1];
}
"""


@dataclass(frozen=True, slots=True)
class TimingBench:
    """`rounds` sets the length of the nest (about 25 µs each), `slowdown` is planted as that much more work."""

    comparisons: int = 100
    slowdown: float = 0.03
    rounds: int = 40
    seed: int = 0
    settings: CompareSettings = field(default_factory=CompareSettings)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimingResult:
    """Verdicts of `equal` A/A comparisons and of as many with the slower nest as the candidate.

    `found` of the slower ones were declared slower, `alarms` of the equal ones faster, `others` slower. `ratios` are
    original time / candidate time of the A/A comparisons. Of their intervals as they are told to people (which
    promise a coverage of `told` in the mean) `untold` leave 1 out.
    """

    bench: TimingBench
    equal: int
    alarms: int
    others: int
    planted: int
    found: int
    reversed: int
    ratios: tuple[float, ...]
    noisy: int
    seconds: float
    interrupted: bool
    told: float = 0.0
    untold: int = 0


def run_timing(bench: TimingBench, progress: Callable[[int, int], None], tell: Callable[[str], None]) -> TimingResult:
    """Alternates both kinds of comparison; Ctrl-C ends with what there is.

    `progress` is told how many of each are done, and false alarms; `tell` hears whom it waits for.
    Raises EnvironmentMissing without a compiler.
    """
    began = time.monotonic()
    equal: list[Comparison] = []
    planted: list[Comparison] = []
    interrupted = False
    with scratch_folder() as folder:
        original, slower = _programs(bench, folder)
        with machine_lock(bench.environment, tell):
            try:
                for number in range(bench.comparisons):
                    for candidate, found in ((original, equal), (slower, planted)):
                        found.append(_compared(original, candidate, bench, number))
                    progress(number + 1, sum(c.faster for c in equal))
            except KeyboardInterrupt:
                interrupted = True
    told = [interval for c in equal if (interval := c.told) is not None]
    return TimingResult(
        bench=bench,
        equal=len(equal),
        alarms=sum(c.faster for c in equal),
        others=sum(c.slower for c in equal),
        planted=len(planted),
        found=sum(c.slower for c in planted),
        reversed=sum(c.faster for c in planted),
        ratios=tuple(c.ratio for c in equal),
        noisy=sum(c.noisy for c in (*equal, *planted)),
        seconds=time.monotonic() - began,
        interrupted=interrupted,
        told=statistics.fmean(t.coverage for t in told) if told else 0.0,
        untold=sum(not t.low <= 1.0 <= t.high for t in told),
    )


def _programs(bench: TimingBench, folder: Path) -> tuple[Built, Built]:
    def workload(rounds: int) -> Workload:
        arguments = (
            Argument("x", "double", (_ELEMENTS,), RandomFill(1, 0.0, 1.0), True),
            Argument("rounds", "long", (), ConstantFill(rounds), False),
        )
        return Workload("timing", _SOURCE, arguments, 1)

    (built,) = compile_workloads(
        (workload(bench.rounds),), CompilerConfig("gcc", ("-O2",)), folder, 1, environment=bench.environment
    )
    if isinstance(built, BuildFailed):
        raise EnvironmentMissing(f"gcc does not compile: {built.message}", "perfembed doctor says what is missing")
    slower = workload(round(bench.rounds * (1 + bench.slowdown)))
    return built, replace(built, workload=slower)


def _compared(original: Built, candidate: Built, bench: TimingBench, number: int) -> Comparison:
    found = compare_interleaved(
        original, candidate, settings=bench.settings, seed=bench.seed + number, environment=bench.environment
    )
    if isinstance(found, ComparisonFailed):
        raise EnvironmentMissing(f"the {found.which} program does not run: {found.outcome}", "")
    return found
