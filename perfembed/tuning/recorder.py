"""What `tune` leaves in the database, so that the next tune knows it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from optdb.database import Database
from optdb.errors import Damaged, NewerSchema, NotADatabase, OptdbError
from optdb.records import RunRecord, SourceRecord
from perfembed.errors import DatabaseProblem
from perfembed.measuring.database_ledger import DatabaseLedger, Origin
from perfembed.measuring.ledger import Ledger, NoLedger
from perfembed.measuring.measurer import Conditions
from perfembed.measuring.store import Store, conditions_record, installed_versions, settle
from perfembed.tuning.options import TuneOptions
from profilers.machine import Machine
from scheduler.errors import SchedulerError
from scheduler.frontend import SourceFile
from scheduler.ir.nest import LoopNest

_UNUSABLE = (Damaged, NewerSchema, NotADatabase)
_WITHOUT = "--no-db tunes without one, --db PATH with another"
_WAIT_S = 1.0  # for others that have the database open: what is not ingested now is so by the next command


class Recorder:
    """One run of `tune`. `problem` says why nothing is kept; `unusable`: the database will not be right by itself."""

    def __init__(self, options: TuneOptions, sources: Sequence[SourceFile], machine: Machine) -> None:
        """`options.database` is set; its folder is made. Raises DatabaseProblem where it is damaged, or none."""
        assert options.database is not None
        self.problem = ""
        self.unusable = False
        self._options, self._machine = options, machine
        self._sources = {
            source.path: SourceRecord.of(
                source.content.decode(errors="surrogateescape"), "file", source.path, Path(source.path).stem
            )
            for source in sources
        }
        self._path = Path(options.database)
        self._check()
        now = time.time()
        run = RunRecord(
            uuid.uuid4().hex, options.seed, options.search, options.budget_s, installed_versions(), "tune", now
        )
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._store = Store(self._path, run, machine, tolerant=True)
            self._store.begin()
            self._store.append(list(self._sources.values()))
        except (OptdbError, OSError) as problem:
            self.problem = str(problem)
        else:
            self.problem = self._store.problem

    def ledger(
        self, path: str, nest: LoopNest, parameters: Mapping[str, int], measured: Conditions, version: str
    ) -> Ledger:
        """Where the measurements of one nest of a file go; what is known to be best for it is tried first."""
        try:
            conditions = conditions_record(
                self._machine,
                measured.compiler.cc,
                version,
                measured.compiler.flags,
                measured.threads,
                nest,
                parameters,
                bool(measured.allowed.reassociate),
            )
        except (OptdbError, SchedulerError):  # a nest the text form cannot hold
            return NoLedger()
        return DatabaseLedger(self._store, Origin(nest, self._sources[path].source_id, conditions), resume=False)

    def close(self) -> str:
        """Moves everything into the database; else says why it waits in the spool, or is not kept."""
        try:
            self._store.end(time.time())
            settle(self._path, wait_s=_WAIT_S)
        except OptdbError as problem:
            self.unusable = isinstance(problem, _UNUSABLE)
            return str(problem)
        return self._store.problem

    def _check(self) -> None:
        if not self._path.exists():
            return
        try:
            Database.open(self._path, read_only=True, wait_s=0.0).close()
        except _UNUSABLE as problem:
            raise DatabaseProblem(problem.message, f"{problem.advice}\n{_WITHOUT}".strip()) from None
        except OptdbError:
            return  # in use: what is measured waits for it
