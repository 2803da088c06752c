"""How a database of an older version becomes one of this version: named functions, each in a transaction, recorded.

To change the tables, append a function to MIGRATIONS; never change or reorder the ones that are there.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

from optdb.best_table import best_schedules_table
from optdb.errors import NewerSchema, NotADatabase

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Migration = Callable[["DuckDBPyConnection"], None]


def initial_schema(connection: DuckDBPyConnection) -> None:
    """All tables of the first version."""
    connection.execute(_text("schema.sql"))


def spool_files_read_to_their_end(connection: DuckDBPyConnection) -> None:
    """From here on `closed` also says of a dead writer's file that all of it was read, so that others are missed."""
    connection.execute("UPDATE _store.spool_files SET closed = true")


MIGRATIONS: tuple[Migration, ...] = (initial_schema, best_schedules_table, spool_files_read_to_their_end)


def applied(connection: DuckDBPyConnection) -> tuple[str, ...]:
    """Names of the migrations the database has seen. Raises NotADatabase for a DuckDB file that is not ours."""
    tables = {
        f"{schema}.{name}"
        for schema, name in connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database()"
        ).fetchall()
    }
    if "_store.migrations" in tables:
        rows = connection.execute("SELECT name FROM _store.migrations ORDER BY number").fetchall()
        return tuple(name for (name,) in rows)
    if tables:
        raise NotADatabase(f"a DuckDB file, but not an optimization database: it has the table {min(tables)}")
    return ()


def pending(connection: DuckDBPyConnection, migrations: Sequence[Migration] = MIGRATIONS) -> tuple[Migration, ...]:
    """The migrations still to be applied. Raises NewerSchema where the database has seen others."""
    done = applied(connection)
    known = tuple(m.__name__ for m in migrations)
    if done != known[: len(done)]:
        unknown = next((name for name in done if name not in known), done[-1])
        raise NewerSchema(f"written by a newer version of this program (migration {unknown!r})", "update perfembed")
    return tuple(migrations[len(done) :])


def migrate(connection: DuckDBPyConnection, migrations: Sequence[Migration] = MIGRATIONS) -> tuple[str, ...]:
    """Applies what is pending and brings the views up to date; names of what was applied.

    Each step is in its own transaction and checkpointed at once: whenever this ends, the database is that of before
    or after a step.
    """
    todo = pending(connection, migrations)
    done = len(migrations) - len(todo)
    for number, migration in enumerate(todo, done):
        _step(connection, partial(_apply, connection, migration, number))
    views = _text("views.sql")
    version = hashlib.sha256(views.encode()).hexdigest()
    if connection.execute("SELECT value FROM _store.settings WHERE key = 'views'").fetchone() != (version,):
        _step(connection, lambda: _replace_views(connection, views, version))
    return tuple(m.__name__ for m in todo)


def _step(connection: DuckDBPyConnection, work: Callable[[], None]) -> None:
    connection.begin()
    try:
        work()
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
    connection.execute("CHECKPOINT")


def _apply(connection: DuckDBPyConnection, migration: Migration, number: int) -> None:
    connection.execute("CREATE SCHEMA IF NOT EXISTS _store")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS _store.migrations (number INTEGER PRIMARY KEY, name VARCHAR, applied_at DOUBLE)"
    )
    migration(connection)
    connection.execute("INSERT INTO _store.migrations VALUES (?, ?, ?)", [number, migration.__name__, time.time()])


def _replace_views(connection: DuckDBPyConnection, text: str, version: str) -> None:
    connection.execute(text)
    connection.execute("INSERT OR REPLACE INTO _store.settings VALUES ('views', ?)", [version])


def _text(name: str) -> str:
    return files("optdb").joinpath(name).read_text(encoding="utf-8")
