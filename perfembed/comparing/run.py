"""Programs compared: each tuned, checked, and measured beside what the compilers make of the original.

Long, because it is the life of one kernel, from its file to its row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from perfembed.capture import World
from perfembed.comparing.against import OWN, TunedBy, tune_by
from perfembed.comparing.bound import kernel_work, products_of
from perfembed.comparing.compilers import (
    GCC,
    GRAPHITE,
    OURS,
    POLLY,
    STRIPMINE,
    THEIRS,
    Configuration,
    Toolbox,
    build,
    configurations,
)
from perfembed.comparing.measure import LIMITS, Run, Samples, measure, openblas_run, program_run
from perfembed.comparing.model import OPENBLAS, CompareOptions, CompareResult
from perfembed.comparing.noted import conditions_of, note_result, program_row
from perfembed.comparing.regions import Marked, mark_kernel
from perfembed.comparing.rows import ProgramRow, Row, Store, key_of, least_measured
from perfembed.errors import EnvironmentMissing, NoTunableNest, PerfembedError
from perfembed.files import read_input
from perfembed.tuning.file_tuner import tune
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.source import parse
from profilers.build import CompilerConfig
from profilers.calibration import CalibrationCache
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.machine import describe_machine
from scheduler.frontend import SourceFile

_HIDDEN_LOOPS = (GRAPHITE, POLLY, STRIPMINE)  # what they find depends on what was put into main
_CHECK_FLAGS = ("-ffp-contract=off",)


def compare(asked: CompareOptions, progress: Callable[[str], None]) -> CompareResult:
    """Each finished kernel is on disk before the next begins; Ctrl-C ends with what there is.

    Raises UsageError for files that cannot be read, EnvironmentMissing without a working gcc.
    """
    machine = describe_machine()
    name = f"{machine.cpu_model}, {machine.physical_cores} cores ({machine.fingerprint})"
    contents = {path: read_input(path) for path in asked.paths}
    store = Store(asked.out) if asked.out is not None else None
    known = store.load() if store is not None and asked.resume else {}
    rows: list[Row] = []
    interrupted = False
    with scratch_folder(asked.workdir) as scratch:
        environment = dict(asked.environment)
        tools = Toolbox(asked.cc, asked.clang, asked.flags, asked.threads, asked.peers)
        built = configurations(asked.only, tools, environment, scratch)
        if built[0].missing:
            raise EnvironmentMissing(f"{asked.cc}: {built[0].missing}", "perfembed doctor says what is missing")
        conditions = conditions_of(asked, built, machine.fingerprint)
        for number, (path, content) in enumerate(contents.items(), 1):
            key = key_of(content, conditions)
            try:
                if key not in known:
                    progress(f"{Path(path).stem} ({number} of {len(contents)})")
                    folder = scratch / f"{number}"
                    folder.mkdir()
                    row = Row(key, Path(path).stem, path, _now(), conditions, [])
                    _Kernel(asked, built, path, content, folder, row, progress, number % 2 == 0).run()
                    if store is not None:
                        store.append(row)
                    known[key] = row
            except KeyboardInterrupt:
                interrupted = True
                break
            rows.append(known[key])
    cache = CalibrationCache(asked.cache) if asked.cache is not None else None
    calibration = cache.load(machine, built[0].version) if cache is not None else None
    return CompareResult(built, tuple(rows), len(contents), name, interrupted, calibration)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Kernel:
    """One kernel; fills its row. What fails is said in the row, only Ctrl-C leaves it unfinished."""

    def __init__(
        self,
        asked: CompareOptions,
        built: tuple[Configuration, ...],
        path: str,
        content: bytes,
        folder: Path,
        row: Row,
        progress: Callable[[str], None],
        ours_first: bool = True,
    ) -> None:
        """`ours_first`: of two checkouts' `tune`."""
        self.asked = asked
        self.ours_first = ours_first
        self.tuned: dict[str, ProgramRow] = {}  # what is known of tuned programs before they are measured
        self.built = built
        self.path = path
        self.folder = folder
        self.row = row
        self.progress = progress
        self.content = content
        self.environment = dict(asked.environment)
        self.apart: set[str] = set()
        self.extra = ("-iquote", str(Path(path).absolute().parent))

    def run(self) -> None:
        options = self._options()
        try:
            source = parse(self.path, self.content, options)
            marked = mark_kernel(source, self.asked.kernels)
        except PerfembedError as error:
            self.row.status, self.row.reason = "failed", error.message
            return
        self.row.timed = list(marked.functions)
        original, tuned = self.folder / "original.c", self.folder / "tuned.c"
        original.write_bytes(marked.content)
        self._tune(original, tuned, marked, options)
        with machine_lock(self.environment, self.progress):
            self._count(source, marked)
            programs = self._programs(original, tuned, marked)
        if GCC not in programs:
            self.row.status, self.row.reason = "failed", self.row.programs[GCC].failure
            return
        self._verify(original, tuned)
        if self.row.work is not None and (products := products_of(self.row.work)):
            programs[OPENBLAS] = openblas_run(products, self.asked.threads, self.environment, self.folder)
        self.progress(f"{self.row.kernel}: measuring {len(programs)} programs in turn")
        with machine_lock(self.environment, self.progress):
            measured = measure(programs, self.asked.settings)
        self.row.loads, self.row.noisy = [round(x, 3) for x in measured.loads], measured.noisy
        reference = measured.samples[GCC].stdout
        for name, samples in measured.samples.items():
            program = program_row(samples, reference if name != OPENBLAS else None)
            program.apart = name in self.apart
            if known := self.tuned.get(name):
                program.tuning_s, program.candidates = known.tuning_s, known.candidates
            self.row.programs[name] = program

    def _count(self, source: SourceFile, marked: Marked) -> None:
        """Notes what the kernel does at least, in all its calls."""
        compiler = CompilerConfig(self.asked.cc, (*self.asked.flags, *self.extra))
        where = (self.folder / "count", self.environment)
        self.row.work = kernel_work(
            source, marked, compiler, self.asked.arguments, describe_machine(), self.asked.threads, *where
        )

    # ---------------------------------------------------------------------------------- tuning

    def _options(self) -> TuneOptions:
        return TuneOptions(
            cc=self.asked.cc,
            cflags=(*self.asked.flags, *self.extra),
            world=World(Path.cwd(), self.asked.arguments, limits=LIMITS),
            expect_exit=None,
            threads=self.asked.threads,
            search=self.asked.search,
            budget_s=self.asked.budget_s,
            seed=self.asked.seed,
            environment=self.asked.environment,
            workdir=str(self.folder),
            cache=str(self.asked.cache) if self.asked.cache is not None else None,
        )

    def _tune(self, original: Path, tuned: Path, marked: Marked, options: TuneOptions) -> None:
        """Writes the tuned text, or the original where nothing came of it."""
        tuned.write_bytes(marked.content)
        wanted = replace(options, functions=() if marked.loops else marked.inner)
        theirs = self.asked.against
        if theirs is not None and not self.ours_first:
            self._tune_theirs(theirs, original, marked, wanted)
        if OURS in self.asked.only:
            self._tune_ours(original, tuned, marked, wanted)
        if theirs is not None and self.ours_first:
            self._tune_theirs(theirs, original, marked, wanted)

    def _tune_theirs(self, checkout: Path, original: Path, marked: Marked, options: TuneOptions) -> None:
        """Their text, where they made one: what fails is said in the row of their program."""
        self.progress(f"{self.row.kernel}: tuning {', '.join(marked.functions)} by {checkout}")
        known = self.tuned[THEIRS] = ProgramRow()
        try:
            found = tune_by(checkout, original, self._theirs, options)
        except NoTunableNest:
            self._theirs.write_bytes(marked.content)
        except PerfembedError as error:
            known.failure = error.message
        else:
            known.tuning_s = found.seconds
            known.candidates = least_measured([n for n in found.result.nests if n.function in marked.inner])

    @property
    def _theirs(self) -> Path:
        return self.folder / "theirs.c"

    def _tune_ours(self, original: Path, tuned: Path, marked: Marked, options: TuneOptions) -> None:
        row = self.row
        self.progress(f"{row.kernel}: tuning {', '.join(marked.functions)}")
        try:
            if self.asked.against is not None:  # as a process, as theirs is: neither has anything loaded already
                done = tune_by(OWN, original, tuned, options)
            else:
                result = tune(str(original), replace(options, output=str(tuned)), lambda event: None)
                done = TunedBy(result, result.seconds - result.phases.get("waiting", 0.0))
        except NoTunableNest as error:
            row.status, row.reason = "kept", error.message.replace("\n", "; ")
        except PerfembedError as error:
            row.status, row.reason = "failed", error.message
        except Exception as error:
            row.status, row.reason = "failed", f"internal error: {type(error).__name__}: {error}"[:500]
        else:
            if done.result.interrupted:
                raise KeyboardInterrupt
            note_result(row, done, marked.inner)
            measured = least_measured([n for n in done.result.nests if n.function in marked.inner])
            self.tuned[OURS] = ProgramRow(tuning_s=done.seconds, candidates=measured)
            broken = next((nest.reason for nest in done.result.nests if nest.given_back), None)
            if broken is not None:
                row.status, row.reason = "wrong", broken

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
            if c.name in _HIDDEN_LOOPS and marked.apart is not None and self._apart_is_faster(c, marked.apart, run):
                run, failure = self._built(c, self.folder / "apart.c", f"{c.name}-apart")
                self.apart.add(c.name)
            self._note_run(programs, c.name, run, failure)
        if (known := self.tuned.get(THEIRS)) is not None:
            # Where they keep the original it is built as it is; else as a tuned file has to be.
            kept = not known.failure and self._theirs.read_bytes() == original.read_bytes()
            flags = self.built[0].compiler.flags if kept else (*self.asked.flags, "-fopenmp")
            c = Configuration(THEIRS, CompilerConfig(self.asked.cc, flags))
            run, failure = (None, known.failure) if known.failure else self._built(c, self._theirs, THEIRS)
            self._note_run(programs, THEIRS, run, failure)
        return programs

    def _note_run(self, programs: dict[str, Run], name: str, run: Run | None, failure: str) -> None:
        if run is None:
            self.row.programs[name] = ProgramRow(failure=failure)
        else:
            programs[name] = run

    def _built(self, c: Configuration, source: Path, name: str) -> tuple[Run | None, str]:
        """A program of one configuration, or why there is none."""
        executable = self.folder / name
        if failure := build(c, source, executable, self.environment, self.extra, self.asked.threads):
            return None, failure
        return program_run(executable, self.asked.threads, self.environment, self.asked.arguments), ""

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
        gcc, ours = (next(c for c in self.built if c.name == name) for name in (GCC, OURS))
        outputs = []
        for name, source, configuration, times in (("original", original, gcc, 1), ("tuned", tuned, ours, 3)):
            executable = self.folder / f"{name}-check"
            failure = build(configuration, source, executable, self.environment, (*self.extra, *_CHECK_FLAGS))
            samples = Samples(failure=failure)
            run = program_run(executable, self.asked.threads, self.environment, self.asked.arguments)
            for _ in range(0 if failure else times):
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
