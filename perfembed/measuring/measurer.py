"""Measures schedules of one nest on captured inputs: builds, times, compares with the original, checks outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfembed.capture import CapturedNest, CaptureFailed, make_workload
from perfembed.errors import PerfembedError
from perfembed.measuring.runner import Compile, Processes, Runner, Surroundings
from perfembed.measuring.stopwatch import Phase, Stopwatch
from profilers.build import Built, CompilerConfig
from profilers.contained.child import Limits
from profilers.outcome import BuildFailed, Outcome, Stopped, Timed
from profilers.specification import TimingSettings
from profilers.timing import CompareSettings, Comparison, ComparisonFailed
from profilers.workload import Workload
from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import kernel_source
from scheduler.errors import CodegenUnsupported
from scheduler.frontend import Sharing
from scheduler.ir.nest import LoopNest
from scheduler.machine.target import Target
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import LegalityOptions, Replayer, ScheduledNest
from scheduler.schedule import Schedule

_ALIKE = 0.05  # of the logarithms of times
_COLD = 0.3  # so much less than in the program, whose caches and memory are cold, is no other form
_LONG_S = 0.1  # a nest that takes more is run less often
_COMPILE_S = 15.0  # a nest takes less than one; some that are unrolled or vectorized send gcc astray


class NestNotMeasurable(PerfembedError):
    """The nest cannot be run on its own; the message says why."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Everything a measurement depends on but the nest."""

    compiler: CompilerConfig
    threads: int
    target: Target
    workdir: Path
    environment: Mapping[str, str]
    jobs: int
    allowed: LegalityOptions
    seed: int
    watch: Stopwatch = field(default_factory=Stopwatch)
    runner: Runner = field(default_factory=Processes)
    errno: bool = False  # the program looks at what mathematical functions report (`codegen.text.preamble`)


@dataclass(frozen=True, slots=True)
class Original:
    """The nest as written, compiled as in the program as far as that can be told, and its times."""

    built: Built
    timed: Timed


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate's outcome; `other_load`: cores that others kept busy meanwhile."""

    outcome: Outcome
    other_load: float | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """`passed` says in words what was verified; empty with `failure` where an output differed or did not come.

    `inputs`: None for the captured one, else the seed of a randomized one. `seconds`: what each run on the captured
    input took, where that was compiled as it is measured. `tolerance`: how much outputs may have differed, relatively.
    """

    passed: tuple[str, ...]
    failure: Outcome | None = None
    inputs: tuple[int | None, ...] = ()
    seconds: tuple[float, ...] = ()
    tolerance: float = 0.0


@dataclass(slots=True)
class Measurer:
    """One nest under names of its own (`scheduler.codegen.emit.workload.plain`), its inputs and its conditions.

    The caller holds the machine's measurement lock.
    """

    nest: LoopNest
    replayer: Replayer
    captured: CapturedNest
    conditions: Conditions
    constants: Mapping[str, int] = field(default_factory=dict)  # parameters whose values the compiler gets to see
    limits: Limits = field(default_factory=lambda: Limits(wall_s=60.0, memory_bytes=16 << 30))
    bodies: dict[Schedule, str | BuildFailed] = field(default_factory=dict)
    sharing: Sharing | None = None  # what the user's pragmas say of the nest

    @property
    def surroundings(self) -> Surroundings:
        """Of its runs."""
        return Surroundings(self.limits, self.conditions.environment)

    def original(self, expected_s: float | None, meanwhile: Callable[[], None] = lambda: None) -> Original | str:
        """The baseline, or why it does not run. `expected_s`: what it takes in the program.

        `meanwhile` is called once, while the first form compiles.
        Where a compiler inlines a function it knows the sizes and may choose other loops (gcc interchanges them). Of
        both forms, sizes known or not, the one that takes as long as in the program is the baseline.
        """
        unknown = self.knowing_sizes().constants
        # A form that takes twice as long as in the program is given up, unless all do.
        forms: list[tuple[Mapping[str, int], float | None]] = [({}, None)]
        if expected_s is not None and unknown:
            forms = [({}, 2 * expected_s), (unknown, 2 * expected_s), ({}, None)]
        found: list[tuple[Original, Mapping[str, int]]] = []
        calls = iter([meanwhile])
        for constants, stop in forms:
            if found and stop is None:
                break
            self.constants = constants
            built = self.build(self._original_text(calls))[0]
            if isinstance(built, BuildFailed):
                return f"the extracted nest does not compile: {built.message}"
            few = 2 if (expected_s or 0.0) > _LONG_S else 3
            timed = self.time(built, TimingSettings(min_samples=few, stop_above_s=stop), "original").outcome
            if isinstance(timed, Timed):
                found.append((Original(built, timed), constants))
                if -_COLD < math.log(timed.min / (expected_s or timed.min)) < _ALIKE:
                    break  # the other form need not be run
            elif not isinstance(timed, Stopped):
                return f"the extracted nest does not run: {timed}"
        if not found:
            return "the extracted nest does not run"
        original, self.constants = min(
            found, key=lambda f: abs(math.log(f[0].timed.min / (expected_s or f[0].timed.min)))
        )
        return original

    def knowing_sizes(self) -> Measurer:
        """The same where the compiler gets to see all parameters: it may choose better loops then."""
        values = self.captured.parameters
        return replace(self, constants={p.name: values[p.name] for p in self.nest.parameters if p.value is None})

    def _original_text(self, calls: Iterator[Callable[[], None]]) -> Iterator[str]:
        yield self.original_body()
        for call in calls:  # when a second text would be asked for: the first one compiles
            call()

    @property
    def threaded(self) -> bool:
        """Whether the user gave the nest threads."""
        return self.sharing is not None and any(shared.threads for shared in self.sharing.shared)

    def sequential(self, original: Timed) -> Timed:
        """What the nest takes without the user's threads: what the times of schedules are set against elsewhere."""
        if not self.threaded:
            return original
        few = TimingSettings(min_samples=2, max_samples=3)
        timed = self.time(self.build([emit_original(self.nest)])[0], few, "original").outcome
        return timed if isinstance(timed, Timed) else original

    def original_body(self) -> str:
        """The nest as written, with the threads that the user gave it."""
        return emit_original(self.nest, self.sharing)

    def body(self, scheduled: ScheduledNest) -> str | BuildFailed:
        """The C text of a schedule, or why there is none."""
        body = self.bodies.get(scheduled.schedule)
        if body is None:
            try:
                with self.conditions.watch.phase("legality"):
                    body = self._emitted(scheduled)
            except (CodegenUnsupported, QuotaExceeded) as problem:
                body = BuildFailed(f"no code: {problem}")
            self.bodies[scheduled.schedule] = body
        return body

    def _emitted(self, scheduled: ScheduledNest) -> str:
        """Raises CodegenUnsupported, QuotaExceeded."""
        model, context = self.replayer.of(scheduled.schedule).model, self.sharing.context if self.sharing else ""
        if context == "team":  # measured with a team of its own; it must be possible in the user's, too
            emit(scheduled, model, vector_bytes=self.conditions.target.vector_bytes, context=context)
            context = ""
        return emit(scheduled, model, vector_bytes=self.conditions.target.vector_bytes, context=context)

    def build(
        self, bodies: Iterable[str], compiler: CompilerConfig | None = None, captured: CapturedNest | None = None
    ) -> tuple[Built | BuildFailed, ...]:
        """Compiles texts, several at a time, and asks for one while others compile. Raises NestNotMeasurable."""
        return self.build_workloads((self.workload(body, captured) for body in bodies), compiler)

    def build_workloads(
        self, workloads: Iterable[Workload], compiler: CompilerConfig | None = None
    ) -> tuple[Built | BuildFailed, ...]:
        """The same of texts that need not all be of this nest."""
        c = self.conditions
        folder = c.workdir / "build"
        with c.watch.phase("compiling"):
            return c.runner.compile(
                workloads, Compile(compiler or c.compiler, folder, c.jobs, _COMPILE_S, c.environment)
            )

    def time(self, built: Built | BuildFailed, settings: TimingSettings, phase: Phase = "candidates") -> Measured:
        """Runs one build alone."""
        if isinstance(built, BuildFailed):
            return Measured(built)
        with self.conditions.watch.phase(phase):
            return Measured(*self.conditions.runner.time(built, settings, self.surroundings))

    def compare(
        self, original: Original, candidate: Built, budget_s: float, most_s: float = math.inf
    ) -> Comparison | ComparisonFailed:
        """Both in alternation, until it is clear which one is faster; `most_s` where only noise leaves it undecided.

        As many rounds as can tell are measured all the same. Between processes times vary more than within one, so many
        short runs say more than few long ones.
        """
        few = 1 if original.timed.min > _LONG_S else 3
        run = TimingSettings(min_samples=few, max_samples=10, target_seconds=0.05)
        plain = CompareSettings(run=run, budget_s=min(budget_s, most_s))
        patience = max(1.0, min(plain.patience, most_s / max(plain.budget_s, 1e-3)))
        with self.conditions.watch.phase("confirming"):
            return self.conditions.runner.compare(
                original.built,
                candidate,
                replace(plain, patience=patience, least_rounds=plain.looks[0]),
                self.conditions.seed,
                self.surroundings,
            )

    def workload(self, body: str, captured: CapturedNest | None = None) -> Workload:
        """A text with the inputs it runs on, the captured ones. Raises NestNotMeasurable."""
        captured = captured or self.captured
        source, specs = kernel_source(self.nest, body, captured.parameters, self.constants, self.conditions.errno)
        workload = make_workload(self.nest, source, specs, captured, "captured", self.conditions.threads)
        if isinstance(workload, CaptureFailed):
            raise NestNotMeasurable(workload.reason)
        return workload
