"""Simulated counters against valgrind's, nest by nest, on the same caches.

Two programs are made of every nest. *As written*: each access a volatile one, compiled without vectors: valgrind then
sees the accesses that the simulation runs. *Compiled*: what the compiler makes of the nest (vectors that valgrind
knows), against the counters a profile states: its branches include calls and returns, and what reads and writes memory
in one instruction is a load and a store to it, a store only to valgrind. Both run once, on caches that hold nothing
of theirs. The number of floating-point operations is compared with the closed form: operations of a statement times
its instances.
"""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.errors import EnvironmentMissing, PerfembedError
from perfembed.files import read_input
from perfembed.measuring.canonical_request import canonical_request
from perfembed.tuning.inputs import NestInputs, collect_inputs
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import one_file
from perfembed.tuning.source import parse
from profilers.backend import ProfileFailed, ProfileRequest
from profilers.build import Built, CompilerConfig, compile_workloads
from profilers.contained.child import Limits
from profilers.contained.scratch import scratch_folder
from profilers.harness import harness_environment, launch
from profilers.machine import describe_machine
from profilers.outcome import BuildFailed, Crashed, TimedOut
from profilers.simulated.backend import Geometry, SimulatedBackend
from profilers.specification import TimingSettings, specification_of
from scheduler.ir.nest import Action, Assign, Binary, Call, Conditional, Expr, If, LoopNest
from scheduler.ir.types import is_floating
from scheduler.ir.walk import children
from scheduler.polyhedral.io_bound import statement_instances
from scheduler.polyhedral.model import Model, QuotaExceeded

COUNTS = ("loads", "stores", "L1 misses", "LL misses", "branches")
AIM_CORRELATION = 0.98
AIM_ERROR = 0.05
_VALGRIND_VECTORS = ("-mavx2", "-mno-fma", "-mno-avx512f")  # of what it executes; fused ones cost it 400 times the time
_LIMITS = Limits(wall_s=300.0, memory_bytes=16 << 30, output_bytes=1 << 20)
_PLAIN_MEMCPY = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-ERMS,-FSRM"}  # valgrind counts `rep movsb` byte by byte
_FEW = 1000.0  # the call itself takes a few
_EVENTS = {  # callgrind's names
    "loads": ("Dr",),
    "stores": ("Dw",),
    "L1 misses": ("D1mr", "D1mw"),
    "LL misses": ("DLmr", "DLmw"),
    "branches": ("Bc",),
}
_FLUSH = """
static char pe_flush[%d];
static volatile char pe_flushed;
#undef pe_kernel
void pe_kernel(void *const *args);
void pe_kernel(void *const *args)
{
    for (unsigned long i = 0; i < sizeof pe_flush; i += %d) pe_flushed += *(volatile char *)&pe_flush[i];
    pe_inner_kernel(args);
}
"""
_VOLATILE = """
#define PE_READ(x) (*(volatile __typeof__(x) *)&(x))
#define PE_WRITE(x) (*(volatile __typeof__(x) *)&(x))
#define PE_UPDATE(bits, x) (*(volatile __typeof__(x) *)&(x))
#define PE_FLOP(bits, e) (e)
#define PE_CALL(bits, e) (e)
#define PE_BRANCH(e) (e)
#define PE_SKIP() 0
#define PE_ENTER() (void)0
"""


@dataclass(frozen=True, slots=True)
class CountersBench:
    """`d1` and `ll`: (bytes, ways) of the two caches that valgrind simulates. `flags` compile the programs."""

    files: tuple[str, ...]
    environment: Mapping[str, str]
    flags: tuple[str, ...] = ("-DSMALL",)
    line_bytes: int = 64
    d1: tuple[int, int] = (32 << 10, 8)
    ll: tuple[int, int] = (256 << 10, 8)


@dataclass(frozen=True, slots=True)
class CountedNest:
    """(simulated, valgrind's) of each of COUNTS; FP operations (simulated, closed form or None where data decides)."""

    file: str
    nest: str
    written: Mapping[str, tuple[float, float]]
    compiled: Mapping[str, tuple[float, float]]
    operations: tuple[float, float | None]


@dataclass(frozen=True, slots=True)
class CountersResult:
    """`skipped` are (nest or file, why)."""

    bench: CountersBench
    nests: tuple[CountedNest, ...]
    skipped: tuple[tuple[str, str], ...]
    seconds: float
    interrupted: bool


def run_counters(bench: CountersBench, progress: Callable[[str], None]) -> CountersResult:
    """Counts every nest that takes a share of its program's time; Ctrl-C ends with what there is.

    Raises EnvironmentMissing without valgrind.
    """
    if shutil.which("valgrind", path=dict(bench.environment).get("PATH")) is None:
        raise EnvironmentMissing("valgrind is not installed", "the package valgrind has it")
    began = time.monotonic()
    nests: list[CountedNest] = []
    skipped: list[tuple[str, str]] = []
    interrupted = False
    try:
        for file in bench.files:
            for found in _counted(file, bench):
                if isinstance(found, CountedNest):
                    nests.append(found)
                    progress(f"{file}: {found.nest}")
                else:
                    skipped.append(found)
                    progress(f"{found[0]}: {found[1]}")
    except KeyboardInterrupt:
        interrupted = True
    return CountersResult(bench, tuple(nests), tuple(skipped), time.monotonic() - began, interrupted)


def agreement(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """(Pearson correlation of log(1 + count), median relative error); counts below _FEW are as good as that many."""
    import numpy as np

    ours, theirs = (np.asarray(side, dtype=np.float64) for side in zip(*pairs, strict=True))
    logs = np.log1p(ours), np.log1p(theirs)
    together = min(float(side.std()) for side in logs) > 0
    correlation = float(np.corrcoef(*logs)[0, 1]) if together else math.nan
    error = np.abs(ours - theirs) / np.maximum(theirs, _FEW)
    return correlation, float(np.median(error))


def closed_form(inputs: NestInputs) -> float | None:
    """Floating-point operations of a nest: of each statement, times its instances; None where data decides."""
    model = Model(inputs.nest)
    try:
        instances = statement_instances(model, inputs.captured.parameters)
    except QuotaExceeded:
        return None
    total = 0.0
    for name, count in instances.items():
        operations = [_operations(model.nest, action) for action in model.placed[name].statement.body]
        if None in operations or not math.isfinite(count):
            return None
        total += count * sum(x for x in operations if x is not None)
    return total


def _operations(nest: LoopNest, action: Action) -> int | None:
    if isinstance(action, If):
        return None
    assert isinstance(action, Assign)
    types = (nest.array(action.target.array).ctype, action.value.ctype)
    own = action.op != "=" and any(map(is_floating, types))
    inner = _of_expression(action.value)
    return None if inner is None else int(own) + inner


def _of_expression(e: Expr) -> int | None:
    if isinstance(e, Conditional):
        return None
    inner = [_of_expression(child) for child in children(e)]
    if None in inner:
        return None
    own = isinstance(e, Call) or (isinstance(e, Binary) and e.op in "+-*/")
    return int(own and is_floating(e.ctype)) + sum(x for x in inner if x is not None)


def _counted(file: str, bench: CountersBench) -> Iterator[CountedNest | tuple[str, str]]:
    options = TuneOptions(
        cflags=("-O3", *_VALGRIND_VECTORS, *bench.flags), environment=tuple(bench.environment.items())
    )
    with scratch_folder() as scratch:
        try:
            project = one_file(parse(file, read_input(file), options), options)
            inputs = collect_inputs(project, options, scratch, lambda event: None)
        except PerfembedError as problem:
            yield file, str(problem)
            return
        for found in inputs.found:
            counted = _count(found, options, bench, scratch / "build")
            name = f"{file}: {found.nest.name}"
            yield (name, counted) if isinstance(counted, str) else replace(counted, file=file)


def _count(inputs: NestInputs, options: TuneOptions, bench: CountersBench, workdir: Path) -> CountedNest | str:
    compiler = CompilerConfig(options.cc, options.cflags)
    nest, captured, environment = inputs.nest, inputs.captured, dict(options.environment)
    request = canonical_request(nest, captured, options.threads, compiler, describe_machine(), workdir, environment)
    if isinstance(request, str):
        return request
    asked = request[1]
    found = SimulatedBackend(budget=1 << 62).count(asked, _geometry(bench), cold=True)
    if isinstance(found, ProfileFailed):
        return found.reason
    raw, estimated = found.traced[0].counts, found.threads[0]
    assert asked.traced is not None
    plain = CompilerConfig(options.cc, ("-O1", *bench.flags))
    written = _valgrind(asked, _VOLATILE + asked.traced, plain, bench)
    compiled = _valgrind(asked, asked.workload.source, compiler, bench)
    for one in (written, compiled):
        if isinstance(one, str):
            return one
    assert not isinstance(written, str) and not isinstance(compiled, str)
    misses = {"L1 misses": raw["l1_in"], "LL misses": raw["l2_in"]}
    as_written = {"loads": raw["reads"], "stores": raw["writes"], "branches": raw["branches"]} | misses
    as_compiled = {name: estimated[name] for name in ("loads", "stores", "branches")} | misses
    return CountedNest(
        "",
        inputs.nest.name,
        {name: (as_written[name], written[name]) for name in COUNTS},
        {name: (as_compiled[name], compiled[name]) for name in COUNTS},
        (raw["flops32"] + raw["flops64"], closed_form(inputs)),
    )


def _geometry(bench: CountersBench) -> Geometry:
    first, last = ((size // (bench.line_bytes * ways), ways) for size, ways in (bench.d1, bench.ll))
    return Geometry(bench.line_bytes, (first, last, last))


def _valgrind(
    request: ProfileRequest, source: str, compiler: CompilerConfig, bench: CountersBench
) -> dict[str, float] | str:
    """Runs the kernel once, on flushed caches, and counts only what is inside `pe_nest`."""
    flush = _FLUSH % (2 * bench.ll[0], bench.line_bytes)
    workload = replace(request.workload, source=f"#define pe_kernel pe_inner_kernel\n{source}\n{flush}")
    (built,) = compile_workloads((workload,), compiler, request.workdir, 1, environment=request.environment)
    if isinstance(built, BuildFailed):
        return f"does not compile: {built.message}"
    return _run(built, request, bench)


def _run(built: Built, request: ProfileRequest, bench: CountersBench) -> dict[str, float] | str:
    output = built.executable.parent / f"{built.executable.stem}.callgrind"
    line = bench.line_bytes
    wrapper = (
        "valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={output}", "--toggle-collect=pe_nest",
        "--cache-sim=yes", "--branch-sim=yes", f"--D1={bench.d1[0]},{bench.d1[1]},{line}",
        f"--LL={bench.ll[0]},{bench.ll[1]},{line}",
    )  # fmt: skip
    reference = str(built.executable.with_suffix(".reference"))
    specification = specification_of(built.workload.arguments, "reference", TimingSettings(), reference, (-1.0, 0.0))
    env = {**harness_environment(request.environment, 1), **_PLAIN_MEMCPY}
    try:
        ran = launch(built, specification, _LIMITS, env, wrapper)
        if isinstance(ran, Crashed | TimedOut):
            return f"below valgrind: {ran}"
        return _parse(output.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError) as problem:
        return f"valgrind left no counts: {problem}"
    finally:
        output.unlink(missing_ok=True)
        Path(reference).unlink(missing_ok=True)


def _parse(text: str) -> dict[str, float]:
    """COUNTS of a callgrind file. Raises ValueError."""
    events = re.search(r"^events: (.*)$", text, re.MULTILINE)
    totals = re.search(r"^(?:summary|totals): (.*)$", text, re.MULTILINE)
    if events is None or totals is None:
        raise ValueError("no totals")
    values = totals[1].split()
    names = events[1].split()
    found = dict(zip(names, map(float, [*values, *["0"] * (len(names) - len(values))]), strict=True))
    return {name: sum(found[event] for event in _EVENTS[name]) for name in COUNTS}
