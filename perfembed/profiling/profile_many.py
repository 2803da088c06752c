"""Profiles of many nests, for training and tests: several processes, the timing alone, resumable.

A nest runs in its canonical schedule on made-up inputs (`perfembed.capture.synthesize`): no program is built or run.
Nests come from the generator, from donors, or from files, which are taken at several sizes and, where they compute in
double, in float.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from optdb.codec import digest
from optdb.errors import OptdbError
from optdb.records import RunRecord, SourceRecord
from perfembed.capture import CaptureFailed, synthesize
from perfembed.errors import PerfembedError
from perfembed.learning.training_data import is_generated
from perfembed.measuring.canonical_request import canonical_request
from perfembed.measuring.store import Store, finished_runs, installed_versions, settle
from perfembed.profiling.profile_file import ProfiledUnder, profile_records
from perfembed.profiling.subjects import ProfilingOptions, only_of, subject_of
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.source import parse
from profilers.backend import ProfileFailed
from profilers.backends import choose
from profilers.build import CompilerConfig, compiler_version
from profilers.contained.errors import ProfilersError
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.machine import describe_machine
from profilers.simulated.backend import SimulatedBackend
from scheduler.errors import SchedulerError
from scheduler.generator.programs import NothingFits
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import nest_id, parse_nest


class MachineShare:
    """One process's share. Between `computing` and its end it computes; inside that, `alone` waits for the others.

    Nobody computes while somebody is alone. Not for threads; a forked child needs one of its own.
    """

    def __init__(self, path: Path) -> None:
        """Raises ProfilersError where the lock file cannot be made."""
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as problem:
            raise ProfilersError(f"cannot lock {path}: {problem.strerror}") from None

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """Waits until nobody is alone."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until the others rest: at their end, or at their own `alone`."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # gives the shared lock up first: two that wait do not block
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def close(self) -> None:
        """Lets go of the lock file."""
        os.close(self._descriptor)


_SIMULATED = "simulated"
_SETTLE_EVERY = 100  # programs


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
                        running.add(pool.submit(_profile_program, *only_of(options, waiting.pop()), share))
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
    what: tuple[object, ...] = (number, repr(options.settings))
    if options.donors:
        what = ("donor", options.donors[number].nest_id, sorted(options.donors[number].sizes.items()))
    elif options.files:
        what = (Path(options.files[number // options.count]).name, number % options.count)
    if options.backend != _SIMULATED:
        what = (*what, options.backend)
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
        self.environment = dict(options.environment)
        self.alone = share.alone
        simulates = options.backend == _SIMULATED
        self.backend = SimulatedBackend(alone=share.alone) if simulates else choose(options.backend, self.environment)
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
        subject = subject_of(self.options, self.number)
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
        threads, folder = options.threads, self.scratch / "build"
        request = canonical_request(nest, captured, threads, self.compiler, self.machine, folder, self.environment)
        if isinstance(request, str):
            return request
        # The simulation computes beside others, but for what it times; who counts has the machine alone.
        with nullcontext() if self.backend.name == _SIMULATED else self.alone():
            profile = self.backend.profile(request[1])
        if isinstance(profile, ProfileFailed):
            return profile.reason
        version = compiler_version(options.cc, self.environment)
        ran = ProfiledUnder(self.machine, self.compiler, version, threads, captured.parameters)
        store.append(profile_records(nest, source_id, profile, ran))
        return ""
