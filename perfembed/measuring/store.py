"""What measuring leaves in the optimization database: runs, and the records of nests and conditions."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from optdb.codec import encode, object_text
from optdb.database import Database
from optdb.errors import OptdbError
from optdb.ingest import IngestReport, ingest
from optdb.records import (
    ConditionsRecord,
    MachineRecord,
    NestRecord,
    Record,
    RunRecord,
    sizes_text,
)
from optdb.spool import SpoolWriter, spool_directory
from profilers.machine import Machine
from scheduler.codegen.emit.original import emit_original
from scheduler.identity import canonical_nest, canonical_text, normalized_id
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import nest_id
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import loops, placed_statements, uses
from scheduler.replay import Replayer

_PACKAGES = ("perfembed", "islpy", "numpy", "duckdb")


class Store:
    """One run's way into a database: records go to its spool at once, and into the database with `settle`."""

    def __init__(self, path: Path, run: RunRecord, machine: Machine, tolerant: bool = False) -> None:
        """Makes the spool's folder. Raises OptdbError.

        A `tolerant` one keeps nothing more after something could not be written, and says why in `problem`.
        """
        self.path = path
        self.problem = ""
        self.tolerant = tolerant
        self.run = run
        self.machine = machine
        self.writer = SpoolWriter(spool_directory(path))

    def begin(self) -> None:
        """Stores that the run has begun."""
        self.append([MachineRecord.of(self.machine), self.run])

    def end(self, ended_at: float) -> None:
        """Stores that the run is complete."""
        self.append([replace(self.run, ended_at=ended_at)])
        self.writer.close()

    def append(self, records: Sequence[Record]) -> None:
        """Returns when they are on the disk. Raises OptdbError."""
        if self.problem:
            return
        try:
            self.writer.append(records)
        except OptdbError as problem:
            if not self.tolerant:
                raise
            self.problem = str(problem)


def settle(path: Path, *, wait_s: float = 10.0) -> IngestReport:
    """Moves what waits in the spool into the database. Raises OptdbError; what waits then stays where it is."""
    with Database.open(path, wait_s=wait_s) as database:
        return ingest(database, spool_directory(path))


def finished_runs(path: Path) -> frozenset[str]:
    """The ids of all runs that have ended. Raises OptdbError."""
    if not path.exists():
        return frozenset()
    with Database.open(path, read_only=True) as database:
        return frozenset(row[0] for row in database.rows("SELECT run_id FROM runs WHERE ended IS NOT NULL"))


def nest_record(nest: LoopNest, source_id: str, canonical: Replayer) -> NestRecord:
    """The record of a nest; `canonical` replays its canonical form. Raises TextError, RecordError."""
    return NestRecord(
        nest_id=nest_id(nest),
        normalized_id=normalized_id(canonical),
        source_id=source_id,
        name=nest.name,
        function=nest.function,
        text=canonical_text(nest),
        c_text=emit_original(nest),
        features=encode(_features(nest)),
    )


def conditions_record(
    machine: Machine,
    compiler: str,
    compiler_version: str,
    flags: tuple[str, ...],
    threads: int,
    nest: LoopNest,
    parameters: Mapping[str, int],
    reassociated: bool,
) -> ConditionsRecord:
    """The conditions a nest is measured under; sizes under canonical names."""
    known = {p.name: p.value for p in nest.parameters if p.value is not None} | dict(parameters)
    names = canonical_nest(nest).names
    sizes = {names["P", name]: value for name, value in known.items() if ("P", name) in names}
    return ConditionsRecord(
        machine.fingerprint,
        compiler,
        compiler_version,
        flags,
        threads,
        sizes_text(sizes),
        element_type(nest),
        reassociated,
    )


def element_type(nest: LoopNest) -> str:
    """The type that decides how wide vectors are: the widest floating one of any array, else the widest."""
    types = [t for array in nest.arrays if (t := scalar_type(array.ctype)) is not None]
    return max(types, key=lambda t: (t.kind == "floating", t.bits)).name if types else "int"


def _features(nest: LoopNest) -> dict[str, object]:
    placed = tuple(placed_statements(nest))
    accesses = [use for statement in placed for use in uses(statement)]
    found = {
        "accesses": len(accesses),
        "affine": all(use.access.is_affine for use in accesses) and not any(s.is_opaque for s in loops(nest)),
        "arrays": sum(not array.is_scalar for array in nest.arrays),
        "depth": max((len(statement.loops) for statement in placed), default=0),
        "element_type": element_type(nest),
        "loops": sum(1 for _ in loops(nest)),
        "statements": len(placed),
    }
    return dict(sorted(found.items()))


def installed_versions() -> str:
    """What a run depends on, as `RunRecord` wants it."""
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return object_text(found)
