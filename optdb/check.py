"""Whether a database is consistent: every block readable, every id what its text gives, every reference answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optdb.best import different
from optdb.codec import columns, from_document
from optdb.database import Database
from optdb.errors import OptdbError, RecordError
from optdb.records import RECORDS
from optdb.tables import TABLES
from scheduler.errors import SchedulerError
from scheduler.ir.text import nest_id, parse_nest

_EXAMPLES = 5
_BATCH = 10_000
_REFERENCES = (
    ("_store.occurrences", "nest_id", "_store.nests", "nest_id"),
    ("_store.occurrences", "source_id", "_store.sources", "source_id"),
    ("_store.conditions", "machine", "_store.machines", "machine"),
    ("_store.schedules", "nest_id", "_store.nests", "nest_id"),
    ("_store.measurements", "schedule_id", "_store.schedules", "schedule_id"),
    ("_store.measurements", "nest_id", "_store.nests", "nest_id"),
    ("_store.measurements", "conditions_id", "_store.conditions", "conditions_id"),
    ("_store.measurements", "run_id", "_store.runs", "run_id"),
    ("_store.profiles", "nest_id", "_store.nests", "nest_id"),
    ("_store.profiles", "conditions_id", "_store.conditions", "conditions_id"),
    ("_store.embeddings", "nest_id", "_store.nests", "nest_id"),
    ("_store.embeddings", "profile_id", "_store.profiles", "profile_id"),
)
_DERIVED = """
    SELECT measurement_id FROM _store.measurements
    WHERE min_s IS DISTINCT FROM list_min(samples) OR median_s IS DISTINCT FROM list_median(samples)
       OR baseline_min_s IS DISTINCT FROM list_min(baseline)
"""
_FOREIGN = """
    SELECT measurement_id FROM _store.measurements m JOIN _store.schedules s USING (schedule_id)
    WHERE m.nest_id <> s.nest_id
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of inconsistency: where, what, how often, and the first ids."""

    table: str
    problem: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Rows read in each table, and what is wrong. `problems` counts what ingestion had to leave out."""

    rows: tuple[tuple[str, int], ...]
    findings: tuple[Finding, ...]
    problems: int

    @property
    def consistent(self) -> bool:
        """Nothing was found; records that never arrived whole do not count here."""
        return not self.findings


def check(database: Database) -> CheckReport:
    """Reads everything. Raises Damaged where bytes of the file are not what was written."""
    counted: list[tuple[str, int]] = []
    findings: list[Finding] = []
    for kind, table in TABLES.items():
        count, wrong = _nests(database) if kind == "nest" else _rows(database, kind)
        counted.append((table, count))
        findings += _grouped(table, wrong)
    for table, column, other, key in _REFERENCES:
        missing = database.rows(
            f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL "
            f"AND {column} NOT IN (SELECT {key} FROM {other}) ORDER BY 1"
        )
        findings += _grouped(table, [(str(value), f"{column} is not in {other}") for (value,) in missing])
    findings += _grouped(
        "_store.measurements", [(i, "derived times differ from samples") for (i,) in database.rows(_DERIVED)]
    )
    findings += _grouped("_store.measurements", [(i, "nest is not its schedule's") for (i,) in database.rows(_FOREIGN)])
    findings += _grouped("_store.best", [(nest, "differs from the measurements") for nest in different(database)])
    problems = database.value("SELECT count(*) FROM _store.ingest_problems")
    return CheckReport(tuple(counted), tuple(findings), problems)


def _rows(database: Database, kind: str) -> tuple[int, list[tuple[str, str]]]:
    """Of a table of records."""
    names = [name for name, _ in columns(RECORDS[kind])]

    def problem(row: tuple[Any, ...]) -> str | None:
        try:
            from_document(RECORDS[kind], dict(zip(names, row, strict=True)))
        except RecordError as problem:
            return problem.message
        return None

    return _read(database, f"SELECT {', '.join(names)} FROM {TABLES[kind]}", problem)


def _nests(database: Database) -> tuple[int, list[tuple[str, str]]]:
    def problem(row: tuple[Any, ...]) -> str | None:
        identity, text = row
        try:
            return None if nest_id(parse_nest(text)) == identity else "the id is not that of the text"
        except (SchedulerError, RecursionError, OptdbError) as problem:
            return f"the text is no nest: {problem}"[:200]

    return _read(database, "SELECT nest_id, text FROM _store.nests", problem)


def _read(
    database: Database, sql: str, problem: Callable[[tuple[Any, ...]], str | None]
) -> tuple[int, list[tuple[str, str]]]:
    """How many rows there are, and (id, problem) of those that no record could have left."""
    cursor = database.execute(sql)
    wrong: list[tuple[str, str]] = []
    count = 0
    while True:
        with database.translated():
            batch = cursor.fetchmany(_BATCH)
        if not batch:
            return count, wrong
        count += len(batch)
        wrong += [(str(row[0]), found) for row in batch if (found := problem(row)) is not None]


def _grouped(table: str, wrong: list[tuple[str, str]]) -> list[Finding]:
    by_problem: dict[str, list[str]] = {}
    for identity, problem in wrong:
        by_problem.setdefault(problem, []).append(identity)
    return [Finding(table, p, len(ids), tuple(ids[:_EXAMPLES])) for p, ids in by_problem.items()]
