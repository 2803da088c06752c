"""Nests under the conditions of benches, and their programs timed in turns."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from perfembed.measuring.measurer import Conditions, Measurer, NestNotMeasurable
from perfembed.measuring.target import compiled_target
from perfembed.tuning.nest_outcome import NestOutcome
from perfembed.tuning.nest_tuner import NestTuner
from perfembed.tuning.options import TuneOptions
from profilers.build import Built, CompilerConfig
from profilers.machine import describe_machine
from profilers.outcome import Timed
from profilers.specification import TimingSettings
from scheduler.machine.target import Target
from scheduler.replay import LegalityOptions

_ROUNDS, _MOST_ROUNDS, _COMPARE_S = 5, 25, 4.0  # the final comparison: at least, at most, and until

Key = TypeVar("Key")


def bench_target(options: TuneOptions) -> Target:
    """The machine with the vectors that the compiler may use, as `tune` and `populate` see it."""
    compiler = CompilerConfig(options.cc, options.cflags)
    return compiled_target(describe_machine(), options.threads, compiler, dict(options.environment))


def bench_conditions(options: TuneOptions, target: Target, workdir: Path) -> Conditions:
    """As `tune` measures with these options, with OpenMP, and without what changes results."""
    return Conditions(
        compiler=CompilerConfig(options.cc, (*options.cflags, "-fopenmp")),
        threads=options.threads,
        target=target,
        workdir=workdir,
        environment=dict(options.environment),
        jobs=max(1, describe_machine().logical_cores),
        allowed=LegalityOptions(),
        seed=options.seed,
    )


def searched(tuner: NestTuner) -> NestOutcome:
    """What a search came to.

    Raises NestNotMeasurable, and KeyboardInterrupt: the tuner keeps what it has, which is not all that it can do.
    """
    outcome = tuner.run()
    if tuner.interrupted:
        raise KeyboardInterrupt
    if outcome.original_s is None:
        raise NestNotMeasurable(outcome.reason)
    return outcome


def time_in_turns(programs: Mapping[Key, Built], measurer: Measurer) -> dict[Key, list[float]]:
    """Seconds of a run in each of several rounds, more of short ones; fewer where a program does not run."""
    times: dict[Key, list[float]] = {key: [] for key in programs}
    enough = time.monotonic() + _COMPARE_S
    for number in range(_MOST_ROUNDS):
        if number >= _ROUNDS and time.monotonic() > enough:
            break
        for key, program in programs.items():
            outcome = measurer.time(program, TimingSettings(min_samples=2, target_seconds=0.1)).outcome
            if isinstance(outcome, Timed):
                times[key].append(outcome.min)
    return times
