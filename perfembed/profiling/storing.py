"""Profiles on their way into the optimization database."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from optdb.records import ProfileRecord, Record, RunRecord, SourceRecord
from perfembed.measuring.store import Store, conditions_record, installed_versions, nest_record, settle
from profilers.build import CompilerConfig
from profilers.machine import Machine
from profilers.profile import Profile
from scheduler.errors import SchedulerError
from scheduler.identity import canonical_nest
from scheduler.ir.nest import LoopNest
from scheduler.replay import Replayer


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
