"""Opening, creating, locking, and one clear error for each thing that can be wrong."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from optdb.database import STORAGE_VERSION, Database
from optdb.errors import Damaged, Locked, MissingDatabase, NoPermission, NotADatabase, OptdbError, translate
from tests.optdb.support import dump, filled

HOLD = """
import sys, time
from optdb.database import Database
database = Database.open(sys.argv[1], read_only=len(sys.argv) > 2)
print("open", flush=True)
sys.stdin.read()
"""


def holder(path: Path, *more: str) -> subprocess.Popen[str]:
    """Another process with the database open, until its input ends."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "open\n"
    return child


def test_created_whole_and_readable(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Database.open(path) as database:
        assert not database.read_only
        assert database.value("SELECT count(*) FROM best_schedules") == 0
        assert database.value("SELECT current_setting('enable_progress_bar')") is False
    assert sorted(os.listdir(tmp_path)) == ["a.db", "a.db.lock"]
    with Database.open(path, read_only=True) as database:
        assert database.read_only
        with pytest.raises(OptdbError, match="read-only"):
            database.execute("DELETE FROM _store.runs")


def test_opening_loads_the_indexes_and_leaves_the_settings(tmp_path: Path) -> None:
    with duckdb.connect() as plain:
        row = plain.execute("SELECT current_setting('threads')").fetchone()
    with filled(tmp_path / "a.db", nests=2) as database:
        assert (database.value("SELECT current_setting('threads')"),) == row
        found = database.rows("SELECT nest_id FROM _store.measurements")
        assert database.rows("SELECT count(*) FROM _store.measurements WHERE nest_id = ?", found[0]) == [(5,)]


def test_the_oldest_duckdb_we_name_opens_it(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db") as database:
        tags = database.value("SELECT tags FROM duckdb_databases() WHERE database_name = current_database()")
    assert tags["storage_version"].startswith(STORAGE_VERSION)


@pytest.mark.parametrize("name", ["store.db", "_compacted.db", "main.db", "temp.db", "a'b \"c.db", "ünï.db", "nests"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    with Database.open(tmp_path / name) as database:
        assert database.rows("FROM nests") == [] and database.rows("FROM machines") == []


def test_what_a_file_may_not_be(tmp_path: Path) -> None:
    for name, content in (("empty", b""), ("text", b"hello"), ("noise", bytes(range(256)) * 100)):
        (tmp_path / name).write_bytes(content)
        for read_only in (False, True):
            with pytest.raises(NotADatabase, match=name):
                Database.open(tmp_path / name, read_only=read_only)
        assert (tmp_path / name).read_bytes() == content
    with pytest.raises(NotADatabase):
        Database.open(tmp_path, read_only=True)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingDatabase):
        Database.open(tmp_path / "a.db", read_only=True)
    with pytest.raises(MissingDatabase):
        Database.open(tmp_path / "a.db", create=False)
    with pytest.raises(MissingDatabase, match="folder"):
        Database.open(tmp_path / "no" / "a.db")


def test_a_lost_database_is_not_silently_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.db.wal").write_bytes(b"anything")
    with pytest.raises(Damaged, match="log"):
        Database.open(tmp_path / "a.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do anything")
def test_no_permission(tmp_path: Path) -> None:
    Database.open(tmp_path / "a.db").close()
    (tmp_path / "a.db").chmod(0)
    with pytest.raises(NoPermission):
        Database.open(tmp_path / "a.db")


@pytest.mark.gcc
def test_who_has_it_open_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Database.open(path).close()
    child = holder(path)
    try:
        for read_only in (False, True):
            with pytest.raises(Locked, match=rf"process {child.pid}\b"):
                Database.open(path, read_only=read_only, wait_s=0.1)
    finally:
        child.communicate("")
    Database.open(path).close()


@pytest.mark.gcc
def test_readers_share_and_keep_a_writer_waiting(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Database.open(path).close()
    child = holder(path, "read")
    try:
        Database.open(path, read_only=True).close()
        with pytest.raises(Locked, match=rf"process {child.pid}\b"):
            Database.open(path, wait_s=0.1)
    finally:
        child.communicate("")


@pytest.mark.gcc
def test_waiting_helps(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Database.open(path).close()
    child = holder(path)
    timer = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill {child.pid}"])
    begun = time.monotonic()
    with Database.open(path, wait_s=20.0):
        assert time.monotonic() - begun > 0.1
    timer.wait()
    child.communicate("")


DIE = """
import os, signal, sys
from optdb.database import Database
from optdb.migrations import MIGRATIONS

def dies(connection):
    connection.execute("CREATE TABLE _store.x (y INTEGER)")
    os.kill(os.getpid(), signal.SIGKILL)

Database.open(sys.argv[1], migrations=(*MIGRATIONS, dies))
"""


@pytest.mark.gcc
def test_a_killed_creation_leaves_no_database(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    done = subprocess.run([sys.executable, "-c", DIE, str(path)], capture_output=True)
    assert done.returncode == -signal.SIGKILL and not path.exists()
    Database.open(path).close()
    assert sorted(os.listdir(tmp_path)) == ["a.db", "a.db.lock"]


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db") as database:
        before = dump(database)
        with pytest.raises(OptdbError), database.transaction():
            database.execute("DELETE FROM _store.runs")
            database.execute("SELECT * FROM nowhere")
        assert dump(database) == before
        with pytest.raises(KeyboardInterrupt), database.transaction():
            database.execute("DELETE FROM _store.runs")
            raise KeyboardInterrupt
        assert dump(database) == before


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C counts, although a job in the background begins with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.campaign
@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_statement_is_an_interrupt(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db") as database:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            database.value("SELECT sum(hash(a.range + b.range)) FROM range(1000) a, range(1000) b, range(400)")
        timer.join()
        assert database.value("SELECT 1") == 1


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with filled(path):
        pass
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damaged, match="damaged") as caught:
        Database.open(path)
    assert "backup" in caught.value.advice


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("IO Error: No space left on device", "DiskFull"),
        ("Corrupt WAL file: entry", "Damaged"),
        ("IO Error: Trying to read a database file with version number 99", "NewerSchema"),
        ("Binder Error: no such column", "OptdbError"),
    ],
)
def test_what_duckdb_says(said: str, kind: str) -> None:
    assert type(translate(RuntimeError(said), Path("a.db"))).__name__ == kind
