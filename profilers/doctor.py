"""The checks behind `perfembed doctor`: what this machine can do, and what would fix what it cannot."""

import os
import re
import shutil
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from profilers.build import Built, CompilerConfig, compile_workloads, compiler_version
from profilers.calibration import Calibration
from profilers.contained.errors import ProfilersError
from profilers.contained.scratch import scratch_folder
from profilers.harness import time_workload
from profilers.likwid import LikwidBackend
from profilers.machine import Cache, Machine, describe_machine
from profilers.openmp import openmp_advice, openmp_works
from profilers.outcome import Timed
from profilers.perf import PerfBackend
from profilers.specification import TimingSettings
from profilers.timing import coefficient_of_variation, other_load
from profilers.workload import Argument, ConstantFill, Workload

_NOISE_RUNS = 8
_NOISE_LIMIT = 0.02
_SPACE_BYTES = 256 << 20  # captured data and programs; large data need more
_NO_C_LIBRARY = re.compile(r"stdio\.h|crt1\.o|cannot find -lc\b")
_GET_C_LIBRARY = "install the C library's headers (Debian, Ubuntu: libc6-dev; Fedora: glibc-devel)"
_RUN_FIX = "raise the limits of processes and memory (ulimit -a, the container's): a small program does not run here"
_MORE_CORES = (
    "give the process a second core (taskset, cpusets, --cpus-per-task of a batch system): parallel schedules need one"
)
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
    """One finding. `fix` says what to do where `ok` is false, else it is None."""

    name: str
    ok: bool
    found: str
    fix: str | None


def diagnose(environment: Mapping[str, str], cc: str, clang: str | None) -> tuple[Check, ...]:
    """Tries everything measuring needs, in about two seconds. Raises nothing a broken machine causes."""
    machine = describe_machine()
    place = temporary_folder_check()
    get = "Debian, Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc glibc-devel"
    compiler = _compiler("C compiler", cc, environment, f"install {cc} ({get}), or name another with --cc")
    checks = [place, compiler]
    if clang is not None:
        checks.append(_compiler("clang", clang, environment, "install clang, or go without: it is optional"))
    missing = next((check for check in (compiler, place) if not check.ok), None)
    if missing is None:
        works, found = openmp_works(cc, environment=environment)
        checks.append(Check("OpenMP", works, found, None if works else _openmp_fix(found, cc, environment)))
        checks.append(_counters(environment))
    else:
        without = f"not tried without a {missing.name}"
        checks += [Check(name, False, without, missing.fix) for name in ("OpenMP", "hardware counters")]
    checks += [_cores(machine), _caches(machine), _governor(machine)]
    if missing is None:
        checks.append(_noise(environment, cc))
    return tuple(checks)


def temporary_folder_check(folder: str | None = None) -> Check:
    """Whether programs can be built and run where temporary files go (default: where the system says)."""
    name, fix = "temporary folder", "set TMPDIR to a folder that is writable and whose file system runs programs"
    try:
        base = tempfile.gettempdir() if folder is None else folder
        with scratch_folder(base) as path:
            (path / "file").write_bytes(b"text")
        if os.statvfs(base).f_flag & os.ST_NOEXEC:
            return Check(name, False, f"{base} is mounted noexec: no program runs there", fix)
        free = shutil.disk_usage(base).free
    except OSError as problem:
        return Check(name, False, str(problem), fix)
    enough = free >= _SPACE_BYTES
    found = f"{base}, {free / (1 << 30):.1f} GiB free"
    more = "remove files there, or set TMPDIR to a folder with more space"
    return Check(name, enough, found, None if enough else more)


def calibration_check(calibration: Calibration | None) -> Check:
    """Whether this machine has been calibrated with this compiler, when, and whether it was quiet then."""
    name = "calibration"
    if calibration is None:
        return Check(name, True, "none yet; --calibrate measures one in about 15 s", None)
    found = f"of {calibration.date}, {calibration.threads} thread{'s' if calibration.threads > 1 else ''}"
    if calibration.noisy:
        fix = "perfembed doctor --calibrate, while nothing else runs"
        return Check(name, False, f"{found}; others used {calibration.other_load:.2f} cores meanwhile", fix)
    return Check(name, True, found, None)


def _compiler(name: str, cc: str, environment: Mapping[str, str], fix: str) -> Check:
    try:
        return Check(name, True, compiler_version(cc, environment), None)
    except ProfilersError as problem:
        return Check(name, False, str(problem), fix)


def _openmp_fix(found: str, cc: str, environment: Mapping[str, str]) -> str:
    if _NO_C_LIBRARY.search(found):
        return _GET_C_LIBRARY
    if "does not compile" in found:
        return openmp_advice(cc, environment)
    return "remove limits on threads (OMP_THREAD_LIMIT, cpusets, one-core containers)"


def _build_fix(said: str, cc: str) -> str:
    return _GET_C_LIBRARY if _NO_C_LIBRARY.search(said) else f"mend what {cc} says, or name another with --cc"


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
    return Check("cores", enough, found, None if enough else _MORE_CORES)


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
    fix = None if steady else "sudo cpupower frequency-set -g performance: timings get steadier"
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
                return Check(name, False, built.message, _build_fix(built.message, cc))
            load = other_load(0.3)
            runs = [time_workload(built, settings=settings, environment=environment) for _ in range(_NOISE_RUNS)]
    except ProfilersError as problem:
        return Check(name, False, str(problem), _RUN_FIX)
    timed = [run for run in runs if isinstance(run, Timed)]
    if len(timed) < len(runs):
        return Check(name, False, f"{next(run for run in runs if not isinstance(run, Timed))}", _RUN_FIX)
    variation = coefficient_of_variation(tuple(run.min for run in timed))
    median = statistics.median(run.min for run in timed)
    varies = f"min of 10 varies by {variation:.2%} over {_NOISE_RUNS} runs of {median * 1e3:.2f} ms"
    quiet = variation <= _NOISE_LIMIT and load <= 0.15
    return Check(name, quiet, f"{varies}; others use {load:.2f} cores", None if quiet else fix)
