"""`profile`: what each nest of a file does to the machine, run in its canonical schedule on its real inputs."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from optdb.records import ProfileRecord, Record, RunRecord, SourceRecord
from perfembed.errors import NoTunableNest
from perfembed.files import read_input
from perfembed.measuring.canonical_request import canonical_request
from perfembed.measuring.store import Store, conditions_record, installed_versions, nest_record, settle
from perfembed.tuning.inputs import NestInputs, collect_inputs
from perfembed.tuning.openmp import parallel_flags, with_openmp
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import one_file
from perfembed.tuning.result import Event, Message, NestStarted
from perfembed.tuning.source import nothing_tunable, parse, with_inputs_apart
from profilers.backend import Backend, ProfileFailed
from profilers.build import CompilerConfig, compiler_version
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.machine import Machine, describe_machine
from profilers.profile import Profile
from scheduler.errors import SchedulerError
from scheduler.identity import canonical_nest
from scheduler.ir.nest import LoopNest
from scheduler.polyhedral.io_bound import IoBound, io_lower_bound
from scheduler.polyhedral.model import Model, QuotaExceeded
from scheduler.replay import Replayer


@dataclass(frozen=True, slots=True)
class ProfiledNest:
    """One nest; `profile` None where there is none, `reason` says why. `schedule` is the canonical one's text."""

    nest: str
    function: str | None
    line: int
    column: int
    share: float | None
    schedule: str
    profile: Profile | None
    reason: str
    bound: IoBound | None = None  # of the traffic with memory, for a cache as large as the last one

    def metrics(self) -> dict[str, float]:
        """The 20 derived metrics; empty without a profile."""
        least = self.bound.bytes if self.bound is not None else math.nan
        return self.profile.metrics(least) if self.profile is not None else {}


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """The nests in the order of their share of the run time."""

    path: str
    backend: str
    machine: str
    compiler: str
    flags: tuple[str, ...]
    threads: int
    nests: tuple[ProfiledNest, ...]
    seconds: float


def profile_file(
    path: str,
    options: TuneOptions,
    backend: Backend,
    progress: Callable[[Event], None],
    database: Path | None = None,
) -> ProfileResult:
    """Profiles every nest that takes a share of the run time worth the name, and keeps that in a `database`.

    Raises perfembed.errors.PerfembedError with the exit codes of the command line, OptdbError.
    """
    began = time.monotonic()
    content = read_input(path)

    def tell(text: str) -> None:
        progress(Message(text))

    options = with_inputs_apart(options)
    options = replace(options, cflags=with_openmp(path, content, options.cflags, tell))
    source = parse(path, content, options)
    if not source.nests:
        raise NoTunableNest(nothing_tunable((source,)), f"perfembed inspect {path} says why")
    machine = describe_machine()
    flags = parallel_flags(options.cc, options.cflags, options.threads, dict(options.environment), tell)
    compiler = CompilerConfig(options.cc, flags)
    version = compiler_version(options.cc, dict(options.environment))
    nests: list[ProfiledNest] = []
    kept: list[tuple[LoopNest, Profile, ProfiledUnder]] = []
    with scratch_folder(options.workdir) as scratch:
        with machine_lock(dict(options.environment), tell):
            inputs = collect_inputs(one_file(source, options), options, scratch, progress)
            for position, found in enumerate(inputs.found, 1):
                nest = found.nest
                line = nest.span.line if nest.span else 0
                progress(NestStarted(nest.name, nest.function, line, position, len(inputs.found), 0.0))
                nests.append(_profile(found, options, compiler, machine, backend, scratch / "build"))
                if (profile := nests[-1].profile) is not None:
                    under = ProfiledUnder(machine, compiler, version, options.threads, found.captured.parameters)
                    kept.append((nest, profile, under))
        nests += [_described(s.nest, s.share, "", None, s.reason) for s in inputs.skipped]
    if database is not None:
        text = content.decode(errors="surrogateescape")
        store_profiles(database, SourceRecord.of(text, "file", path, Path(path).stem), kept)
    return ProfileResult(
        path=path,
        backend=backend.name,
        machine=f"{machine.cpu_model} ({machine.fingerprint})",
        compiler=version,
        flags=compiler.flags,
        threads=options.threads,
        nests=tuple(nests),
        seconds=time.monotonic() - began,
    )


def _profile(
    inputs: NestInputs,
    options: TuneOptions,
    compiler: CompilerConfig,
    machine: Machine,
    backend: Backend,
    workdir: Path,
) -> ProfiledNest:
    environment = dict(options.environment)
    request = canonical_request(inputs.nest, inputs.captured, options.threads, compiler, machine, workdir, environment)
    if isinstance(request, str):
        return _described(inputs.nest, inputs.share, "", None, request)
    schedule, asked = request
    found = backend.profile(asked)
    if isinstance(found, ProfileFailed):
        return _described(inputs.nest, inputs.share, schedule, None, found.reason)
    bound = io_bound(inputs, machine)
    return replace(_described(inputs.nest, inputs.share, schedule, found, ""), bound=bound)


def io_bound(inputs: NestInputs, machine: Machine) -> IoBound | None:
    """The least traffic with memory of a nest on these inputs; None where that is too hard to count."""
    sizes = [cache.size_bytes for cache in machine.caches]
    try:
        return io_lower_bound(Model(inputs.nest), inputs.captured.parameters, max(sizes, default=1 << 20))
    except QuotaExceeded:
        return None


def _described(
    nest: LoopNest, share: float | None, schedule: str, profile: Profile | None, reason: str
) -> ProfiledNest:
    span = nest.span
    line, column = (span.line, span.column) if span else (0, 0)
    return ProfiledNest(nest.name, nest.function, line, column, share, schedule, profile, reason)


@dataclass(frozen=True, slots=True)
class ProfiledUnder:
    """The conditions of a profile. `parameters`: those of the nest, by their names in it."""

    machine: Machine
    compiler: CompilerConfig
    compiler_version: str
    threads: int
    parameters: Mapping[str, int]


def profile_records(nest: LoopNest, source_id: str, profile: Profile, under: ProfiledUnder) -> list[Record]:
    """The nest, the conditions and the profile. Raises SchedulerError, RecordError."""
    conditions = conditions_record(
        under.machine,
        under.compiler.cc,
        under.compiler_version,
        under.compiler.flags,
        under.threads,
        nest,
        under.parameters,
        False,
    )
    record = nest_record(nest, source_id, Replayer(canonical_nest(nest).nest))
    found = ProfileRecord(record.nest_id, conditions.conditions_id, profile.source, profile.to_json())
    return [record, conditions, found]


def store_profiles(
    database: Path, source: SourceRecord, profiled: Sequence[tuple[LoopNest, Profile, ProfiledUnder]]
) -> int:
    """Keeps the profiles of a file's nests in a database; how many. A nest that has no text form is left out.

    Raises OptdbError.
    """
    database.parent.mkdir(parents=True, exist_ok=True)
    began = time.time()
    run = RunRecord(uuid.uuid4().hex, 0, "profile", 0.0, installed_versions(), "profile", began)
    records: list[Record] = [source]
    count = 0
    for nest, profile, under in profiled:
        try:
            records += profile_records(nest, source.source_id, profile, under)
        except SchedulerError:
            continue
        count += 1
    if count:
        store = Store(database, run, profiled[0][2].machine)
        store.begin()
        store.append(records)
        store.end(time.time())
        settle(database)
    return count
