"""Opening the database: created whole or not at all, migrated, one writer at a time, one clear error each."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from optdb.errors import Damaged, Locked, MissingDatabase, NewerSchema, NotADatabase, OptdbError, translate
from optdb.locks import FileLock, reader_waits, waiting_to_read
from optdb.migrations import MIGRATIONS, Migration, migrate, pending

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STORAGE_VERSION = "v1.4.0"  # the oldest DuckDB that opens our files
_LOG_BYTES = 256 << 20  # a checkpoint writes most of the indexes anew: not after every transaction
_PAUSE_S = 0.02
_ENTER_S = 2.0  # the longest a writer stays away for readers to come in
_READ_S = 60.0  # and the longest it waits for them to be done


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """DuckDB answers Ctrl-C during a statement with a RuntimeError of its own."""
    try:
        yield
    except RuntimeError as problem:
        if "Query interrupted" in str(problem):
            raise KeyboardInterrupt from problem
        raise


class Database:
    """An open optimization database.

    >>> with Database.open(path, read_only=True) as database:
    ...     database.rows("SELECT name, threads, round(speedup, 1) FROM best_schedules ORDER BY speedup DESC LIMIT 2")
    [('scale_2', 2, 3.2), ('scale_3', 2, 3.2)]

    DuckDB lets either one process write or any number read, so keep a database open for as long as it is needed and no
    longer. Not to be shared by threads. Nothing in this process may open the file in another way meanwhile: closing
    it would drop DuckDB's lock.
    """

    def __init__(self, path: Path, connection: DuckDBPyConnection, lock: FileLock | None) -> None:
        self.path = path
        self.connection = connection
        self._lock = lock

    @staticmethod
    @_interruptible()
    def open(
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        create: bool = True,
        wait_s: float = 10.0,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> Database:
        """Opens, and unless `read_only` creates and migrates, the database at `path`.

        Waits up to `wait_s` seconds for others that have it open. Raises OptdbError (see `optdb.errors`).
        """
        where = Path(path)
        if read_only:
            return _checked(Database(where, _connect_reader(where, wait_s), None), migrations)
        if not os.path.isdir(where.parent):
            raise MissingDatabase(f"{where}: the folder {where.parent} does not exist", "create it first")
        lock = FileLock(where.with_name(where.name + ".lock"))
        lock.acquire(wait_s, str(where))
        try:
            if not os.path.exists(where):
                if not create:
                    raise MissingDatabase(f"{where}: there is no such database")
                _create(where, migrations)
            _let_readers_in(where)
            database = Database(where, _connect(where, False, wait_s), lock)
            with database._translated_closing():
                migrate(database.connection, migrations)
        except BaseException:
            lock.release()
            raise
        return database

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Writes everything to the one file and lets others in."""
        try:
            with self.translated():
                self.connection.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading only."""
        return self._lock is None

    def execute(self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> DuckDBPyConnection:
        """Runs one of our own statements. Raises OptdbError."""
        with self.translated():
            return self.connection.execute(sql, parameters)

    def rows(self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query. Raises OptdbError."""
        with self.translated():
            return self.connection.execute(sql, parameters).fetchall()

    def value(self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> Any:
        """The first value of the first row. Raises OptdbError."""
        return self.rows(sql, parameters)[0][0]

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. Raises OptdbError, DiskFull for one."""
        with self.translated():
            self.connection.begin()
            try:
                yield
                self.connection.commit()
            except BaseException:
                with contextlib.suppress(Exception):  # a commit that failed has rolled back already
                    self.connection.rollback()
                raise

    def checkpoint(self) -> None:
        """Everything committed is in the database file itself when this returns, the write-ahead log empty."""
        self.execute("CHECKPOINT")

    def give_way(self) -> bool:
        """Lets readers in that wait for the file, and comes back when they are done; whether there were any.

        Between transactions only; cursors end. No other writer gets in. Raises OptdbError.
        """
        if self._lock is None or not reader_waits(self.path):
            return False
        with self.translated():
            self.connection.close()
        _let_readers_in(self.path)
        self.connection = _connect(self.path, False, _READ_S)
        return True

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Turns DuckDB's errors into ours."""
        import duckdb

        try:
            with _interruptible():
                yield
        except (duckdb.Error, OSError) as problem:
            raise translate(problem, self.path) from problem

    @contextlib.contextmanager
    def _translated_closing(self) -> Iterator[None]:
        """Same, and nothing stays open after an error; says which file."""
        try:
            with self.translated():
                yield
        except BaseException as problem:
            with contextlib.suppress(Exception):
                self.connection.close()
            if isinstance(problem, NotADatabase | NewerSchema) and not problem.message.startswith(str(self.path)):
                raise type(problem)(f"{self.path}: {problem.message}", problem.advice) from None
            raise


def _let_readers_in(path: Path) -> None:
    """Keeps the file closed for as long as readers wait for it, but no longer than they should need."""
    deadline = time.monotonic() + _ENTER_S
    while reader_waits(path) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)


def _connect_reader(path: Path, wait_s: float) -> DuckDBPyConnection:
    try:
        return _connect(path, True, 0.0)
    except Locked:
        if wait_s <= 0:
            raise
        with waiting_to_read(path):
            return _connect(path, True, wait_s)


def _connect(path: Path, read_only: bool, wait_s: float) -> DuckDBPyConnection:
    import duckdb

    deadline = time.monotonic() + wait_s
    while True:
        try:
            connection = duckdb.connect(
                str(path), read_only=read_only, config={"storage_compatibility_version": STORAGE_VERSION}
            )
            connection.execute("SET enable_progress_bar = false")  # it would write to stdout
            connection.execute(f"SET checkpoint_threshold = '{_LOG_BYTES} B'")
            _load_indexes(connection)
            return connection
        except (duckdb.Error, OSError, UnicodeError) as problem:
            error = translate(problem, path)
            if not isinstance(error, Locked) or time.monotonic() >= deadline:
                raise error from problem
            time.sleep(_PAUSE_S)


def _load_indexes(connection: DuckDBPyConnection) -> None:
    """Loads the indexes of each table, so that a damaged one is found here, by one thread.

    DuckDB 2.0 loads them at the first query that wants one; where that fails, other threads of the same query may wait
    for it forever. A value that cannot be there would not do: its column's statistics answer for the index.
    """
    keys = connection.execute(
        "SELECT table_name, constraint_column_names[1] FROM duckdb_constraints() "
        "WHERE constraint_type = 'PRIMARY KEY' AND schema_name = '_store' AND database_name = current_database()"
    ).fetchall()
    if not keys:
        return
    (threads,) = connection.execute("SELECT current_setting('threads')").fetchone() or (1,)
    connection.execute("SET threads = 1")
    some = (
        f"""(SELECT {i}, "{column}"::VARCHAR FROM _store."{table}" LIMIT 1)""" for i, (table, column) in enumerate(keys)
    )
    rows = connection.execute(" UNION ALL ".join(some)).fetchall()
    looks = (f"""SELECT 1 FROM _store."{keys[i][0]}" WHERE "{keys[i][1]}" = ?""" for i, _ in rows)
    if rows:
        connection.execute(
            " UNION ALL ".join(looks), [int(value) if keys[i][0] == "migrations" else value for i, value in rows]
        ).fetchall()
    connection.execute(f"SET threads = {int(threads)}")


def _checked(database: Database, migrations: Sequence[Migration]) -> Database:
    with database._translated_closing():
        if pending(database.connection, migrations):
            raise OptdbError(
                f"{database.path}: written by an older version",
                "perfembed db prune --compact brings it up to date",
            )
    return database


def _create(path: Path, migrations: Sequence[Migration]) -> None:
    """A complete new database appears under its name all at once; the caller has the writers' lock."""
    log = path.with_name(path.name + ".wal")
    if log.exists():
        raise Damaged(f"{path}: the database is gone, but its write-ahead log {log} is there", "move the log away")
    for leftover in path.parent.glob(f".{path.name}.*.new*"):
        leftover.unlink(missing_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    database = Database(path, _connect(unfinished, False, 0.0), None)
    with database._translated_closing():
        migrate(database.connection, migrations)
        database.checkpoint()
        database.connection.close()
    replace_file(unfinished, path)


def replace_file(new: Path, path: Path) -> None:
    """Gives `new` the name `path`, so that it is there after a crash, too."""
    try:
        sync(new)
        os.replace(new, path)
        sync(path.parent)
    except OSError as problem:
        raise translate(problem, path) from problem


def sync(path: Path) -> None:
    """fsync of a file or folder that nobody has open in this process."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
