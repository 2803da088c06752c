"""`populate`: fills the database by searching the nests of many programs, whatever interrupts it.

The unit of work is a program. A run of the database belongs to each, under an id that follows from the program, the
search and the conditions: a program whose run has ended is left alone, and in one that was interrupted nothing is
measured twice.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from optdb.codec import digest
from optdb.errors import OptdbError
from optdb.records import RunRecord, SourceRecord
from perfembed.capture import World
from perfembed.errors import EnvironmentMissing, NotRead, NoTunableNest, PerfembedError
from perfembed.learning.cost_models import load_cost_model, own_weights
from perfembed.measuring.database_ledger import DatabaseLedger, Origin
from perfembed.measuring.measurer import Conditions, NestNotMeasurable
from perfembed.measuring.store import Store, conditions_record, finished_runs, installed_versions, settle
from perfembed.measuring.target import compiled_target
from perfembed.populating.programs import (
    NEST_BUDGET_S,
    NestSearched,
    Place,
    Plan,
    PopulateEvent,
    PopulateOptions,
    PopulateResult,
    Program,
    ProgramDone,
    ProgramSkipped,
    ProgramStarted,
    Stored,
    Told,
    source_record,
)
from perfembed.tuning.inputs import MINIMUM_SHARE, Collecting, NestInputs, collect_inputs, made_up
from perfembed.tuning.nest_outcome import Effort, Guides, NestOutcome, NestTask
from perfembed.tuning.nest_tuner import NestTuner
from perfembed.tuning.openmp import parallel_flags, with_openmp
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import one_file
from perfembed.tuning.source import nothing_tunable, parse
from profilers.build import CompilerConfig, compiler_version
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.machine import describe_machine
from scheduler.cost.problem import CostModel
from scheduler.errors import SchedulerError
from scheduler.generator.programs.generate import FUNCTION
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import LegalityOptions
from scheduler.schedule import Schedule

_ANOTHER_TIME = (NotRead, EnvironmentMissing)  # what says nothing of the program
_PREDICTED = 1000  # schedules of a nest, where a model chooses which of them are measured


def this_place(options: PopulateOptions) -> Place:
    """Raises ProfilersError where there is no such compiler."""
    return Place(describe_machine().fingerprint, compiler_version(options.cc, dict(options.environment)))


def recover(database: Path) -> Stored:
    """Moves into the database what an interrupted run left in the spool, and makes both where they are missing.

    Nothing is measured twice only if this comes first. Raises OptdbError.
    """
    with translated_interrupt():
        return Stored(settle(database))


def make_plan(programs: Sequence[Program], options: PopulateOptions, places: Sequence[Place] = ()) -> Plan:
    """Which programs of this shard are not done in any of `places` (default: here), read from their files.

    Raises OptdbError, PerfembedError, ProfilersError.
    """
    index, count = options.shard
    mine = [program.read() for program in programs[index - 1 :: count]]
    done = finished_runs(options.database)
    where = (places or (this_place(options),)) if done else ()
    return Plan(tuple(p for p in mine if not any(_known_id(p, options, place) in done for place in where)), len(mine))


def _known_id(program: Program, options: PopulateOptions, place: Place) -> str:
    try:
        return _run_id(program, program.content(), options, place)
    except SchedulerError:  # the generator does not find that program
        return ""


def populate(plan: Plan, options: PopulateOptions, progress: Callable[[PopulateEvent], None]) -> PopulateResult:
    """Searches every waiting program until the budget is spent; Ctrl-C ends it, and so may anything else.

    Raises OptdbError where records cannot be kept (a full disk), and PerfembedError.
    """
    began = time.monotonic()
    result = PopulateResult()
    deadline = began + options.budget_s
    if plan.waiting:
        parallel(options, lambda text: progress(Told(text)))  # rather now than once a program
    try:
        for position, program in enumerate(plan.waiting, 1):
            if time.monotonic() > deadline:
                break
            progress(ProgramStarted(program, position, len(plan.waiting)))
            search_program(program, options, result.counting(progress))
            progress(settled(options.database, result))
        else:
            result.complete = not result.unread
    except KeyboardInterrupt:
        result.interrupted = True
        progress(settled(options.database, result))
    result.seconds = time.monotonic() - began
    return result


def parallel(options: PopulateOptions, tell: Callable[[str], None]) -> tuple[str, ...]:
    """The flags of what is measured. Raises EnvironmentMissing."""
    return parallel_flags(options.cc, options.cflags, options.threads, dict(options.environment), tell)


def search_program(program: Program, options: PopulateOptions, progress: Callable[[PopulateEvent], None]) -> None:
    """One program; its records stay in the spool. Ends with ProgramSkipped or ProgramDone. Raises OptdbError."""
    try:
        _Search(program, options, progress).run()
    except (PerfembedError, SchedulerError) as problem:
        progress(ProgramSkipped(program, str(problem), isinstance(problem, _ANOTHER_TIME)))
    else:
        progress(ProgramDone(program))


def settled(database: Path, result: PopulateResult) -> Stored:
    """Moves the spool into the database; where that fails or is interrupted, records wait in the spool."""
    try:
        with translated_interrupt():
            report = settle(database)
    except OptdbError as problem:
        return Stored(None, str(problem))
    except KeyboardInterrupt:
        if not result.interrupted:
            raise
        return Stored(None, "interrupted")
    result.lost += report.lost
    return Stored(report)


@contextlib.contextmanager
def translated_interrupt() -> Iterator[None]:
    """DuckDB makes a RuntimeError of the KeyboardInterrupt that ends one of its queries."""
    try:
        yield
    except RuntimeError as problem:
        if "interrupted" not in str(problem).lower():
            raise
        raise KeyboardInterrupt from problem


class _Ledger(DatabaseLedger):
    """Of a random search: what was best so far must not take the place of a proposal, or a resumed run would differ."""

    def promising(self) -> Sequence[Schedule]:
        return ()


class _Search:
    def __init__(self, program: Program, options: PopulateOptions, progress: Callable[[PopulateEvent], None]) -> None:
        self.program, self.options, self.progress = program, options, progress
        self.machine = describe_machine()
        self.environment = dict(options.environment)
        self.compiler = CompilerConfig(options.cc, parallel(options, self.tell))
        self.place = this_place(options)

    def tell(self, text: str) -> None:
        self.progress(Told(text))

    def run(self) -> None:
        content, options = self.program.content(), self.options
        run = RunRecord(
            run_id=_run_id(self.program, content, options, self.place),
            seed=options.seed,
            search=options.search,
            budget_s=float(options.schedules),
            versions=installed_versions(),
            command=options.command,
            started_at=time.time(),
        )
        store = Store(options.database, run, self.machine)
        source = source_record(self.program, content)
        with store.writer:
            store.begin()
            store.append([source])
            try:
                self._nests(content, store, source.source_id)
            except (PerfembedError, SchedulerError) as problem:
                if not isinstance(problem, _ANOTHER_TIME):
                    store.end(time.time())  # it will not run another time either
                raise
            store.end(time.time())

    def _nests(self, content: bytes, store: Store, source_id: str) -> None:
        options = self.options
        asked = TuneOptions(
            functions=() if self.program.number is None else (FUNCTION,),
            cc=options.cc,
            cflags=with_openmp(self.program.path, content, options.cflags, self.tell),
            threads=options.threads,
            environment=options.environment,
            world=World(Path.cwd()),
            expect_exit=None,
        )
        source = parse(self.program.path, content, asked)
        with (
            scratch_folder() as scratch,
            machine_lock(self.environment, self.tell),
        ):
            if self.program.number is not None:
                asked = replace(asked, parameters=tuple(self.program.sizes().items()))
                inputs = made_up(source.nests, asked, scratch)  # no program need be built and run for it
            else:
                least = 0.0 if options.all_nests else MINIMUM_SHARE
                inputs = collect_inputs(one_file(source, asked), asked, scratch, lambda event: None, Collecting(least))
            for found in inputs.found:
                self._nest(found, store, source_id, scratch / found.nest.name)
        if not inputs.found:
            reasons = [f"{skipped.nest.name}: {skipped.reason}" for skipped in inputs.skipped]
            raise NoTunableNest("; ".join(reasons) or nothing_tunable((source,)))

    def _nest(self, found: NestInputs, store: Store, source_id: str, workdir: Path) -> None:
        options = self.options
        nest, parameters = found.nest, found.captured.parameters
        conditions = Conditions(
            compiler=self.compiler,
            threads=options.threads,
            target=compiled_target(self.machine, options.threads, self.compiler, self.environment),
            workdir=workdir,
            environment=self.environment,
            jobs=max(1, self.machine.logical_cores),
            allowed=LegalityOptions(options.reassociate),
            seed=options.seed,
        )
        effort = Effort(
            search=options.search,
            evaluate=options.evaluate,
            top=options.schedules,
            refine=options.refine,
            drawn=options.drawn,
            budget_s=options.nest_budget_s,
            schedules=options.schedules if options.evaluate == "run" else _PREDICTED,
            stop_best=None,
            finalists=2,
            confirm_s=1.0,
            confirm_interrupted=False,
        )
        drawn = 0
        try:
            under = conditions_record(
                self.machine,
                options.cc,
                self.place.compiler,
                self.compiler.flags,
                options.threads,
                nest,
                parameters,
                options.reassociate,
            )
            kind = _Ledger if options.search == "random" else DatabaseLedger
            ledger = kind(store, Origin(nest, source_id, under), resume=True)
            model = _cost_model(options.weights) if options.evaluate != "run" else None
            task = NestTask(nest, found.captured, conditions, effort, found.in_program_s)
            tuner = NestTuner(task, lambda event: None, ledger, Guides(model))
            outcome = tuner.run()
            drawn = tuner.drawn
        except (NestNotMeasurable, QuotaExceeded, SchedulerError) as problem:
            outcome = NestOutcome(reason=str(problem))
        best = outcome.original_s / outcome.best_s if outcome.original_s and outcome.best_s else None
        self.progress(NestSearched(self.program, nest.name, outcome.candidates, best, outcome.reason, drawn))


@functools.cache
def _cost_model(weights: str | None) -> CostModel:
    return load_cost_model(folder=own_weights(weights))


def _run_id(program: Program, content: bytes, options: PopulateOptions, place: Place) -> str:
    source = SourceRecord.of(content.decode(errors="surrogateescape"), "file", program.path, program.algorithm)
    return digest(
        "populate", source.source_id, options.search, options.schedules, options.seed, options.cc, place.compiler,
        options.cflags, options.threads, options.reassociate, options.all_nests, place.machine,
        *([options.evaluate, *([options.weights] if options.weights else [])] if options.evaluate != "run" else []),
        *(["drawn", options.drawn] if options.drawn else []),
        *(["refined"] if options.refine else []),
        *([options.nest_budget_s] if options.nest_budget_s != NEST_BUDGET_S else []),
    )  # fmt: skip
