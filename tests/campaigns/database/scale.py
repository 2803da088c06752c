"""How large, how fast: made-up nests and measurements through the spool, then the questions users ask, then a merge."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optdb import queries
from optdb.database import Database
from optdb.exchange import merge
from optdb.ingest import ingest
from optdb.maintenance import compact
from optdb.records import Record
from optdb.spool import SpoolWriter, spool_directory
from tests.campaigns.database.apart import apart
from tests.campaigns.database.synthetic import stream

_APPEND = 1000  # records an fsync
_SPOOLED = 500_000  # records between two ingestions
_REPEATS = 5


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """Bytes, records a second, and seconds. Query times are medians, on an open database."""

    nests: int
    measurements: int
    records: int
    bytes: int
    compacted_bytes: int
    append_per_s: float
    ingest_per_s: float
    open_s: float
    best_of_nest_s: float
    top_100_s: float
    resume_s: float
    merged_records: int
    merge_per_s: float
    compact_s: float


def scale(nests: int, measurements: int, folder: Path | None = None, merged_nests: int | None = None) -> ScaleResult:
    """`measurements` in all, spread over `nests`; then merges one of `merged_nests` others (default: as many)."""
    return apart(_scale, nests, measurements, folder, nests if merged_nests is None else merged_nests)


def _scale(nests: int, measurements: int, folder: Path | None, merged_nests: int) -> ScaleResult:
    each = max(1, measurements // nests)
    with tempfile.TemporaryDirectory(prefix="scale-", dir=folder, ignore_cleanup_errors=True) as directory:
        path, other = Path(directory) / "db.duckdb", Path(directory) / "other.duckdb"
        records, append_s, ingest_s = _fill(path, nests, each, 0)
        size = path.stat().st_size
        open_s, _ = _timed(lambda: Database.open(path, read_only=True).close())
        with Database.open(path, read_only=True) as database:
            some = database.rows("SELECT nest_id, conditions_id FROM _store.measurements USING SAMPLE 20 ROWS")
            asked = iter(some * 2)
            best_s, _ = _timed(lambda: queries.best_schedules(database, nest_id=next(asked)[0]))
            resume_s, _ = _timed(lambda: queries.measured(database, *next(asked)))
            top_s, top = _timed(lambda: queries.best_schedules(database, limit=100))
            assert len(top) == min(100, nests)
        _fill(other, merged_nests, each, nests)
        begun = time.perf_counter()
        with Database.open(path) as database:
            report = merge(database, other)
        merge_s = time.perf_counter() - begun
        merged = sum(count for _, count in report.stored)
        begun = time.perf_counter()
        after = compact(path).after
        compact_s = time.perf_counter() - begun
        return ScaleResult(
            nests,
            nests * each,
            records,
            size,
            after,
            records / append_s,
            records / ingest_s,
            open_s,
            best_s,
            top_s,
            resume_s,
            merged,
            merged / merge_s,
            compact_s,
        )


def _fill(path: Path, nests: int, each: int, first: int) -> tuple[int, float, float]:
    """Records, seconds of appending, seconds of ingesting (opening and closing the database included)."""
    spool = spool_directory(path)
    total, waiting, append_s, ingest_s = 0, 0, 0.0, 0.0
    writer = SpoolWriter(spool)
    batch: list[Record] = []

    def flush() -> None:
        nonlocal append_s, batch
        begun = time.perf_counter()
        writer.append(batch)
        append_s += time.perf_counter() - begun
        batch = []

    def store() -> None:
        nonlocal ingest_s, waiting
        writer.close()
        begun = time.perf_counter()
        with Database.open(path) as database:
            ingest(database, spool)
        ingest_s += time.perf_counter() - begun
        waiting = 0

    for record in stream(nests, each, first):
        batch.append(record)
        total += 1
        waiting += 1
        if len(batch) == _APPEND:
            flush()
        if waiting >= _SPOOLED:
            flush()
            store()
    flush()
    store()
    return total, append_s, ingest_s


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    times, result = [], None
    for _ in range(_REPEATS):
        begun = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - begun)
    return sorted(times)[_REPEATS // 2], result
