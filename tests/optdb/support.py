"""Records for tests: real nests, conditions and measurements, all consistent."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from optdb.database import Database
from optdb.exchange import ExchangeReport, import_jsonl
from optdb.records import MeasurementRecord, Record, format_record
from tests.campaigns.database.synthetic import MACHINE, measurement, nest, stream

__all__ = ["BASE", "MACHINE", "dump", "empty", "filled", "measurement", "one", "replace", "store", "stream"]

BASE = nest(0)  # source, nest, conditions, run
TABLES = (
    "machines",
    "sources",
    "nests",
    "occurrences",
    "conditions",
    "schedules",
    "runs",
    "measurements",
    "best",
    "profiles",
    "embeddings",
)


def store(database: Database, *records: Record) -> ExchangeReport:
    """Puts records into a database by way of a file of JSON lines."""
    path = database.path.with_name("records.jsonl")
    path.write_text("".join(f'{{"kind":"{r.KIND}","record":{format_record(r)}}}\n' for r in records))
    return import_jsonl(database, path)


def empty(path: Path) -> Database:
    """The database at `path`, open for writing; a new one is a copy, which is quicker than to make it."""
    if not path.exists():
        path.write_bytes(_nothing())
    return Database.open(path)


@cache
def _nothing() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        Database.open(path).close()
        return path.read_bytes()


def filled(path: Path, nests: int = 3, measurements: int = 5) -> Database:
    """A new database, open for writing, with the records of `stream`."""
    path.write_bytes(_content(nests, measurements))
    return Database.open(path)


@cache
def _content(nests: int, measurements: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with Database.open(path) as database:
            assert store(database, *stream(nests, measurements)).refused == 0
        return path.read_bytes()


def dump(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables of records, sorted by their ids."""
    return {table: database.rows(f"FROM _store.{table} ORDER BY ALL") for table in TABLES}


def one(number: int = 0, **changes: Any) -> MeasurementRecord:
    """A measurement of the nest in BASE."""
    _, found, conditions, run = BASE
    return replace(measurement(found, conditions, run, number)[1], **changes)
