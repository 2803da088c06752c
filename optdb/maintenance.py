"""Making a database smaller: dropping what is no longer wanted, and rewriting the file without the holes."""

from __future__ import annotations

import contextlib
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

from optdb.best import renew
from optdb.database import STORAGE_VERSION, Database, replace_file
from optdb.errors import translate
from optdb.migrations import MIGRATIONS, Migration


@dataclass(frozen=True, slots=True)
class Compacted:
    """Bytes of the file before and after."""

    before: int
    after: int


def compact(path: Path, *, wait_s: float = 10.0, migrations: tuple[Migration, ...] = MIGRATIONS) -> Compacted:
    """Writes a copy of the database without its holes, rows of a nest together, and puts it in its place.

    The old file stays until the new one is whole and on the disk. Raises OptdbError.
    """
    for leftover in path.parent.glob(f".{path.name}.*.compact*"):
        leftover.unlink(missing_ok=True)
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex}.compact")
    with Database.open(path, create=False, wait_s=wait_s, migrations=migrations) as database:
        database.checkpoint()  # nothing may be left for the old file to receive when it is closed
        before = path.stat().st_size
        try:
            database.execute(f"ATTACH '{_quoted(new)}' AS _compacted (STORAGE_VERSION '{STORAGE_VERSION}')")
            source = database.value("SELECT current_database()")
            database.execute(f'COPY FROM DATABASE "{source}" TO _compacted (SCHEMA)')
            with database.transaction():
                for (table,) in database.rows(
                    "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() ORDER BY 1"
                ):
                    order = " ORDER BY nest_id" if table in ("measurements", "schedules", "profiles", "best") else ""
                    database.execute(f"INSERT INTO _compacted._store.{table} FROM _store.{table}{order}")
            database.execute("CHECKPOINT _compacted")
            database.execute("DETACH _compacted")
            after = new.stat().st_size
            replace_file(new, path)
        except OSError as problem:
            raise translate(problem, path) from problem
        finally:
            for left in (new, new.with_name(new.name + ".wal")):
                with contextlib.suppress(OSError):
                    os.unlink(left)
    return Compacted(before, after)


@dataclass(frozen=True, slots=True)
class Prunable:
    """Measurements of a machine (empty where its conditions never came) and a run."""

    machine: str
    run_id: str
    measurements: int


def prunable(
    database: Database, *, machine: str | None = None, before: float | None = None, run_id: str | None = None
) -> tuple[Prunable, ...]:
    """What `prune` would delete, most first. Raises OptdbError."""
    where, parameters = _chosen(machine, before, run_id)
    rows = database.rows(
        f"""
        SELECT coalesce(c.machine, ''), m.run_id, count(*)
        FROM (FROM _store.measurements WHERE {where}) m LEFT JOIN _store.conditions c USING (conditions_id)
        GROUP BY ALL ORDER BY 3 DESC, 1, 2
        """,
        parameters,
    )
    return tuple(Prunable(*row) for row in rows)


def prune(
    database: Database, *, machine: str | None = None, before: float | None = None, run_id: str | None = None
) -> int:
    """Deletes measurements of a machine, of before a time (seconds since 1970), of a run: those that fit all.

    Schedules and conditions that no measurement needs any more go as well. How many measurements went. Raises
    OptdbError. The file shrinks with `compact`.
    """
    where, parameters = _chosen(machine, before, run_id)
    with database.transaction():
        database.execute(
            f"CREATE OR REPLACE TEMP TABLE _pruned AS "
            f"SELECT DISTINCT nest_id, conditions_id FROM _store.measurements WHERE {where}",
            parameters,
        )
        deleted = database.rows(f"DELETE FROM _store.measurements WHERE {where}", parameters)
        renew(database, "_pruned")
        database.execute("DROP TABLE _pruned")
        database.execute(
            "DELETE FROM _store.schedules WHERE schedule_id NOT IN (SELECT schedule_id FROM _store.measurements)"
        )
        database.execute(
            "DELETE FROM _store.conditions WHERE conditions_id NOT IN (SELECT conditions_id FROM _store.measurements) "
            "AND conditions_id NOT IN (SELECT conditions_id FROM _store.profiles)"
        )
    database.checkpoint()
    return int(deleted[0][0])


def _chosen(machine: str | None, before: float | None, run_id: str | None) -> tuple[str, list[object]]:
    """A condition on measurements, and its parameters; nothing chosen is none of them."""
    conditions: dict[str, object] = {
        "conditions_id IN (SELECT conditions_id FROM _store.conditions WHERE machine = ?)": machine,
        "measured_at < ?": before,
        "run_id = ?": run_id,
    }
    given = {text: value for text, value in conditions.items() if value is not None}
    return " AND ".join(given) or "false", list(given.values())


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
