"""The checks behind `perfembed doctor`: what this machine can do, and what would fix what it cannot."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from profilers.build import Built, CompilerConfig, compile_workloads, compiler_version
from profilers.calibration import Calibration
from profilers.errors import ProfilersError
from profilers.harness import time_workload
from profilers.likwid import LikwidBackend
from profilers.machine import Cache, Machine, describe_machine
from profilers.openmp import openmp_advice, openmp_works
from profilers.outcome import Timed
from profilers.perf import PerfBackend
from profilers.scratch import scratch_folder
from profilers.specification import TimingSettings
from profilers.timing import coefficient_of_variation, other_load
from profilers.workload import Argument, ConstantFill, Workload

_NOISE_RUNS = 8
_NOISE_LIMIT = 0.02
_SPIN = """
void pe_kernel(void *const *args) {
    double *x = args[0];
    double v = *x;
    for (long i = 0; i < 1000000; i++) v = v * 0.999999 + 1e-6;
    *x = v;
}
"""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `fix` says what to do where `ok` is false, or is None where nothing can be done."""

    name: str
    ok: bool
    found: str
    fix: str | None


def diagnose(environment: Mapping[str, str], cc: str, clang: str | None) -> tuple[Check, ...]:
    """Tries everything measuring needs, in about two seconds. Raises nothing a broken machine causes."""
    machine = describe_machine()
    compiler = _compiler("C compiler", cc, environment, f"install {cc}, or name another compiler")
    checks = [compiler]
    if clang is not None:
        checks.append(_compiler("clang", clang, environment, "install clang, or go without: it is optional"))
    if compiler.ok:
        works, found = openmp_works(cc, environment=environment)
        checks.append(Check("OpenMP", works, found, None if works else _openmp_fix(found, cc, environment)))
    else:
        checks.append(Check("OpenMP", False, "not tried without a compiler", compiler.fix))
    checks.append(_counters(environment) if compiler.ok else Check("hardware counters", False, "not tried", None))
    checks += [_cores(machine), _caches(machine), _governor(machine)]
    if compiler.ok:
        checks.append(_noise(environment, cc))
    return tuple(checks)


def calibration_check(calibration: Calibration | None) -> Check:
    """Whether this machine has been calibrated with this compiler, when, and whether it was quiet then."""
    name = "calibration"
    if calibration is None:
        return Check(name, True, "none yet; --calibrate measures one in about 15 s", None)
    found = f"of {calibration.date}, {calibration.threads} thread{'s' if calibration.threads > 1 else ''}"
    if calibration.noisy:
        fix = "calibrate again while nothing else runs"
        return Check(name, False, f"{found}; others used {calibration.other_load:.2f} cores meanwhile", fix)
    return Check(name, True, found, None)


def _compiler(name: str, cc: str, environment: Mapping[str, str], fix: str) -> Check:
    try:
        return Check(name, True, compiler_version(cc, environment), None)
    except ProfilersError as problem:
        return Check(name, False, str(problem), fix)


def _openmp_fix(found: str, cc: str, environment: Mapping[str, str]) -> str:
    if "does not compile" in found:
        return openmp_advice(cc, environment)
    return "remove limits on threads (OMP_THREAD_LIMIT, cpusets, one-core containers)"


def _counters(environment: Mapping[str, str]) -> Check:
    support = [backend.available(environment) for backend in (PerfBackend(), LikwidBackend())]
    usable = any(one.usable for one in support)
    found = "; ".join(f"{one.tool}: {one.detail}" for one in support)
    fix = (
        "set kernel.perf_event_paranoid to 2 or less, or install perf or LIKWID; virtual machines often have no"
        " counters at all: profiles are then simulated"
    )
    return Check("hardware counters", usable, found, None if usable else fix)


def _cores(machine: Machine) -> Check:
    found = f"{machine.cpu_model}: {machine.physical_cores} cores, {machine.logical_cores} hardware threads usable"
    enough = machine.physical_cores > 1
    return Check("cores", enough, found, None if enough else "parallel schedules need a second core")


def _caches(machine: Machine) -> Check:
    found = ", ".join(_cache_text(cache) for cache in machine.caches)
    read = machine.caches_from == "sys"
    fix = None if read else "mount /sys: these sizes are guesses, and tiles are chosen by them"
    return Check("caches", read, f"{found} (from {machine.caches_from})", fix)


def _cache_text(cache: Cache) -> str:
    size = cache.size_bytes >> 10
    return f"L{cache.level} {size // 1024} MiB" if size >= 1024 else f"L{cache.level} {size} KiB"


def _governor(machine: Machine) -> Check:
    if machine.governor is None:
        return Check("frequency governor", True, "not visible (usual in virtual machines)", None)
    steady = machine.governor == "performance"
    fix = None if steady else "cpupower frequency-set -g performance, for steadier timings"
    return Check("frequency governor", steady, machine.governor, fix)


def _noise(environment: Mapping[str, str], cc: str) -> Check:
    """Runs a fixed kernel of a few milliseconds in several processes and looks at how its times vary."""
    workload = Workload("noise", _SPIN, (Argument("x", "double", (), ConstantFill(1.0), True),), 1)
    settings = TimingSettings(min_samples=10, max_samples=10, target_seconds=0.0)
    name, fix = "timer noise", "stop other programs, or measure at a quieter time"
    try:
        with scratch_folder() as directory:
            config = CompilerConfig(cc, ("-O2",))
            built = compile_workloads((workload,), config, directory, 1, environment=environment)[0]
            if not isinstance(built, Built):
                return Check(name, False, built.message, None)
            load = other_load(0.3)
            runs = [time_workload(built, settings=settings, environment=environment) for _ in range(_NOISE_RUNS)]
    except ProfilersError as problem:
        return Check(name, False, str(problem), None)
    timed = [run for run in runs if isinstance(run, Timed)]
    if len(timed) < len(runs):
        return Check(name, False, f"{next(run for run in runs if not isinstance(run, Timed))}", None)
    variation = coefficient_of_variation(tuple(run.min for run in timed))
    median = statistics.median(run.min for run in timed)
    varies = f"min of 10 varies by {variation:.2%} over {_NOISE_RUNS} runs of {median * 1e3:.2f} ms"
    quiet = variation <= _NOISE_LIMIT and load <= 0.15
    return Check(name, quiet, f"{varies}; others use {load:.2f} cores", None if quiet else fix)
