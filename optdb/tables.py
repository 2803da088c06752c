"""How each kind of record is stored: JSON texts in, rows out, what is stored already left as it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from optdb.best import NOTED, note
from optdb.codec import columns
from optdb.records import RECORDS

if TYPE_CHECKING:
    from optdb.database import Database

TABLES = {
    "machine": "_store.machines",
    "source": "_store.sources",
    "nest": "_store.nests",
    "conditions": "_store.conditions",
    "schedule": "_store.schedules",
    "run": "_store.runs",
    "measurement": "_store.measurements",
    "profile": "_store.profiles",
    "embedding": "_store.embeddings",
}


def shape(kind: str) -> str:
    """The JSON structure of a kind of record, as `from_json_strict` wants it."""
    texts = {n: [t[:-2]] if t.endswith("[]") else t for n, t in columns(RECORDS[kind])}
    return json.dumps(texts)


_RECORDS = "(SELECT unnest(from_json_strict(line, $shape)) FROM (SELECT unnest($lines::VARCHAR[]) AS line))"
_INSERTS: dict[str, tuple[str, ...]] = {
    kind: (f"INSERT INTO {table} BY NAME FROM {_RECORDS} ON CONFLICT DO NOTHING",) for kind, table in TABLES.items()
}
_INSERTS["nest"] = (
    f"INSERT INTO _store.nests BY NAME SELECT * EXCLUDE (source_id, function) FROM {_RECORDS} ON CONFLICT DO NOTHING",
    f"INSERT INTO _store.occurrences BY NAME SELECT nest_id, source_id, name, function FROM {_RECORDS} "
    "ON CONFLICT DO NOTHING",
)
_INSERTS["measurement"] = (
    "INSERT INTO _store.measurements BY NAME SELECT *, list_min(samples) AS min_s, list_median(samples) AS median_s, "
    f"list_min(baseline) AS baseline_min_s FROM {_RECORDS} ON CONFLICT DO NOTHING RETURNING {NOTED}",
)
_INSERTS["run"] = (
    f"INSERT INTO _store.runs BY NAME FROM {_RECORDS} QUALIFY row_number() OVER (PARTITION BY run_id) = 1 "
    "ON CONFLICT DO NOTHING",
    "UPDATE _store.runs SET ended_at = e.ended_at FROM (SELECT run_id, max(ended_at) AS ended_at "
    f"FROM {_RECORDS} GROUP BY run_id) e WHERE runs.run_id = e.run_id AND e.ended_at IS NOT NULL",
)


def insert(database: Database, kind: str, lines: Sequence[str]) -> int:
    """Stores records given as JSON texts that `optdb.records.parse_record` has accepted; how many were new.

    Runs in the caller's transaction. Raises OptdbError.
    """
    if not lines:
        return 0
    parameters = {"shape": shape(kind), "lines": list(lines)}
    rows, *_ = [database.rows(statement, parameters) for statement in _INSERTS[kind]]
    if kind != "measurement":
        return int(rows[0][0])
    note(database, rows)
    return len(rows)
