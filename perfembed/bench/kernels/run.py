"""The benchmark: for each kernel tune it, check it, and measure it beside what the compilers make of the original."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perfembed.bench.kernels.compilers import (
    FLAGS,
    GCC,
    OURS,
    POLLY,
    STRIPMINE,
    Configuration,
    build,
    configurations,
    said,
)
from perfembed.bench.kernels.measure import MeasureSettings, Run, Samples, measure, openblas_run, program_run
from perfembed.bench.kernels.openblas import product_of
from perfembed.bench.kernels.regions import Marked, mark_kernel
from perfembed.bench.kernels.rows import NestRow, Output, ProgramRow, Row, Store, key_of
from perfembed.errors import EnvironmentMissing, NoTunableNest, PerfembedError, VerificationFailed
from perfembed.files import read_input
from perfembed.result import TuneOptions, TuneResult
from perfembed.tuning import parse, tune
from profilers.lock import machine_lock
from profilers.machine import describe_machine
from profilers.scratch import scratch_folder
from scheduler.frontend import SourceFile

OPENBLAS = "openblas"
_CHECK_FLAGS = ("-ffp-contract=off",)
_CLOSE = 1e-6  # relative: how far sums may be apart where a compiler contracts other products


@dataclass(frozen=True, slots=True)
class KernelsBench:
    """What is asked. `kernels` names the functions to time, None leaves that to the marks."""

    paths: tuple[str, ...]
    small: bool
    threads: int
    budget_s: float
    only: tuple[str, ...]
    out: Path
    resume: bool = True
    search: str = "beam"
    cc: str = "gcc"
    clang: str | None = None
    kernels: tuple[str, ...] = ()
    seed: int = 0
    settings: MeasureSettings = field(default_factory=MeasureSettings)
    environment: tuple[tuple[str, str], ...] = ()
    workdir: str | None = None


@dataclass(frozen=True, slots=True)
class BenchResult:
    """`rows` in the order of the files; those measured earlier are among them."""

    configurations: tuple[Configuration, ...]
    rows: tuple[Row, ...]
    total: int
    machine: str
    interrupted: bool


def run_kernels(bench: KernelsBench, progress: Callable[[str], None]) -> BenchResult:
    """Each finished kernel is on disk before the next begins; Ctrl-C ends with what there is.

    Raises UsageError for files that cannot be read, EnvironmentMissing without a working gcc.
    """
    machine = describe_machine()
    name = f"{machine.cpu_model}, {machine.physical_cores} cores ({machine.fingerprint})"
    contents = {path: read_input(path) for path in bench.paths}
    store = Store(bench.out)
    known = store.load() if bench.resume else {}
    rows: list[Row] = []
    interrupted = False
    with scratch_folder(bench.workdir) as scratch:
        environment = dict(bench.environment)
        built = configurations(bench.only, bench.cc, bench.clang, environment, scratch)
        if built[0].missing:
            raise EnvironmentMissing(f"{bench.cc}: {built[0].missing}", "perfembed doctor says what is missing")
        conditions = _conditions(bench, built, machine.fingerprint)
        for number, (path, content) in enumerate(contents.items(), 1):
            key = key_of(content, conditions)
            try:
                if key not in known:
                    progress(f"{Path(path).stem} ({number} of {len(contents)})")
                    folder = scratch / f"{number}"
                    folder.mkdir()
                    row = Row(key, Path(path).stem, path, _now(), conditions, [])
                    _Kernel(bench, built, path, content, folder, row, progress).run()
                    store.append(row)
                    known[key] = row
            except KeyboardInterrupt:
                interrupted = True
                break
            rows.append(known[key])
    return BenchResult(built, tuple(rows), len(contents), name, interrupted)


def _conditions(bench: KernelsBench, built: tuple[Configuration, ...], fingerprint: str) -> dict[str, Any]:
    return {
        "set": "small" if bench.small else "large",
        "threads": bench.threads,
        "budget_s": bench.budget_s,
        "search": bench.search,
        "seed": bench.seed,
        "kernels": list(bench.kernels),
        "machine": fingerprint,
        "compilers": {
            c.name: {"version": c.version, "flags": list(c.compiler.flags), "missing": c.missing} for c in built
        },
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Kernel:
    """One kernel; fills its row. What fails is said in the row, only Ctrl-C leaves it unfinished."""

    def __init__(
        self,
        bench: KernelsBench,
        built: tuple[Configuration, ...],
        path: str,
        content: bytes,
        folder: Path,
        row: Row,
        progress: Callable[[str], None],
    ) -> None:
        self.bench = bench
        self.built = built
        self.path = path
        self.folder = folder
        self.row = row
        self.progress = progress
        self.content = content
        self.environment = dict(bench.environment)
        small = ("-DSMALL",) if bench.small else ()
        self.apart: set[str] = set()
        self.extra = (*small, "-iquote", str(Path(path).absolute().parent))

    def run(self) -> None:
        options = self._options()
        try:
            source = parse(self.path, self.content, options)
            marked = mark_kernel(source, self.bench.kernels)
        except PerfembedError as error:
            self.row.status, self.row.reason = "failed", error.message
            return
        self.row.timed = list(marked.functions)
        original, tuned = self.folder / "original.c", self.folder / "tuned.c"
        original.write_bytes(marked.content)
        self._tune(original, tuned, marked, options)
        with machine_lock(self.environment, self.progress):
            programs = self._programs(original, tuned, marked)
        if GCC not in programs:
            self.row.status, self.row.reason = "failed", self.row.programs[GCC].failure
            return
        self._verify(original, tuned)
        product = product_of(source) if _is_gemm(source, marked) else None
        if product is not None:
            self.row.operations = product.operations
            programs[OPENBLAS] = openblas_run(product, self.bench.threads, self.environment, self.folder)
        self.progress(f"{self.row.kernel}: measuring {len(programs)} programs in turn")
        with machine_lock(self.environment, self.progress):
            measured = measure(programs, self.bench.settings)
        self.row.loads, self.row.noisy = [round(x, 3) for x in measured.loads], measured.noisy
        reference = measured.samples[GCC].stdout
        for name, samples in measured.samples.items():
            program = _program_row(samples, reference if name != OPENBLAS else None)
            program.apart = name in self.apart
            self.row.programs[name] = program

    # ---------------------------------------------------------------------------------- tuning

    def _options(self) -> TuneOptions:
        return TuneOptions(
            cc=self.bench.cc,
            cflags=(*FLAGS, *self.extra),
            threads=self.bench.threads,
            search=self.bench.search,
            budget_s=self.bench.budget_s,
            seed=self.bench.seed,
            environment=self.bench.environment,
            workdir=str(self.folder),
        )

    def _tune(self, original: Path, tuned: Path, marked: Marked, options: TuneOptions) -> None:
        """Writes the tuned text, or the original where nothing came of it."""
        row = self.row
        tuned.write_bytes(marked.content)
        if OURS not in self.bench.only:
            return
        functions = () if marked.loops else marked.inner
        self.progress(f"{row.kernel}: tuning {', '.join(marked.functions)}")
        try:
            result = tune(str(original), replace(options, output=str(tuned), functions=functions), lambda event: None)
        except NoTunableNest as error:
            row.status, row.reason = "kept", error.message.replace("\n", "; ")
        except VerificationFailed as error:
            row.status, row.reason = "wrong", error.message
        except PerfembedError as error:
            row.status, row.reason = "failed", error.message
        except Exception as error:
            row.status, row.reason = "failed", f"internal error: {type(error).__name__}: {error}"[:500]
        else:
            if result.interrupted:
                raise KeyboardInterrupt
            _note_result(row, result, marked.inner)

    # ---------------------------------------------------------------------------------- builds

    def _programs(self, original: Path, tuned: Path, marked: Marked) -> dict[str, Run]:
        """What could be built, by configuration; the others are noted in the row."""
        programs: dict[str, Run] = {}
        for c in self.built:
            if c.missing:
                self.row.programs[c.name] = ProgramRow(failure=c.missing)
                continue
            if c.name == OURS and self.row.status != "tuned":
                # The original stays, and whoever keeps it has no reason to build it in another way.
                c = replace(c, compiler=self.built[0].compiler)
            run, failure = self._built(c, tuned if c.name == OURS else original, c.name)
            if (
                c.name in (POLLY, STRIPMINE)
                and marked.apart is not None
                and self._apart_is_faster(c, marked.apart, run)
            ):
                run, failure = self._built(c, self.folder / "apart.c", f"{c.name}-apart")
                self.apart.add(c.name)
            if run is None:
                self.row.programs[c.name] = ProgramRow(failure=failure)
            else:
                programs[c.name] = run
        return programs

    def _built(self, c: Configuration, source: Path, name: str) -> tuple[Run | None, str]:
        """A program of one configuration, or why there is none."""
        executable = self.folder / name
        finished = build(c.compiler, source, executable, self.environment, self.extra)
        if not finished.ok:
            return None, said(finished)
        return program_run(executable, self.bench.threads, self.environment, self.folder), ""

    def _apart_is_faster(self, c: Configuration, content: bytes, other: Run | None) -> bool:
        """Whether the second form of the text runs faster, by the better of two runs each."""
        (self.folder / "apart.c").write_bytes(content)
        apart, _ = self._built(c, self.folder / "apart.c", f"{c.name}-apart")
        best: list[float] = []
        for run in (apart, other):
            samples = Samples(failure="" if run else "not built")
            for _ in range(2):
                if run is not None and not samples.failure:
                    run(samples)
            best.append(math.inf if samples.failure else min(samples.kernel_s))
        return best[0] < best[1]

    def _verify(self, original: Path, tuned: Path) -> None:
        """Without contraction the tuned program must print exactly what the original prints, every time."""
        row = self.row
        if row.status != "tuned":
            row.verified = "the original's text" if row.status == "kept" else ""
            return
        gcc, ours = (next(c.compiler for c in self.built if c.name == name) for name in (GCC, OURS))
        outputs = []
        for name, source, compiler, times in (("original", original, gcc, 1), ("tuned", tuned, ours, 3)):
            executable = self.folder / f"{name}-check"
            finished = build(compiler, source, executable, self.environment, (*self.extra, *_CHECK_FLAGS))
            samples = Samples(failure="" if finished.ok else said(finished))
            run = program_run(executable, self.bench.threads, self.environment, self.folder)
            for _ in range(times if finished.ok else 0):
                run(samples)
                if samples.failure:
                    break
            if samples.failure:
                row.status, row.verified = "wrong", f"the {name} program: {samples.failure}"
                return
            outputs.append(samples.stdout)
        if outputs[0] == outputs[1]:
            row.verified = "output equal, bit for bit, in 3 runs"
        else:
            row.status, row.verified = "wrong", f"printed {outputs[1][:60]!r} in place of {outputs[0][:60]!r}"


def _is_gemm(source: SourceFile, marked: Marked) -> bool:
    return Path(source.path).stem == "gemm" or "gemm" in marked.inner


def _note_result(row: Row, result: TuneResult, functions: tuple[str, ...]) -> None:
    row.tuning_s = result.seconds
    wanted = [n for n in result.nests if n.function in functions]
    row.nests = [NestRow(n.nest, n.line - 1, n.status, n.reason, n.schedule, n.speedup) for n in wanted]
    tuned = [n for n in wanted if n.status == "tuned"]
    row.status = "tuned" if tuned else "kept"
    row.reason = "" if tuned else "; ".join(dict.fromkeys(n.reason for n in wanted)) or "no nest in the kernel"


def _program_row(samples: Samples, reference: bytes | None) -> ProgramRow:
    output: Output = "" if reference is None else compare_outputs(reference, samples.stdout)
    return ProgramRow(samples.kernel_s, samples.whole_s, samples.good, output, samples.failure)


_HASH = re.compile(rb"[0-9a-f]{16}")


def compare_outputs(expected: bytes, actual: bytes) -> Output:
    """equal: the same bytes; close: only hashes and roundings differ; else differs."""
    if expected == actual:
        return "equal"
    first, second = expected.split(), actual.split()
    if len(first) != len(second):
        return "differs"
    for a, b in zip(first, second, strict=True):
        if a == b or (_HASH.fullmatch(a) and _HASH.fullmatch(b)):
            continue
        try:
            x, y = float(a), float(b)
        except ValueError:
            return "differs"
        if not abs(x - y) <= _CLOSE * max(abs(x), abs(y)):
            return "differs"
    return "close"
