"""Profiles without hardware counters: the traced nest on simulated caches, and what the compiler made of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from profilers.backend import ProfileFailed, ProfileRequest
from profilers.build import Built, CompilerConfig, compile_workloads
from profilers.contained.child import Limits
from profilers.harness import time_workload
from profilers.load import LoadMeter
from profilers.machine import CounterSupport, Machine
from profilers.outcome import BuildFailed, Timed
from profilers.profile import Profile
from profilers.simulated.assembly import total
from profilers.simulated.executed import Counting, build_counting, run_counting
from profilers.simulated.traced_report import Counted, Traced, counters_of, parse_report, sampling_errors
from profilers.specification import TimingSettings

_TRACE = Path(__file__).with_name("trace.h")
_BUDGET = 2_000_000  # accesses of a thread before iterations are left out; see trace.h
_TIMED_S = 0.5  # longer nests are run once
DISTURBED = "others used"  # begins the note of a profile whose runtime is not to be trusted
_BUSY = 0.15  # cores
_TRACE_FLAGS = ("-O2", "-fopenmp", "-w", "-fno-strict-aliasing")
_LIMITS = Limits(wall_s=60.0, memory_bytes=16 << 30)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Caches as one thread sees them: (sets, ways) of L1, L2 and its share of L3, and the bytes of a line."""

    line_bytes: int
    levels: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]


def geometry(machine: Machine, threads: int) -> Geometry:
    """The machine's caches; where a level is missing, a small one stands for it. Threads share the L3 evenly."""
    first = machine.cache(1)
    line = first.line_bytes if first is not None else 64
    levels = []
    for number in (1, 2, 3):
        cache = machine.cache(number)
        size, ways = (cache.size_bytes, cache.ways or 8) if cache is not None else (line * 16, 16)
        if cache is not None and cache.shared_by > 1:
            size //= max(1, min(cache.shared_by, threads))
        levels.append((max(1, size // (line * ways)), ways))
    return Geometry(line, (levels[0], levels[1], levels[2]))


@dataclass(frozen=True, slots=True)
class SimulatedBackend:
    """The default where nothing else counts.

    Two runs: the nest as written moves cache lines (under the model of `trace.h`), does floating-point operations and
    meets branches; the compiled one counts instructions, loads, stores, branches and the widths of its vectors.
    `alone` is entered while the nest is timed: only that needs the machine for itself. With `jobs` 2 the builds
    go side by side; runs never do, for their threads would wait for each other.
    """

    budget: int = _BUDGET
    alone: Callable[[], AbstractContextManager[object]] = nullcontext
    jobs: int = 1

    @property
    def name(self) -> str:
        return "simulated"

    def available(self, environment: Mapping[str, str]) -> CounterSupport:
        """Always."""
        return CounterSupport("simulated", True, "a simulated cache hierarchy with this machine's geometry")

    def profile(self, request: ProfileRequest) -> Profile | ProfileFailed:
        """Times the nest, then runs it traced, and once with counters in the compiled code."""
        caches = geometry(request.machine, request.workload.threads)
        built, *builds = self._side_by_side(
            lambda: self._build(request, request.workload.source, request.compiler),
            lambda: self._build_traced(request, caches, cold=False),
            lambda: build_counting(request),
        )
        if isinstance(built, ProfileFailed):
            return built
        settings = TimingSettings(min_samples=1, max_samples=request.repetitions, target_seconds=_TIMED_S)
        with self.alone():
            load = LoadMeter()
            timed = time_workload(built, settings=settings, limits=_LIMITS, environment=request.environment)
            others = load.other_load()
        if not isinstance(timed, Timed):
            return ProfileFailed(f"the nest does not run: {timed}")
        found = self._count(request, *builds)
        if isinstance(found, ProfileFailed):
            return found
        notes: tuple[str, ...] = ()
        errors = sampling_errors(found.traced)
        if found.missing is not None:
            notes += (f"instructions are those of the nest as written, vectors not seen: {found.missing}",)
        if sum(t["l1_replacements"] - t["loads"] - t["stores"] for t in found.threads) > 0:
            notes += ("more lines than accesses: the compiler reordered loops, the lines are of those as written",)
        if any(one.period > 1 for one in found.traced):
            spread = ", ".join(f"{name} ± {error:.1%}" for name, error in errors.items())
            notes += (f"one window of iterations in {max(one.period for one in found.traced)} was simulated: {spread}",)
        if len(timed.samples_s) < request.repetitions:
            notes += (f"timed in {len(timed.samples_s)} of {request.repetitions} runs: it is long",)
        if others > _BUSY:
            notes += (f"{DISTURBED} {others:.1f} cores while it was timed",)
        return Profile(
            source=self.name,
            machine=request.machine.fingerprint,
            threads=request.workload.threads,
            runtime_s=statistics.median(timed.samples_s),
            line_bytes=caches.line_bytes,
            counts=tuple((name, tuple(one[name] for one in found.threads)) for name in found.threads[0]),
            sampling_error=max(errors.values()),
            notes=notes,
        )

    def count(self, request: ProfileRequest, caches: Geometry, *, cold: bool = False) -> Counted | ProfileFailed:
        """Runs the nest traced, on caches that an earlier run has filled, or on empty ones."""
        builds = self._side_by_side(lambda: self._build_traced(request, caches, cold), lambda: build_counting(request))
        return self._count(request, *builds)

    def _count(
        self, request: ProfileRequest, tracing: _Tracing | ProfileFailed, counting: Counting | str
    ) -> Counted | ProfileFailed:
        if isinstance(tracing, ProfileFailed):
            return tracing
        traced = _run_traced(request, tracing)
        if isinstance(traced, ProfileFailed):
            return traced
        ran = counting if isinstance(counting, str) else run_counting(request, counting, _LIMITS)
        if isinstance(ran, str):
            return Counted(traced, tuple(counters_of(one.counts, None, {}) for one in traced), ran)
        flops = total((1, work) for work in ran).flops
        return Counted(traced, tuple(counters_of(t.counts, w, flops) for t, w in zip(traced, ran, strict=True)))

    def _side_by_side(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Their results in order. All that they start ends by itself, at the latest by its limits."""
        if self.jobs < 2:
            return [task() for task in tasks]
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(lambda task: task(), tasks))

    def _build(self, request: ProfileRequest, source: str, config: CompilerConfig) -> Built | ProfileFailed:
        workload = replace(request.workload, source=source)
        (built,) = compile_workloads(
            (workload,), config, request.workdir / "profile", 1, environment=request.environment
        )
        if isinstance(built, BuildFailed):
            return ProfileFailed(f"the nest does not compile: {built.message}")
        return built

    def _build_traced(self, request: ProfileRequest, caches: Geometry, cold: bool) -> _Tracing | ProfileFailed:
        if request.traced is None:
            return ProfileFailed("the nest has no traced form, which the simulation runs")
        report = f"trace-{sha256(request.traced.encode()).hexdigest()[:16]}.json"
        source = traced_source(request.traced, caches, request.workload.threads, self.budget, report, cold)
        built = self._build(request, source, CompilerConfig(request.compiler.cc, _TRACE_FLAGS, request.compiler.libs))
        return built if isinstance(built, ProfileFailed) else _Tracing(built, built.executable.parent / report)


@dataclass(frozen=True, slots=True)
class _Tracing:
    """The traced nest, and where it writes what it counted."""

    built: Built
    report: Path


def _run_traced(request: ProfileRequest, tracing: _Tracing) -> tuple[Traced, ...] | ProfileFailed:
    # The first call warms the caches up, the last one counts.
    once = TimingSettings(min_samples=1, max_samples=1, target_seconds=0.0, batch_seconds=0.0)
    timed = time_workload(tracing.built, settings=once, limits=_LIMITS, environment=request.environment)
    try:
        if not isinstance(timed, Timed):
            return ProfileFailed(f"the traced nest does not run: {timed}")
        return parse_report(tracing.report.read_text(encoding="ascii"))
    except (OSError, ValueError) as problem:
        return ProfileFailed(f"the simulation left no report: {problem}")
    finally:
        tracing.report.unlink(missing_ok=True)


def traced_source(traced: str, caches: Geometry, threads: int, budget: int, report: str, cold: bool = False) -> str:
    """The C file that simulates a traced kernel and writes what it counted to `report` in its working directory."""
    defines = {
        "PE_LINE": f"{caches.line_bytes}u",
        "PE_THREADS": threads,
        "PE_BUDGET": budget,
        "PE_REPORT": f'"{report}"',
    }
    for level, (sets, ways) in enumerate(caches.levels, 1):
        defines |= {f"PE_L{level}_SETS": f"{sets}u", f"PE_L{level}_WAYS": ways}
    if cold:
        defines["PE_COLD"] = 1
    return "\n".join(
        [
            *(f"#define {name} {value}" for name, value in defines.items()),
            _TRACE.read_text(encoding="ascii"),
            traced,
            "#undef pe_kernel",
            "void pe_kernel(void *const *args);",
            "void pe_kernel(void *const *args)",
            "{",
            "    pe_begin();",
            "    pe_traced_kernel(args);",
            "    pe_end();",
            "}",
            "",
        ]
    )
