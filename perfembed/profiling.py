"""Profiles of many generated nests, for training: several processes, the timing alone, resumable.

A nest runs in its canonical schedule on made-up inputs (`perfembed.capture.synthesize`): no program is built or run.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from optdb.codec import digest
from optdb.errors import OptdbError
from optdb.records import ProfileRecord, RunRecord, SourceRecord
from perfembed.capture import CaptureFailed, synthesize
from perfembed.errors import PerfembedError
from perfembed.inputs import NestInputs
from perfembed.profile import canonical_request
from perfembed.result import TuneOptions
from perfembed.store import Store, conditions_record, finished_runs, installed_versions, nest_record, settle
from perfembed.tuning import parse
from profilers.backend import ProfileFailed
from profilers.build import CompilerConfig, compiler_version
from profilers.machine import describe_machine
from profilers.share import MachineShare
from profilers.simulated.backend import SimulatedBackend
from profilers.timing import machine_lock
from scheduler.errors import SchedulerError
from scheduler.generator.programs import GeneratorSettings, NothingFits, generate
from scheduler.identity import canonical_nest
from scheduler.ir.nest import LoopNest
from scheduler.replay import Replayer

# One pattern a program: nests that stand side by side teach nothing new. Short ones, for there must be thousands.
SETTINGS = GeneratorSettings(least_work=3e5, most_work=3e7, nests=1)
_SETTLE_EVERY = 100  # programs


@dataclass(frozen=True, slots=True)
class ProfilingOptions:
    """Programs `first` … `first` + `count` - 1 of the generator with that seed."""

    database: Path
    seed: int
    first: int
    count: int
    jobs: int
    threads: int
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    environment: tuple[tuple[str, str], ...] = ()
    budget_s: float = 3600.0
    settings: GeneratorSettings = SETTINGS


@dataclass(slots=True)
class ProfilingResult:
    programs: int = 0
    profiles: int = 0
    failed: int = 0
    seconds: float = 0.0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class ProgramProfiled:
    """`problems`: why nests, or the whole program, have no profile."""

    number: int
    profiles: int
    problems: tuple[str, ...]


def profile_generated(options: ProfilingOptions, progress: Callable[[ProgramProfiled], None]) -> ProfilingResult:
    """Profiles what is not in the database yet until the budget is spent. Raises OptdbError, PerfembedError."""
    began = time.monotonic()
    result = ProfilingResult()
    done = finished_runs(options.database)
    waiting = [n for n in range(options.first, options.first + options.count) if _run_id(options, n) not in done]
    waiting.reverse()
    with tempfile.TemporaryDirectory(prefix="perfembed-") as folder:
        share = Path(folder) / "share.lock"
        with machine_lock(Path(tempfile.gettempdir()) / "perfembed-measurement.lock"):
            pool = ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"), initializer=_ignore_interrupts)
            running: set[Future[ProgramProfiled]] = set()
            try:
                while waiting or running:
                    late = time.monotonic() - began > options.budget_s
                    while waiting and not late and len(running) < 2 * options.jobs:
                        running.add(pool.submit(_profile_program, options, waiting.pop(), share))
                    if not running:
                        break
                    finished, running = wait(running, return_when=FIRST_COMPLETED)
                    for one in finished:
                        told = one.result()
                        result.programs += 1
                        result.profiles += told.profiles
                        result.failed += len(told.problems)
                        progress(told)
                        if result.programs % _SETTLE_EVERY == 0:
                            settle(options.database)
            except KeyboardInterrupt:
                result.interrupted = True
            finally:
                pool.shutdown(cancel_futures=True)
    settle(options.database)
    result.seconds = time.monotonic() - began
    return result


def _ignore_interrupts() -> None:
    """Ctrl-C is for the process that started these; they finish what they do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_id(options: ProfilingOptions, number: int) -> str:
    machine = describe_machine().fingerprint
    version = compiler_version(options.cc, dict(options.environment))
    return digest(
        "profile", options.seed, number, repr(options.settings), options.cc, version, options.cflags, options.threads,
        machine,
    )  # fmt: skip


def _profile_program(options: ProfilingOptions, number: int, lock: Path) -> ProgramProfiled:
    share = MachineShare(lock)
    try:
        with share.computing(), tempfile.TemporaryDirectory(prefix="perfembed-") as folder:
            return _Profiling(options, number, share, Path(folder)).run()
    except (PerfembedError, SchedulerError, OptdbError) as problem:
        return ProgramProfiled(number, 0, (str(problem),))
    finally:
        share.close()


class _Profiling:
    """One program."""

    def __init__(self, options: ProfilingOptions, number: int, share: MachineShare, scratch: Path) -> None:
        self.options, self.number, self.scratch = options, number, scratch
        self.backend = SimulatedBackend(alone=share.alone)
        self.machine = describe_machine()
        self.compiler = CompilerConfig(options.cc, (*options.cflags, "-fopenmp"))
        self.asked = TuneOptions(
            cc=options.cc, cflags=options.cflags, threads=options.threads, environment=options.environment
        )

    def run(self) -> ProgramProfiled:
        options = self.options
        run = RunRecord(
            _run_id(options, self.number), options.seed, "profile", 0.0, installed_versions(), "profile", time.time()
        )
        store = Store(options.database, run, self.machine)
        store.begin()
        problems: list[str] = []
        profiles = 0
        try:
            program = generate(options.seed, self.number, options.settings)
            text = program.source
            place = f"seed {options.seed} number {self.number}"
            source = SourceRecord.of(text, "generated", place, "+".join(program.patterns))
            store.append([source])
            parsed = parse(f"{program.name}.c", text.encode(), self.asked)
            for nest in parsed.nests:
                if nest.function != program.function:
                    continue
                problem = self._nest(nest, dict(program.sizes), source.source_id, store)
                problems += [f"{nest.name}: {problem}"] * bool(problem)
                profiles += not problem
        except (NothingFits, PerfembedError, SchedulerError) as problem:
            problems.append(str(problem))
        store.end(time.time())
        return ProgramProfiled(self.number, profiles, tuple(problems))

    def _nest(self, nest: LoopNest, sizes: dict[str, int], source_id: str, store: Store) -> str:
        """Why there is no profile; empty where there is one."""
        options = self.options
        wanted = {p.name: sizes[p.name] for p in nest.parameters if p.value is None and p.name in sizes}
        captured = synthesize(nest, wanted, self.number, self.scratch / nest.name)
        if isinstance(captured, CaptureFailed):
            return captured.reason
        inputs = NestInputs(nest, captured, None, None)
        request = canonical_request(inputs, self.asked, self.compiler, self.machine, self.scratch / "build")
        if isinstance(request, str):
            return request
        profile = self.backend.profile(request[1])
        if isinstance(profile, ProfileFailed):
            return profile.reason
        version = compiler_version(options.cc, dict(options.environment))
        conditions = conditions_record(
            self.machine, options.cc, version, self.compiler.flags, options.threads, nest, captured.parameters, False
        )
        record = nest_record(nest, source_id, Replayer(canonical_nest(nest).nest))
        found = ProfileRecord(record.nest_id, conditions.conditions_id, profile.source, profile.to_json())
        store.append([record, conditions, found])
        return ""
