"""Profiles without hardware counters: the traced nest on simulated caches, and what the compiler made of it."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from profilers.backend import ProfileFailed, ProfileRequest
from profilers.build import Built, CompilerConfig, compile_workloads
from profilers.harness import TimingSettings, time_workload
from profilers.machine import CounterSupport, Machine
from profilers.outcome import BuildFailed, Timed
from profilers.profile import Profile
from profilers.run import Limits
from profilers.simulated.assembly import Work, total
from profilers.simulated.executed import Counting, build_counting, run_counting
from profilers.timing import LoadMeter

_TRACE = Path(__file__).with_name("trace.h")
_BUDGET = 2_000_000  # accesses of a thread before iterations are left out; see trace.h
_TIMED_S = 0.5  # longer nests are run once
DISTURBED = "others used"  # begins the note of a profile whose runtime is not to be trusted
_BUSY = 0.15  # cores
_TRACE_FLAGS = ("-O2", "-fopenmp", "-w", "-fno-strict-aliasing")
_LIMITS = Limits(wall_s=60.0, memory_bytes=16 << 30)
_NAMES = (
    "reads", "writes", "flops32", "flops64", "branches", "misses",
    "l1_in", "l1_out", "l2_in", "l2_out", "memory_in", "memory_out",
)  # fmt: skip
_LINES = {
    "l1_replacements": "l1_in",
    "l1_evictions": "l1_out",
    "l2_lines_in": "l2_in",
    "l2_write_backs": "l2_out",
    "memory_reads": "memory_in",
    "memory_writes": "memory_out",
}
_SAMPLED = {
    "accesses": ("reads", "writes"),
    "L1 lines": ("l1_in",),
    "L2 lines": ("l2_in",),
    "memory lines": ("memory_in",),
}
_WIDTHS = {0: "scalar", 128: "128", 256: "256", 512: "512"}


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
class Traced:
    """What one thread did, as written in C. `period`: one window of iterations in so many was simulated.

    `errors`: the standard errors of the counts, 0 where nothing was left out.
    """

    counts: Mapping[str, float]
    errors: Mapping[str, float]
    period: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A traced run, what the compiled nest executed, and the counters of each thread that follow from both.

    `missing` says why nothing is known of the compiled nest, whose counters are then those of the nest as written.
    """

    traced: tuple[Traced, ...]
    threads: tuple[dict[str, float], ...]
    missing: str | None = None


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
            return Counted(traced, tuple(_counters(one.counts, None, {}) for one in traced), ran)
        flops = total((1, work) for work in ran).flops
        return Counted(traced, tuple(_counters(t.counts, w, flops) for t, w in zip(traced, ran, strict=True)))

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


def parse_report(text: str) -> tuple[Traced, ...]:
    """One entry a thread. Raises ValueError."""
    found = []
    for entry in json.loads(text):
        counts, errors = (dict(zip(_NAMES, map(float, entry[key]), strict=True)) for key in ("counts", "errors"))
        if not all(math.isfinite(v) and v >= 0 for v in (*counts.values(), *errors.values())):
            raise ValueError("counts that are none")
        found.append(Traced(counts, errors, int(entry["period"])))
    return tuple(found)


def sampling_errors(traced: Sequence[Traced]) -> dict[str, float]:
    """Relative standard errors of accesses and of the lines that came into each level, over all threads.

    Of lines relative to a thousandth of the accesses at least: of next to nothing the share does not matter.
    """
    accesses = sum(one.counts["reads"] + one.counts["writes"] for one in traced)
    found = {}
    for name, parts in _SAMPLED.items():
        value = sum(one.counts[part] for one in traced for part in parts)
        error = math.sqrt(sum(one.errors[part] ** 2 for one in traced for part in parts))
        least = accesses if name == "accesses" else max(value, accesses / 1000)
        found[name] = error / least if least else 0.0
    return found


def _counters(
    traced: Mapping[str, float], ran: Work | None, flops: Mapping[tuple[int, int], float]
) -> dict[str, float]:
    """The 19 counters of one thread; `flops` of all threads tell the widths of what this one did not execute."""
    found: dict[str, float] = {}
    work = {32: traced["flops32"], 64: traced["flops64"]}
    for precision, operations in work.items():
        seen = ran if ran is not None and ran.operations(precision) else Work(flops=flops)
        compiled = seen.operations(precision)
        for bits, width in _WIDTHS.items():
            share = seen.flops.get((precision, bits), 0) / compiled if compiled else float(bits == 0)
            found[f"fp{precision}_{width}"] = operations * share
    if ran is None:
        found["loads"], found["stores"], found["branches"] = traced["reads"], traced["writes"], traced["branches"]
        found["instructions"] = found["loads"] + found["stores"] + found["branches"] + sum(work.values())
    else:
        found["loads"], found["stores"] = ran.loads, ran.stores
        found["branches"] = max(ran.branches, traced["misses"])
        found["instructions"] = max(ran.instructions, found["branches"])
    found["branch_misses"] = traced["misses"]
    found |= {name: traced[source] for name, source in _LINES.items()}
    return found
