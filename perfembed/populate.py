"""`populate`: fills the database by searching the nests of many programs, whatever interrupts it.

The unit of work is a program. A run of the database belongs to each, under an id that follows from the program, the
search and the conditions: a program whose run has ended is left alone, and in one that was interrupted nothing is
measured twice.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

from optdb.codec import digest
from optdb.errors import OptdbError
from optdb.ingest import IngestReport
from optdb.records import RunRecord, SourceRecord
from perfembed.errors import PerfembedError
from perfembed.files import read_input
from perfembed.inputs import MINIMUM_SHARE, NestInputs, collect_inputs
from perfembed.measuring import Conditions, NestNotMeasurable
from perfembed.nest_tuner import Effort, NestOutcome, NestTuner
from perfembed.result import TuneOptions
from perfembed.store import DatabaseLedger, Origin, Store, conditions_record, finished_runs, installed_versions, settle
from perfembed.tune import parse, target_of
from profilers.build import CompilerConfig, compiler_version
from profilers.machine import Machine, describe_machine
from profilers.timing import machine_lock
from scheduler.errors import SchedulerError
from scheduler.generator.programs import GeneratorSettings, generate
from scheduler.generator.programs.generate import FUNCTION
from scheduler.polyhedral.model import QuotaExceeded

_NEST_BUDGET_S = 300.0


@dataclass(frozen=True, slots=True)
class Program:
    """A C file, or a generated program where `number` is not None; read or written when it is needed."""

    path: str
    algorithm: str
    seed: int = 0
    number: int | None = None

    def content(self) -> bytes:
        """The C text. Raises PerfembedError where a file cannot be read."""
        return read_input(self.path) if self.number is None else _generated(self.seed, self.number)[0]


@dataclass(frozen=True, slots=True)
class PopulateOptions:
    """`shard` (i, n): only every n-th program, from the i-th on; i counts from 1. `budget_s` is for all of them."""

    database: Path
    search: str = "random"
    schedules: int = 32
    seed: int = 0
    budget_s: float = 1800.0
    shard: tuple[int, int] = (1, 1)
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    threads: int = 1
    reassociate: bool = False
    environment: tuple[tuple[str, str], ...] = ()
    command: str = "populate"


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do: `waiting` of the `total` programs, the rest is done."""

    waiting: tuple[Program, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ProgramStarted:
    program: Program
    position: int
    total: int


@dataclass(frozen=True, slots=True)
class NestSearched:
    """`labels`: candidates with an outcome, known ones included; `best`: original time / best time."""

    program: Program
    nest: str
    labels: int
    best: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class ProgramSkipped:
    program: Program
    reason: str


@dataclass(frozen=True, slots=True)
class Stored:
    """`problem`: the records wait in the spool, for this reason."""

    report: IngestReport | None
    problem: str = ""


PopulateEvent = Union[ProgramStarted, NestSearched, ProgramSkipped, Stored]  # noqa: UP007


@dataclass(slots=True)
class PopulateResult:
    """`complete`: no program is waiting any more."""

    programs: int = 0
    skipped: int = 0
    nests: int = 0
    labels: int = 0
    lost: int = 0
    seconds: float = 0.0
    complete: bool = False
    interrupted: bool = False
    reasons: list[str] = field(default_factory=list)


def programs_of(files: Sequence[str], generated: int, seed: int) -> tuple[Program, ...]:
    """Files first, then `generated` programs of the generator with that seed."""
    listed = [Program(path, Path(path).stem) for path in files]
    made = [Program(f"gen_{seed}_{number}.c", "generated", seed, number) for number in range(generated)]
    return (*listed, *made)


def make_plan(programs: Sequence[Program], options: PopulateOptions) -> Plan:
    """Which programs of this shard are not done. Raises OptdbError, PerfembedError."""
    index, count = options.shard
    mine = programs[index - 1 :: count]
    machine = describe_machine()
    done = finished_runs(options.database)
    waiting = tuple(p for p in mine if not done or _run_id(p, p.content(), options, machine) not in done)
    return Plan(waiting, len(mine))


def populate(plan: Plan, options: PopulateOptions, progress: Callable[[PopulateEvent], None]) -> PopulateResult:
    """Searches every waiting program until the budget is spent; Ctrl-C ends it, and so may anything else.

    Raises OptdbError where records cannot be kept (a full disk), and PerfembedError.
    """
    began = time.monotonic()
    result = PopulateResult()
    deadline = began + options.budget_s
    try:
        for position, program in enumerate(plan.waiting, 1):
            if time.monotonic() > deadline:
                break
            progress(ProgramStarted(program, position, len(plan.waiting)))
            try:
                _Search(program, options, progress, result).run()
            except (PerfembedError, SchedulerError) as problem:
                result.skipped += 1
                progress(ProgramSkipped(program, str(problem)))
            result.programs += 1
            progress(_settled(options.database, result))
        else:
            result.complete = True
    except KeyboardInterrupt:
        result.interrupted = True
        progress(_settled(options.database, result))
    result.seconds = time.monotonic() - began
    return result


def search_program(program: Program, options: PopulateOptions, progress: Callable[[PopulateEvent], None]) -> None:
    """One program; its records stay in the spool. Raises PerfembedError, SchedulerError, OptdbError."""
    _Search(program, options, progress, PopulateResult()).run()


def _settled(database: Path, result: PopulateResult) -> Stored:
    try:
        report = settle(database)
    except OptdbError as problem:
        return Stored(None, str(problem))
    result.lost += report.lost
    return Stored(report)


class _Search:
    def __init__(
        self,
        program: Program,
        options: PopulateOptions,
        progress: Callable[[PopulateEvent], None],
        result: PopulateResult,
    ) -> None:
        self.program, self.options, self.progress, self.result = program, options, progress, result
        self.machine = describe_machine()
        self.environment = dict(options.environment)
        self.compiler = CompilerConfig(options.cc, (*options.cflags, "-fopenmp"))
        self.version = compiler_version(options.cc, self.environment)

    def run(self) -> None:
        content, options = self.program.content(), self.options
        run = RunRecord(
            run_id=_run_id(self.program, content, options, self.machine),
            seed=options.seed,
            search=options.search,
            budget_s=float(options.schedules),
            versions=installed_versions(),
            command=options.command,
            started_at=time.time(),
        )
        store = Store(options.database, run, self.machine)
        source = _source_record(self.program, content)
        store.begin()
        store.append([source])
        try:
            self._nests(content, store, source.source_id)
        except (PerfembedError, SchedulerError):
            store.end(time.time())  # it will not run another time either
            raise
        store.end(time.time())

    def _nests(self, content: bytes, store: Store, source_id: str) -> None:
        options = self.options
        asked = TuneOptions(
            functions=() if self.program.number is None else (FUNCTION,),
            cc=options.cc,
            cflags=options.cflags,
            threads=options.threads,
            environment=options.environment,
        )
        source = parse(self.program.path, content, asked)
        with tempfile.TemporaryDirectory(prefix="perfembed-") as folder:
            scratch = Path(folder)
            with machine_lock(Path(tempfile.gettempdir()) / "perfembed-measurement.lock"):
                least = MINIMUM_SHARE if self.program.number is None else 0.0
                for found in collect_inputs(source, asked, scratch, lambda event: None, least).found:
                    self._nest(found, store, source_id, scratch / found.nest.name)

    def _nest(self, found: NestInputs, store: Store, source_id: str, workdir: Path) -> None:
        options = self.options
        nest, parameters = found.nest, found.captured.parameters
        conditions = Conditions(
            compiler=self.compiler,
            threads=options.threads,
            target=target_of(self.machine, options.threads),
            workdir=workdir,
            environment=self.environment,
            jobs=max(1, self.machine.logical_cores),
            reassociate=options.reassociate,
            seed=options.seed,
        )
        effort = Effort(
            search=options.search,
            budget_s=_NEST_BUDGET_S,
            schedules=options.schedules,
            stop_best=None,
            finalists=2,
            confirm_s=2.0,
            confirm_interrupted=False,
        )
        try:
            under = conditions_record(
                self.machine,
                options.cc,
                self.version,
                self.compiler.flags,
                options.threads,
                nest,
                parameters,
                options.reassociate,
            )
            ledger = DatabaseLedger(store, Origin(nest, source_id, under), resume=True)
            tuner = NestTuner(nest, found.captured, conditions, effort, lambda event: None, ledger, found.in_program_s)
            outcome = tuner.run()
        except (NestNotMeasurable, QuotaExceeded, SchedulerError) as problem:
            outcome = NestOutcome(reason=str(problem))
        self.result.nests += 1
        self.result.labels += outcome.candidates
        best = outcome.original_s / outcome.best_s if outcome.original_s and outcome.best_s else None
        self.progress(NestSearched(self.program, nest.name, outcome.candidates, best, outcome.reason))


def _run_id(program: Program, content: bytes, options: PopulateOptions, machine: Machine) -> str:
    compiler = compiler_version(options.cc, dict(options.environment))
    source = SourceRecord.of(content.decode(errors="surrogateescape"), "file", program.path, program.algorithm)
    return digest(
        "populate", source.source_id, options.search, options.schedules, options.seed, options.cc, compiler,
        options.cflags, options.threads, options.reassociate, machine.fingerprint,
    )  # fmt: skip


def _source_record(program: Program, content: bytes) -> SourceRecord:
    text = content.decode(errors="surrogateescape")
    if program.number is None:
        return SourceRecord.of(text, "file", program.path, program.algorithm)
    patterns = _generated(program.seed, program.number)[1]
    return SourceRecord.of(text, "generated", f"seed {program.seed} number {program.number}", patterns)


def _generated(seed: int, number: int) -> tuple[bytes, str]:
    """(C text, the patterns it combines)."""
    made = generate(seed, number, GeneratorSettings())
    return made.source.encode(), "+".join(made.patterns)
