"""Many writers at once, one ingester, one reader: everything arrives, once, and nobody sees an error."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optdb.check import check
from optdb.database import Database
from optdb.errors import Locked
from optdb.ingest import ingest
from optdb.spool import SpoolWriter, spool_directory
from tests.campaigns.database.apart import Forked, Tell, apart
from tests.campaigns.database.synthetic import MACHINE, measurement, nest

_BATCH = 5


@dataclass(frozen=True, slots=True)
class WritersResult:
    """`write_s`: until the last writer was done; `reads`: queries answered meanwhile; `refusals`: readers' timeouts;
    `longest_wait_s`: from wanting to read to the answer."""

    processes: int
    records: int
    expected: int
    stored: int
    write_s: float
    ingest_s: float
    reads: int
    refusals: int
    failures: tuple[str, ...]
    longest_wait_s: float = 0.0

    @property
    def passed(self) -> bool:
        """All there, each once, no error."""
        return not self.failures and self.stored == self.expected

    @property
    def acknowledged_per_s(self) -> float:
        """Measurements a second on the disk, while others read and ingest."""
        return self.expected / self.write_s


def writers(processes: int, records: int, folder: Path | None = None) -> WritersResult:
    """`processes` writers of `records` measurements each (and their schedules), five an fsync."""
    return apart(_writers, processes, records, folder)


def _writers(processes: int, records: int, folder: Path | None) -> WritersResult:
    import duckdb  # noqa: F401  before forking, not in every child

    with tempfile.TemporaryDirectory(prefix="writers-", dir=folder, ignore_cleanup_errors=True) as directory:
        path = Path(directory) / "db.duckdb"
        spool, stop = spool_directory(path), Path(directory) / "stop"
        Forked(lambda tell: Database.open(path).close()).wait()
        reader, ingester = Forked(lambda tell: _read(path, stop, tell)), Forked(lambda tell: _ingest(path, spool, stop))
        begun = time.monotonic()
        running = [Forked(lambda tell, n=number: _write(spool, n, records)) for number in range(processes)]  # type: ignore[misc]
        ended = [writer.wait() for writer in running]
        write_s = time.monotonic() - begun
        stop.touch()
        others = [ingester.wait(), reader.wait()]
        ingest_s = time.monotonic() - begun
        failures = [f"{' '.join(e.told)[:300]} (signal {e.signal})" for e in [*ended, *others] if not e.well]
        nothing: dict[str, Any] = dict.fromkeys(("reads", "refusals", "longest_s", "stored", "left"), 0)
        nothing |= {"problem": "", "findings": []}
        told = json.loads(others[1].told[-1]) if others[1].well else nothing
        if told["problem"]:
            failures.append(told["problem"])
        last = Forked(lambda tell: _count(path, spool, tell)).wait()
        if not last.well:
            failures.append(" ".join(last.told)[:300])
        found = json.loads(last.told[-1]) if last.well else nothing
        failures += found["findings"]
        if found["left"]:
            failures.append(f"{found['left']} files are left in the spool")
        return WritersResult(
            processes,
            records,
            processes * records,
            found["stored"],
            write_s,
            ingest_s,
            told["reads"],
            told["refusals"],
            tuple(failures),
            told["longest_s"],
        )


def _write(spool: Path, number: int, records: int) -> None:
    base = nest(number)
    with SpoolWriter(spool) as writer:
        writer.append([MACHINE, *base])
        for start in range(0, records, _BATCH):
            pairs = (measurement(base[1], base[2], base[3], i) for i in range(start, min(start + _BATCH, records)))
            writer.append([record for pair in pairs for record in pair])


def _ingest(path: Path, spool: Path, stop: Path) -> None:
    """Until told to stop, and from then on until nothing is left."""
    while True:
        last = stop.exists()
        with Database.open(path, wait_s=60.0) as database:
            report = ingest(database, spool)
        if last and report.complete:
            return
        time.sleep(0.1)


def _read(path: Path, stop: Path, tell: Tell) -> None:
    """Counts again and again, once at least; what was there once must stay."""
    reads = refusals = seen = 0
    longest_s, problem = 0.0, ""
    while not (reads and stop.exists()):
        begun = time.monotonic()
        try:
            with Database.open(path, read_only=True, wait_s=60.0) as database:
                found = database.value("SELECT count(*) FROM measurements")
        except Locked:
            refusals += 1
            continue
        longest_s = max(longest_s, time.monotonic() - begun)
        if found < seen:
            problem = f"a reader saw {seen} measurements, and later {found}"
        seen = found
        reads += 1
        time.sleep(0.02)
    tell(json.dumps({"reads": reads, "refusals": refusals, "longest_s": longest_s, "problem": problem}))


def _count(path: Path, spool: Path, tell: Tell) -> None:
    with Database.open(path) as database:
        ingest(database, spool)
        stored = database.value("SELECT count(DISTINCT (nest_id, evaluation)) FROM _store.measurements")
        every = database.value("SELECT count(*) FROM _store.measurements")
        findings = [f"{f.table}: {f.problem}" for f in check(database).findings]
        if every != stored:
            findings.append(f"{every - stored} measurements are there twice")
        if problems := database.rows("SELECT reason FROM ingest_problems"):
            findings.append(f"{len(problems)} problems: {problems[0][0]}")
    tell(json.dumps({"stored": stored, "left": len(list(spool.iterdir())), "findings": findings}))
