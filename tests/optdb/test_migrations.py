"""Migrations: applied once, in order, all or nothing, and never backwards."""

from pathlib import Path

import duckdb
import pytest

from optdb import migrations
from optdb.check import check
from optdb.database import STORAGE_VERSION, Database
from optdb.errors import NewerSchema, NotADatabase, OptdbError
from optdb.ingest import ingest
from optdb.migrations import MIGRATIONS, applied
from tests.optdb.support import dump, filled


def add_colour(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("ALTER TABLE _store.runs ADD COLUMN colour VARCHAR DEFAULT 'red'")


def fails_half_way(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE _store.half (x INTEGER)")
    connection.execute("SELECT * FROM nowhere")


def test_a_new_database_has_seen_all(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db") as database:
        assert applied(database.connection) == tuple(m.__name__ for m in MIGRATIONS)


def test_a_migration_keeps_the_rows(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db") as database:
        before = dump(database)
    for _ in range(2):
        with Database.open(tmp_path / "a.db", migrations=(*MIGRATIONS, add_colour)) as database:
            after = dump(database)
            assert after.pop("runs") == [(*row, "red") for row in before["runs"]]
            assert after == {table: rows for table, rows in before.items() if table != "runs"}
            assert applied(database.connection)[-1] == "add_colour"
            assert len(database.rows("FROM best_schedules")) == 3


def test_a_database_of_the_first_version(tmp_path: Path) -> None:
    """Its best schedules come from its measurements, its spool files are not missed, its one index is replaced."""
    path = tmp_path / "a.db"
    with filled(tmp_path / "new.db") as database:
        expected = dump(database)
    with duckdb.connect(str(path), config={"storage_compatibility_version": STORAGE_VERSION}) as old:
        migrations._apply(old, MIGRATIONS[0], 0)
        old.execute(f"ATTACH '{tmp_path / 'new.db'}' AS new (READ_ONLY)")
        for table in expected.keys() - {"best"}:
            old.execute(f"INSERT INTO _store.{table} FROM new._store.{table}")
        old.execute("INSERT INTO _store.spool_files VALUES ('gone.spool', 10, 2, false)")
    with pytest.raises(OptdbError, match="older version"):
        Database.open(path, read_only=True)
    (tmp_path / "a.db.spool").mkdir()
    with Database.open(path) as database:
        assert dump(database) == expected and check(database).consistent
        assert ingest(database, tmp_path / "a.db.spool").problems == ()
        indexes = database.rows("SELECT index_name FROM duckdb_indexes() ORDER BY 1")
        assert indexes == [("best_of_nest",), ("occurrences_of_nest",)]


def test_a_failing_migration_leaves_nothing(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db") as database:
        before = dump(database)
    with pytest.raises(OptdbError, match="nowhere"):
        Database.open(tmp_path / "a.db", migrations=(*MIGRATIONS, fails_half_way))
    with Database.open(tmp_path / "a.db") as database:
        assert dump(database) == before
        assert not database.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'half'")


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Database.open(path, migrations=(*MIGRATIONS, add_colour)).close()
    for read_only in (False, True):
        with pytest.raises(NewerSchema, match=r"a\.db: written by a newer version .*add_colour"):
            Database.open(path, read_only=read_only)


def test_an_older_schema_is_not_migrated_by_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Database.open(path).close()
    with pytest.raises(OptdbError, match="older version") as caught:
        Database.open(path, read_only=True, migrations=(*MIGRATIONS, add_colour))
    assert "perfembed db prune --compact" in caught.value.advice


def test_a_foreign_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE cooking (recipe VARCHAR)")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(NotADatabase, match="cooking"):
            Database.open(path, read_only=read_only)
    assert path.read_bytes() == before


def test_views_of_an_older_version_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Database.open(path) as database:
        database.execute("CREATE OR REPLACE VIEW nests AS SELECT 1 AS old")
        database.execute("UPDATE _store.settings SET value = 'old' WHERE key = 'views'")
    with Database.open(path) as database:
        assert database.rows("FROM nests") == []
