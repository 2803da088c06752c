"""Tunes one nest on captured inputs: searches schedules by measuring them, then confirms and checks the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfembed.capture import CapturedNest, CaptureFailed, RandomisedInputs, make_workload, randomise
from perfembed.errors import PerfembedError
from perfembed.result import CandidateMeasured, Event
from profilers.build import Built, CompilerConfig, compile_workloads, discard
from profilers.harness import TimingSettings, check_workload, time_workload, write_reference
from profilers.outcome import BuildFailed, Crashed, Stopped, Timed, TimedOut, Verified, WrongResult
from profilers.run import Limits
from profilers.timing import CompareSettings, Comparison, compare_interleaved
from profilers.workload import Workload
from scheduler.codegen.emit_c import emit
from scheduler.codegen.original import emit_original
from scheduler.codegen.workload import kernel_source, plain
from scheduler.errors import CodegenUnsupported
from scheduler.ir.nest import LoopNest
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import minimize_strides
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule
from scheduler.search.beam import Beam, Candidate, SearchStopped
from scheduler.space import Space, Target

_RANDOM_SEEDS = (1, 2)
_FINALISTS = 4
_STOP_FACTOR = 1.5
_HOPEFUL = 0.97  # of the original's time: above it a confirmation would only cost time
_SEARCH_SHARE = 0.75  # of the budget; the rest is for confirming and checking
_CHECK_FLAGS = ("-ffp-contract=off",)
_TOLERANCE = 1e-6  # relative, only where --reassociate allows another order of additions


class NestNotMeasurable(PerfembedError):
    """The nest cannot be run on its own; the message says why."""


@dataclass(frozen=True, slots=True)
class Winner:
    """A schedule confirmed faster than the original and checked to compute the same."""

    scheduled: ScheduledNest
    comparison: Comparison
    checks: tuple[str, ...]


@dataclass(slots=True)
class NestOutcome:
    """What the search of one nest found; `winner` None keeps the original, `reason` says why."""

    winner: Winner | None = None
    reason: str = ""
    original_s: float | None = None
    candidates: int = 0
    illegal: int = 0
    failed: int = 0
    wrong: int = 0
    normalization: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Everything a measurement depends on but the nest."""

    compiler: CompilerConfig
    threads: int
    target: Target
    workdir: Path
    environment: Mapping[str, str]
    jobs: int
    reassociate: bool
    seed: int


class NestTuner:
    """One nest, its inputs and its budget. The caller holds the machine's measurement lock."""

    def __init__(
        self,
        nest: LoopNest,
        captured: CapturedNest,
        conditions: Conditions,
        budget_s: float,
        progress: Callable[[Event], None],
        in_program_s: float | None = None,
    ) -> None:
        """`in_program_s`: what the captured call takes in the program itself."""
        self.nest = plain(nest)  # objects under their own names, as the measured text declares them
        self.replayer = Replayer(self.nest, conditions.reassociate)
        self.captured = captured
        self.conditions = conditions
        self.deadline = time.monotonic() + budget_s * _SEARCH_SHARE
        self.progress = progress
        self.outcome = NestOutcome()
        self.interrupted = False
        self._in_program_s = in_program_s
        self._constants: dict[str, int] = {}  # parameters whose values the compiler gets to see
        self._best_s = 0.0
        self._seconds: dict[str, float | None] = {}  # by C text: different trees may give the same code
        self._limits = Limits(wall_s=60.0, memory_bytes=16 << 30)

    def run(self) -> NestOutcome:
        """Searches until the budget is spent, then confirms. Raises KeyboardInterrupt through; see `finish`."""
        outcome = self.outcome
        original = self._original()
        if original is None:
            return outcome
        replayer = self.replayer
        outcome.normalization = format_schedule(minimize_strides(replayer, maximal_fission(replayer)))
        space = Space(replayer, self.conditions.target, dict(self.captured.parameters))
        beam = Beam(space, self._evaluate, expired=lambda: time.monotonic() > self.deadline)
        try:
            result = beam.run()
        except KeyboardInterrupt:
            result = beam.result(complete=False)
            self.interrupted = True
        outcome.illegal = result.illegal
        self._confirm(original, result.ranked)
        return outcome

    def _original(self) -> Built | None:
        """The nest as written, compiled as in the program as far as that can be told; None: it does not run.

        Where a compiler inlines a function it knows the sizes and may choose other loops (gcc interchanges
        them). Of both forms, sizes known or not, the one that takes as long as in the program is the baseline.
        """
        outcome = self.outcome
        expected = self._in_program_s
        unknown = {p.name: self.captured.parameters[p.name] for p in self.nest.parameters if p.value is None}
        # A form that takes twice as long as in the program is given up, unless all do.
        forms: list[tuple[dict[str, int], float | None]] = [({}, None)]
        if expected is not None and unknown:
            forms = [({}, 2 * expected), (unknown, 2 * expected), ({}, None)]
        found: list[tuple[float, dict[str, int], Built]] = []
        for constants, stop in forms:
            if found and stop is None:
                break
            self._constants = constants
            built = self._build([emit_original(self.nest)], self.conditions.compiler)[0]
            if isinstance(built, BuildFailed):
                outcome.reason = f"the extracted nest does not compile: {built.message}"
                return None
            timed = time_workload(
                built,
                settings=TimingSettings(stop_above_s=stop),
                limits=self._limits,
                environment=self.conditions.environment,
            )
            if isinstance(timed, Timed):
                found.append((timed.min, constants, built))
            elif not isinstance(timed, Stopped):
                outcome.reason = f"the extracted nest does not run: {timed}"
                return None
        if not found:
            outcome.reason = "the extracted nest does not run"
            return None
        seconds, self._constants, original = min(found, key=lambda f: abs(math.log(f[0] / (expected or f[0]))))
        outcome.original_s = self._best_s = seconds
        return original

    # ------------------------------------------------------------------------------ evaluation

    def _workload(self, body: str, captured: CapturedNest) -> Workload:
        source, specs = kernel_source(self.nest, body, captured.parameters, self._constants)
        workload = make_workload(self.nest, source, specs, captured, "captured", self.conditions.threads)
        if isinstance(workload, CaptureFailed):
            raise NestNotMeasurable(workload.reason)
        return workload

    def _build(
        self, bodies: Sequence[str], compiler: CompilerConfig, captured: CapturedNest | None = None
    ) -> tuple[Built | BuildFailed, ...]:
        workloads = [self._workload(body, captured or self.captured) for body in bodies]
        c = self.conditions
        return compile_workloads(workloads, compiler, c.workdir / "build", c.jobs, environment=c.environment)

    def _body(self, scheduled: ScheduledNest) -> str | None:
        try:
            return emit(scheduled, self.replayer.model, vector_bytes=self.conditions.target.vector_bytes)
        except (CodegenUnsupported, QuotaExceeded) as problem:
            self.outcome.notes.append(f"{format_schedule(scheduled.schedule)}: {problem}")
            return None

    def _evaluate(self, schedules: Sequence[ScheduledNest]) -> list[float | None]:
        if time.monotonic() > self.deadline:
            raise SearchStopped
        bodies = [self._body(s) for s in schedules]
        wanted = [b for b in dict.fromkeys(bodies) if b is not None and b not in self._seconds]
        built = self._build(wanted, self.conditions.compiler)
        for body, program in zip(wanted, built, strict=True):
            self._seconds[body] = self._time(program)
        for program in built:
            if isinstance(program, Built):
                discard(program)
        self.outcome.failed += sum(body is None for body in bodies)
        return [self._seconds[body] if body is not None else None for body in bodies]

    def _time(self, built: Built | BuildFailed) -> float | None:
        """Seconds, or None. A candidate slower than 1.5 times the best is given up and counts as just that slow."""
        if isinstance(built, BuildFailed):
            self.outcome.failed += 1
            return None
        self.outcome.candidates += 1
        few = 1 if self._best_s > 0.2 else 2 if self._best_s > 0.05 else 3
        settings = TimingSettings(min_samples=few, target_seconds=0.1, stop_above_s=self._best_s * _STOP_FACTOR)
        timed = time_workload(built, settings=settings, limits=self._limits, environment=self.conditions.environment)
        seconds: float | None = None
        match timed:
            case Timed():
                seconds = timed.min
            case Stopped():
                seconds = max(timed.after_s, self._best_s * _STOP_FACTOR)
            case WrongResult():
                self.outcome.wrong += 1
            case BuildFailed() | Crashed() | TimedOut():
                self.outcome.failed += 1
        if seconds is not None:
            self._best_s = min(self._best_s, seconds)
        self.progress(CandidateMeasured(self._best_s, self.outcome.original_s or 0.0, self.outcome.candidates))
        return seconds

    # ---------------------------------------------------------------------------- confirmation

    def _confirm(self, original: Built, ranked: tuple[Candidate, ...]) -> None:
        """The fastest schedule that computes the same and is faster in an interleaved run with the original."""
        outcome = self.outcome
        finalists = 1 if self.interrupted else _FINALISTS
        hopeful = [c for c in ranked if c.seconds < _HOPEFUL * (outcome.original_s or 0.0)][:finalists]
        if not hopeful:
            outcome.reason = "no legal schedule was faster than the original"
        for candidate in hopeful:
            body = self._body(candidate.scheduled)
            assert body is not None
            checks = self._check(body)
            if checks is None:
                continue
            built = self._build([body], self.conditions.compiler)[0]
            if isinstance(built, BuildFailed):
                outcome.failed += 1
                continue
            original_s = outcome.original_s or 0.0
            run = TimingSettings(min_samples=1 if original_s > 0.1 else 3, max_samples=20, target_seconds=0.1)
            settings = CompareSettings(run=run, budget_s=5.0 if self.interrupted else 5.0 + 20 * original_s)
            comparison = compare_interleaved(
                original,
                built,
                settings=settings,
                seed=self.conditions.seed,
                limits=self._limits,
                environment=self.conditions.environment,
            )
            if isinstance(comparison, Comparison) and comparison.faster:
                shortest = self.replayer.shortest(candidate.scheduled.schedule)
                outcome.winner = Winner(replace(candidate.scheduled, schedule=shortest), comparison, checks)
                return
            outcome.reason = "no schedule was confirmed faster than the original in an interleaved run"

    def _check(self, body: str) -> tuple[str, ...] | None:
        """What was verified, or None if an output differs. Compiled without contraction, compared bit for bit."""
        c = self.conditions
        config = replace(c.compiler, flags=(*c.compiler.flags, *_CHECK_FLAGS))
        passed: list[str] = []
        tolerance = _TOLERANCE if c.reassociate else None
        how = f"equal within {_TOLERANCE:g}" if c.reassociate else "bit-identical"
        for seed in (None, *_RANDOM_SEEDS):
            inputs = self.captured if seed is None else randomise(self.nest, self.captured, RandomisedInputs(seed))
            programs = self._build([emit_original(self.nest), body], config, inputs)
            reference, candidate = programs
            if isinstance(reference, BuildFailed) or isinstance(candidate, BuildFailed):
                self.outcome.failed += 1
                return None
            path = c.workdir / f"{self.nest.name}-{seed}.reference"
            if not path.exists():
                written = write_reference(reference, path, limits=self._limits, environment=c.environment)
                if not isinstance(written, Verified):
                    if seed is None:
                        return None
                    continue  # the original itself cannot run on these inputs: they prove nothing
            for _ in range(2 if c.threads > 1 else 1):  # a race shows in some runs only
                verdict = check_workload(candidate, path, tolerance, limits=self._limits, environment=c.environment)
                if not isinstance(verdict, Verified):
                    self.outcome.wrong += isinstance(verdict, WrongResult)
                    self.outcome.failed += not isinstance(verdict, WrongResult)
                    self.outcome.reason = f"the fastest schedule computed something else: {verdict}"
                    return None
            passed.append(f"{how} on {'the captured input' if seed is None else f'randomized input {seed}'}")
        return tuple(passed)
