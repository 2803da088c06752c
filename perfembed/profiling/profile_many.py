"""Profiles of many nests, for training and tests: several processes, the timing alone, resumable.

A nest runs in its canonical schedule on made-up inputs (`perfembed.capture.synthesize`): no program is built or run.
Nests come from the generator, from donors, or from files, which are taken at several sizes and, where they compute in
double, in float.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from optdb.codec import digest
from optdb.errors import OptdbError
from optdb.records import ProfileRecord, RunRecord, SourceRecord
from perfembed.capture import CaptureFailed, synthesize
from perfembed.errors import PerfembedError
from perfembed.files import read_input
from perfembed.learning.training_data import is_generated
from perfembed.measuring.store import Store, conditions_record, finished_runs, installed_versions, nest_record, settle
from perfembed.populating.programs import place_of
from perfembed.profiling.profile_file import canonical_request
from perfembed.retrieval.donors import StoredDonor
from perfembed.tuning.inputs import NestInputs
from perfembed.tuning.result import TuneOptions
from perfembed.tuning.source import parse
from profilers.backend import ProfileFailed
from profilers.build import CompilerConfig, compiler_version
from profilers.lock import machine_lock
from profilers.machine import describe_machine
from profilers.scratch import scratch_folder
from profilers.share import MachineShare
from profilers.simulated.backend import SimulatedBackend
from scheduler.errors import SchedulerError
from scheduler.generator.programs import GeneratorSettings, NothingFits, generate
from scheduler.identity import canonical_nest
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import nest_id, parse_nest
from scheduler.replay import Replayer

# One pattern a program: nests that stand side by side teach nothing new. Short ones, for there must be thousands.
SETTINGS = GeneratorSettings(least_work=3e5, most_work=3e7, nests=1)
_SETTLE_EVERY = 100  # programs


@dataclass(frozen=True, slots=True)
class ProfilingOptions:
    """The first `count` programs of the generator with that seed; or of every file, `count` variants; or all donors."""

    database: Path
    seed: int
    count: int
    jobs: int
    threads: int
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    environment: tuple[tuple[str, str], ...] = ()
    budget_s: float = 3600.0
    settings: GeneratorSettings = SETTINGS
    files: tuple[str, ...] = ()
    donors: tuple[StoredDonor, ...] = ()

    @property
    def total(self) -> int:
        return len(self.donors) or self.count * max(1, len(self.files))


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

    name: str
    profiles: int
    problems: tuple[str, ...]


def profile_nests(
    options: ProfilingOptions, progress: Callable[[ProgramProfiled], None], tell: Callable[[str], None]
) -> ProfilingResult:
    """Profiles what is not in the database yet until the budget is spent. Raises OptdbError, PerfembedError.

    `tell` hears whom it waits for.
    """
    began = time.monotonic()
    result = ProfilingResult()
    done = finished_runs(options.database)
    waiting = [n for n in range(options.total) if _run_id(options, n) not in done]
    waiting.reverse()
    with scratch_folder() as folder:
        share = folder / "share.lock"
        with machine_lock(dict(options.environment), tell):
            pool = ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"), initializer=_ignore_interrupts)
            running: set[Future[ProgramProfiled]] = set()
            try:
                while waiting or running:
                    late = time.monotonic() - began > options.budget_s
                    while waiting and not late and len(running) < 2 * options.jobs:
                        running.add(pool.submit(_profile_program, *_only(options, waiting.pop()), share))
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


@dataclass(frozen=True, slots=True)
class Subject:
    """A program to profile nests of. `function` None: of all functions; `sizes`: of parameters, by name."""

    source: SourceRecord
    name: str
    path: str
    text: str
    flags: tuple[str, ...]
    function: str | None
    sizes: Mapping[str, int]


_LARGEST = 0.6  # of the way from a file's small to its large sizes, in powers: thousands have to run
_SIZE = re.compile(r"#define\s+(\w+)\s+SIZE\(\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*\d+\s*)?\)")
_BRANCHES = re.compile(
    r"#ifdef\s+SMALL\s*\n((?:(?!#e)[^\0])*)(?:#elif(?:(?!#e)[^\0])*)?#else\s*\n((?:(?!#endif)[^\0])*?)#endif"
)
_DEFINE = re.compile(r"#define\s+(\w+)\s+(\d+)\s*$", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*#\s*include\b")


def _subject(options: ProfilingOptions, number: int) -> Subject:
    """Raises NothingFits, PerfembedError."""
    if options.files:
        return variant(options.files[number // options.count], number % options.count, options.seed)
    program = generate(options.seed, number, options.settings)
    place = place_of(options.seed, number, options.settings)
    source = SourceRecord.of(program.source, "generated", place, "+".join(program.patterns))
    return Subject(source, program.name, f"{program.name}.c", program.source, (), program.function, dict(program.sizes))


def variant(path: str, number: int, seed: int) -> Subject:
    """A file with other sizes, and every other time in float where it says double. Raises PerfembedError.

    Sizes are macros with a small and a large value (`_sizes`), which `-D` overrides; they are drawn between the two.
    """
    text = read_input(path).decode(errors="surrogateescape")
    name = Path(path).stem
    rng = random.Random(f"{seed} {name} {number}")
    share = rng.random() * _LARGEST  # one for all, so that the shape stays about the same
    flags = []
    for macro, low, high in _sizes(text):
        small, large = sorted((int(low), int(high)))
        value = small * (large / small) ** min(1.0, max(0.0, share + rng.uniform(-0.15, 0.15))) if small else large
        flags.append(f"-D{macro}={max(1, round(value))}")
    if number % 2:
        lines = text.splitlines(keepends=True)
        text = "".join(x if _INCLUDE.match(x) else re.sub(r"\bdouble\b", "float", x) for x in lines)
    source = SourceRecord.of(text, "file", f"{path} {' '.join(flags)}", name)
    return Subject(source, f"{name} {number}", path, text, tuple(flags), None, {})


def _sizes(text: str) -> list[tuple[str, str, str]]:
    """(macro, small, large) of `#define N SIZE(small, large)`, or defined so and so below `#ifdef SMALL`."""
    found = _SIZE.findall(text)
    for small, large in _BRANCHES.findall(text):
        least = dict(_DEFINE.findall(small))
        found += [(macro, least[macro], value) for macro, value in _DEFINE.findall(large) if macro in least]
    return found


def _only(options: ProfilingOptions, number: int) -> tuple[ProfilingOptions, int]:
    """What another process has to know of it."""
    return (replace(options, donors=options.donors[number : number + 1]), 0) if options.donors else (options, number)


def _run_id(options: ProfilingOptions, number: int) -> str:
    machine = describe_machine().fingerprint
    version = compiler_version(options.cc, dict(options.environment))
    what: tuple[object, ...] = (number, repr(options.settings))
    if options.donors:
        what = ("donor", options.donors[number].nest_id, sorted(options.donors[number].sizes.items()))
    elif options.files:
        what = (Path(options.files[number // options.count]).name, number % options.count)
    return digest("profile", options.seed, *what, options.cc, version, options.cflags, options.threads, machine)


def _profile_program(options: ProfilingOptions, number: int, lock: Path) -> ProgramProfiled:
    share = MachineShare(lock)
    try:
        with share.computing(), scratch_folder() as folder:
            return _Profiling(options, number, share, folder).run()
    except (PerfembedError, SchedulerError, OptdbError) as problem:
        return ProgramProfiled(str(number), 0, (str(problem),))
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
        name = str(self.number)
        try:
            name, source, found = self._donor() if options.donors else self._program()
            store.append([source])
            for nest, sizes in found:
                problem = self._nest(nest, sizes, source.source_id, store)
                problems += [f"{nest.name}: {problem}"] * bool(problem)
                profiles += not problem
        except (NothingFits, PerfembedError, SchedulerError) as problem:
            problems.append(str(problem))
        store.end(time.time())
        return ProgramProfiled(name, profiles, tuple(problems))

    def _donor(self) -> tuple[str, SourceRecord, list[tuple[LoopNest, Mapping[str, int]]]]:
        donor = self.options.donors[self.number]
        origin = "generated" if is_generated(donor.algorithm) else "file"
        source = SourceRecord.of(donor.text, origin, donor.place, donor.algorithm)
        return donor.name, source, [(parse_nest(donor.text), donor.sizes)]

    def _program(self) -> tuple[str, SourceRecord, list[tuple[LoopNest, Mapping[str, int]]]]:
        """Its name, its text, and each different nest once, with its sizes."""
        subject = _subject(self.options, self.number)
        asked = replace(self.asked, cflags=(*self.options.cflags, *subject.flags))
        parsed = parse(subject.path, subject.text.encode(errors="surrogateescape"), asked)
        different = {nest_id(n): n for n in reversed(parsed.nests) if subject.function in (None, n.function)}
        return subject.name, subject.source, [(n, self._sizes(n, subject.sizes)) for n in reversed(different.values())]

    def _sizes(self, nest: LoopNest, sizes: Mapping[str, int]) -> dict[str, int]:
        """Of the parameters; those of files, which nobody gives, are drawn."""
        free = [p.name for p in nest.parameters if p.value is None]
        if not self.options.files:
            return {name: sizes[name] for name in free if name in sizes}
        rng = random.Random(f"{self.options.seed} {self.number} {nest.name}")
        low, high = (100, 800) if len(free) > 1 else (1_000, 100_000)
        return {name: round(low * (high / low) ** rng.random()) for name in free}

    def _nest(self, nest: LoopNest, sizes: Mapping[str, int], source_id: str, store: Store) -> str:
        """Why there is no profile; empty where there is one."""
        options = self.options
        captured = synthesize(nest, sizes, self.number, self.scratch / nest.name)
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
