"""A reader that waits is seen for as long as it waits, and only then."""

import os
import time
from pathlib import Path

import pytest

from optdb.database import Database
from optdb.errors import Locked
from optdb.locks import FileLock, reader_waits, waiting_to_read


def test_readers_that_wait_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert not reader_waits(path)
    with waiting_to_read(path), waiting_to_read(path):
        assert reader_waits(path)
    assert not reader_waits(path)
    with pytest.raises(ValueError, match="now"), waiting_to_read(path):
        raise ValueError("now")
    assert not reader_waits(path) and os.listdir(tmp_path) == ["a.db.readers"]


def test_where_no_file_can_be_made_a_reader_waits_unseen(tmp_path: Path) -> None:
    path = tmp_path / "no folder" / "a.db"
    with waiting_to_read(path):
        assert not reader_waits(path)


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "x.lock"), FileLock(tmp_path / "x.lock")
    first.acquire(0.0, "x")
    with pytest.raises(Locked, match=f"x is being written by process {os.getpid()}"):
        second.acquire(0.05, "x")
    first.release()
    first.release()
    second.acquire(0.0, "x")
    second.release()


def test_nobody_waits_nobody_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optdb.database._ENTER_S", 0.1)
    with Database.open(tmp_path / "a.db") as database:
        connection = database.connection
        assert not database.give_way() and database.connection is connection
        with waiting_to_read(database.path):
            assert database.give_way() and database.connection is not connection  # it came, or gave up
        assert database.value("SELECT count(*) FROM measurements") == 0
    with Database.open(tmp_path / "a.db", read_only=True) as database:
        assert not database.give_way()


def test_a_writer_lets_readers_in_before_it_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optdb.database._ENTER_S", 0.3)
    path = tmp_path / "a.db"
    Database.open(path).close()
    with waiting_to_read(path):
        begun = time.monotonic()
        Database.open(path).close()  # this reader never comes
        assert time.monotonic() - begun >= 0.3
