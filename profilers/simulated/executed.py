"""How often the instructions of the compiled nest run: it is compiled to text, given counters, and run once."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from profilers.backend import ProfileRequest
from profilers.build import COMPILE_MEMORY_BYTES, Built, CompilerConfig, compile_workloads, compiler_path
from profilers.contained.child import Limits
from profilers.harness import time_workload
from profilers.outcome import BuildFailed, Timed
from profilers.run import run_contained
from profilers.simulated.assembly import Work, total
from profilers.simulated.blocks import KERNEL, Instrumented, instrument
from profilers.specification import TimingSettings

_FRAME = Path(__file__).with_name("count.h")
_FRAME_FLAGS = ("-O2", "-fopenmp", "-w")
_LINK_FLAGS = frozenset({"-no-pie", "-pie", "-static", "-static-pie", "-fno-pie", "-fno-PIE"})  # the text depends on
_COMPILE_LIMITS = Limits.of_work(30.0, COMPILE_MEMORY_BYTES, 32 << 20)
_ONLY_HERE = "#if !defined __x86_64__ || defined __ILP32__\n#error counters are for x86-64\n#endif\n"
_ONCE = TimingSettings(min_samples=1, max_samples=1, target_seconds=0.0, batch_seconds=0.0)


@dataclass(frozen=True, slots=True)
class Counting:
    """A nest built with counters; `report` is where it writes them."""

    built: Built
    instrumented: Instrumented
    report: Path


def executed(request: ProfileRequest, limits: Limits) -> tuple[Work, ...] | str:
    """What each thread executed in one call of the nest, or why that is not known.

    Exact but for the insides of library functions; the kernel is compiled with the request's compiler and flags.
    """
    counting = build_counting(request)
    return counting if isinstance(counting, str) else run_counting(request, counting, limits)


def build_counting(request: ProfileRequest) -> Counting | str:
    """The nest compiled to text, given counters and assembled; or why that cannot be."""
    assembly = _assembly(request)
    if assembly is None:
        return "the compiler gives no assembly text that can be read"
    instrumented = instrument(assembly)
    if not instrumented.sites:
        return "the assembly text holds no nest"
    report = f"count-{sha256(assembly.encode()).hexdigest()[:16]}.json"
    workload = replace(request.workload, source=counted_source(instrumented, request.workload.threads, report))
    flags = (*_FRAME_FLAGS, *(flag for flag in request.compiler.flags if flag in _LINK_FLAGS))
    config = CompilerConfig(request.compiler.cc, flags, request.compiler.libs)
    (built,) = compile_workloads((workload,), config, request.workdir / "profile", 1, environment=request.environment)
    if isinstance(built, BuildFailed):
        return f"the nest with counters does not assemble: {built.message.partition(chr(10))[0]}"
    return Counting(built, instrumented, built.executable.parent / report)


def run_counting(request: ProfileRequest, counting: Counting, limits: Limits) -> tuple[Work, ...] | str:
    """As `executed`."""
    try:
        timed = time_workload(counting.built, settings=_ONCE, limits=limits, environment=request.environment)
        if not isinstance(timed, Timed):
            return f"the nest with counters does not run: {timed}"
        report = counting.report.read_text(encoding="ascii")
        return _per_thread(report, counting.instrumented, request.workload.threads)
    except (OSError, ValueError) as problem:
        return f"the counters left no report: {problem}"
    finally:
        counting.report.unlink(missing_ok=True)


def counted_source(counting: Instrumented, threads: int, report: str) -> str:
    """The C file of a kernel whose text counts, which writes its counters to `report` in its working directory."""
    quoted = (line.replace("\\", "\\\\").replace('"', '\\"') for line in counting.text.splitlines())
    return "\n".join(
        [
            f"#define PE_SITES {len(counting.sites)}",
            f"#define PE_THREADS {threads}",
            f'#define PE_REPORT "{report}"',
            _FRAME.read_text(encoding="ascii"),
            "__asm__(",
            *(f'"{line}\\n"' for line in quoted),
            ");",
            "",
        ]
    )


def _assembly(request: ProfileRequest) -> str | None:
    """The nest as the compiler writes it for the assembler; None where it refuses or the target is not x86-64."""
    source = f"{_ONLY_HERE}#define pe_kernel {KERNEL}\n#line 1\n{request.workload.source}"
    folder = request.workdir / "profile"
    folder.mkdir(parents=True, exist_ok=True)
    cc = compiler_path(request.compiler.cc, request.environment)
    finished = run_contained(
        (cc, *request.compiler.flags, "-w", "-g0", "-fno-lto", "-masm=att", "-S", "-o", "-", "-x", "c", "-"),
        limits=_COMPILE_LIMITS,
        env={**request.environment, "LC_ALL": "C"},
        cwd=folder,
        stdin=source.encode(),
    )
    if not finished.ok or finished.output_truncated:
        return None
    return finished.stdout.decode("utf-8", errors="replace")


def _per_thread(report: str, counting: Instrumented, threads: int) -> tuple[Work, ...]:
    """Raises ValueError."""
    found = json.loads(report)
    if len(found) != threads:
        raise ValueError(f"counters of {len(found)} threads, not {threads}")
    return tuple(
        total((float(n), site.work) for n, site in zip(counts, counting.sites, strict=True)) for counts in found
    )
