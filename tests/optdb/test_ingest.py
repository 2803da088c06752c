"""From the spool into the database: exactly once, whatever is damaged, dead, or still writing."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from optdb.check import check
from optdb.database import Database
from optdb.errors import Locked, OptdbError
from optdb.ingest import ingest, pending_bytes
from optdb.locks import reader_waits
from optdb.records import RunRecord
from optdb.spool import SpoolWriter, format_line, spool_directory
from tests.optdb.support import BASE, MACHINE, dump, empty, filled, measurement, one, replace, stream

ROOT = Path(__file__).parents[2]


def spooled(path: Path, nests: int = 3, each: int = 5) -> Path:
    """A spool for the database at `path` with a closed file."""
    with SpoolWriter(spool_directory(path)) as writer:
        writer.append(list(stream(nests, each)))
    return spool_directory(path)


@pytest.mark.parametrize("part_bytes", [1 << 20, 5000])
def test_everything_arrives_once(tmp_path: Path, part_bytes: int) -> None:
    spool = spooled(tmp_path / "a.db")
    with filled(tmp_path / "expected.db") as database:
        expected = dump(database)
    assert pending_bytes(spool) > 10_000
    with empty(tmp_path / "a.db") as database:
        report = ingest(database, spool, part_bytes=part_bytes)
        assert dict(report.stored)["measurement"] == 15
        assert (report.known, report.problems, report.files_deleted) == (0, (), 1)
        assert dump(database) == expected
        assert check(database).consistent
        again = ingest(database, spool)
        assert (again.records, again.known, again.files_read) == (0, 0, 0)
        assert database.rows("FROM _store.spool_files") == []
    assert os.listdir(spool) == [] and pending_bytes(spool) == 0


def test_the_same_records_again_are_known(tmp_path: Path) -> None:
    with empty(tmp_path / "a.db") as database:
        ingest(database, spooled(tmp_path / "a.db"))
        before = dump(database)
        report = ingest(database, spooled(tmp_path / "a.db"))
        assert report.records == 0 and report.known == 1 + 3 * (4 + 2 * 5)
        assert dump(database) == before


def test_without_a_spool(tmp_path: Path) -> None:
    with empty(tmp_path / "a.db") as database:
        assert ingest(database, tmp_path / "none").records == 0


def test_a_living_writer_is_read_up_to_here(tmp_path: Path) -> None:
    spool = spool_directory(tmp_path / "a.db")
    with empty(tmp_path / "a.db") as database:
        writer = SpoolWriter(spool)
        for round_ in range(3):
            writer.append([MACHINE, *BASE, *measurement(*BASE[1:], round_)])
            report = ingest(database, spool)
            assert dict(report.stored)["measurement"] == 1 and report.problems == ()
            assert len(list(spool.glob("*.spool"))) == 1
        writer.close()
        assert ingest(database, spool).files_deleted == 1
        assert database.value("SELECT count(*) FROM measurements") == 3


def test_a_run_gets_its_end(tmp_path: Path) -> None:
    spool = spool_directory(tmp_path / "a.db")
    run = BASE[3]
    ended = replace(run, ended_at=2e9)
    assert isinstance(run, RunRecord)
    with empty(tmp_path / "a.db") as database:
        for records, end in (([run], None), ([ended, run], 2e9), ([run], 2e9)):
            with SpoolWriter(spool) as writer:
                writer.append(records)
            ingest(database, spool)
            assert database.rows("SELECT run_id, ended_at FROM _store.runs") == [(run.run_id, end)]


def test_damage_is_skipped_counted_and_kept(tmp_path: Path) -> None:
    spool = spooled(tmp_path / "a.db")
    (path,) = spool.iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    lines[10] = lines[10].replace(b"5", b"6")
    lines[11] = format_line(11, "measurement", '{"no":1}')
    path.write_bytes(b"".join(lines))
    with empty(tmp_path / "a.db") as database:
        report = ingest(database, spool)
        assert (report.lost, len(report.problems)) == (2, 2)
        assert report.records == 1 + 3 * (4 + 2 * 5) - 2
        assert database.rows("SELECT file, line, lost FROM ingest_problems ORDER BY line") == [
            (path.name, 10, 1),
            (path.name, 11, 1),
        ]
        ingest(database, spool)
        assert database.value("SELECT count(*) FROM ingest_problems") == 2
    assert os.listdir(spool) == [path.name + ".damaged"]


def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    spool = tmp_path / "a.db.spool"
    spool.mkdir()
    (spool / "x.spool").write_bytes(format_line(0, "spool", '{"format":99}') + format_line(1, "dream", "{}"))
    with empty(tmp_path / "a.db") as database:
        report = ingest(database, spool)
        assert report.records == 0 and "newer version" in report.problems[0].reason
    assert os.listdir(spool) == ["x.spool"]


def test_a_file_that_shrank_is_reported(tmp_path: Path) -> None:
    spool = spool_directory(tmp_path / "a.db")
    with empty(tmp_path / "a.db") as database:
        writer = SpoolWriter(spool)
        writer.append([one(i) for i in range(5)])
        ingest(database, spool)
        (path,) = spool.iterdir()
        os.truncate(path, 100)
        writer.close()
        os.truncate(path, 100)
        report = ingest(database, spool)
        assert ["shorter" in p.reason for p in report.problems] == [True]
        assert database.value("SELECT count(*) FROM _store.measurements") == 5


def test_a_file_that_vanished_is_reported(tmp_path: Path) -> None:
    """Once, and only one of which more was to come: not what was read to its end, of the living or the dead."""
    spool = spool_directory(tmp_path / "a.db")
    with empty(tmp_path / "a.db") as database:
        writer = SpoolWriter(spool)
        writer.append([one(i) for i in range(5)])
        dead = SpoolWriter(spool)
        dead.append([one(7)])
        dead._release()  # its lock goes, as when a process dies
        with SpoolWriter(spool) as closed:
            closed.append([one(8)])
        assert len(ingest(database, spool).problems) == 1  # no closing line
        assert ingest(database, spool).problems == ()
        (path,) = spool.iterdir()
        path.unlink()
        (problem,) = ingest(database, spool).problems
        assert (problem.file, problem.line) == (path.name, 6) and "gone" in problem.reason
        assert ingest(database, spool).problems == ()
        assert database.value("SELECT count(*) FROM ingest_problems WHERE reason LIKE '%not been read%'") == 1
        assert database.value("SELECT count(*) FROM _store.measurements") == 7


READ = """
import sys, time
from optdb.database import Database
print("ready", flush=True)
begun = time.monotonic()
with Database.open(sys.argv[1], read_only=True, wait_s=30.0) as database:
    print(database.value("SELECT count(*) FROM measurements"), flush=True)
    sys.stdin.read()
"""


@pytest.mark.gcc
def test_a_reader_gets_in_while_much_is_ingested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees a part; the ingester waits until it has read, lets no other writer in, and ends with everything."""
    path = tmp_path / "a.db"
    spool = spooled(path, nests=20, each=10)
    monkeypatch.setattr("optdb.ingest._TURN_S", 0.0)
    with empty(path) as database:
        reader = subprocess.Popen(
            [sys.executable, "-c", READ, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert reader.stdout and reader.stdin and reader.stdout.readline() == "ready\n"
        while not reader_waits(path):
            time.sleep(0.01)
        seen = []
        give_way = database.give_way

        def giving_way() -> bool:
            threading.Timer(0.5, reader.communicate, [""]).start()
            with pytest.raises(Locked):
                Database.open(path, wait_s=0.0)
            seen.append(give_way())
            return seen[-1]

        monkeypatch.setattr(database, "give_way", giving_way)
        report = ingest(database, spool, part_bytes=20_000)
        assert seen == [True] and reader.wait() == 0
        assert report.complete and report.problems == () and check(database).consistent
        assert database.value("SELECT count(*) FROM measurements") == 200
        assert not database.give_way()


def test_a_limit_ends_it_between_parts(tmp_path: Path) -> None:
    spool = spooled(tmp_path / "a.db", nests=10)
    rounds = 0
    with empty(tmp_path / "a.db") as database:
        while not (report := ingest(database, spool, limit_s=0.0, part_bytes=20_000)).complete:
            assert report.files_deleted == 0 and report.records > 0
            rounds += 1
        assert rounds > 1 and database.value("SELECT count(*) FROM measurements") == 50
    assert os.listdir(spool) == []


def test_files_that_never_got_their_name_go(tmp_path: Path) -> None:
    spool = spooled(tmp_path / "a.db")
    for name, age in (("old.new", 7200), ("young.new", 0)):
        (spool / name).touch()
        os.utime(spool / name, (time.time() - age,) * 2)
    for name in ("gone.new", "gone.spool"):  # listed, and then renamed or deleted by others
        (spool / name).symlink_to("nowhere")
    assert pending_bytes(spool) > 0
    (spool / "gone.spool").unlink()
    with empty(tmp_path / "a.db") as database:
        ingest(database, spool)
    assert sorted(os.listdir(spool)) == ["gone.new", "young.new"]


FULL = """
import resource, sys
from pathlib import Path
from optdb.database import Database
from optdb.errors import DiskFull
from optdb.ingest import ingest
from optdb.spool import spool_directory

path = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, resource.RLIM_INFINITY))
try:
    with Database.open(path) as database:
        ingest(database, spool_directory(path), part_bytes=100_000)
except DiskFull:
    sys.exit(9)
"""


@pytest.mark.gcc
def test_a_full_disk_stops_it_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    spool = spooled(path, 60, 20)
    Database.open(path).close()
    assert path.stat().st_size < 2_000_000
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 9, done.stderr
    with empty(path) as database:
        before = database.value("SELECT count(*) FROM measurements")
        assert 0 < before <= 1200 and os.listdir(spool)
        ingest(database, spool)
        assert database.value("SELECT count(*) FROM measurements") == 1200 and check(database).consistent


DIE = """
import os, signal, sys
from pathlib import Path
from optdb import ingest as module
from optdb.database import Database
from optdb.spool import spool_directory

path, moment, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
database = Database.open(path)
if moment == "commit":
    original = database.execute
    def execute(sql, parameters=()):
        global count
        result = original(sql, parameters)
        count -= "spool_files VALUES" in sql
        if count < 0:
            die()
        return result
    database.execute = execute
elif moment == "checkpoint":
    database.checkpoint = die
else:
    module.sync = die
module.ingest(database, spool_directory(path), part_bytes=5000)
"""


@pytest.mark.gcc
@pytest.mark.parametrize(("moment", "count"), [("commit", 0), ("commit", 2), ("checkpoint", 0), ("deleted", 0)])
def test_killed_at_the_worst_moments(tmp_path: Path, moment: str, count: int) -> None:
    """Before a commit, after the commits but before the checkpoint, after the deletion."""
    path = tmp_path / "a.db"
    spool = spooled(path)
    with filled(tmp_path / "expected.db") as database:
        expected = dump(database)
    done = subprocess.run([sys.executable, "-c", DIE, str(path), moment, str(count)], capture_output=True, cwd=ROOT)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert bool(os.listdir(spool)) == (moment != "deleted")
    with empty(path) as database:
        ingest(database, spool)
        assert dump(database) == expected and check(database).consistent
    assert os.listdir(spool) == []


@pytest.mark.gcc
def test_losing_the_log_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    spool = spooled(path)
    Database.open(path).close()
    subprocess.run([sys.executable, "-c", DIE, str(path), "checkpoint", "0"], capture_output=True, cwd=ROOT)
    log = Path(f"{path}.wal")
    assert log.stat().st_size > 1000
    log.unlink()
    with empty(path) as database:
        assert database.value("SELECT count(*) FROM measurements") == 0
        ingest(database, spool)
        assert database.value("SELECT count(*) FROM measurements") == 15


def test_a_reader_cannot_ingest(tmp_path: Path) -> None:
    Database.open(tmp_path / "a.db").close()
    spool = spooled(tmp_path / "a.db")
    with Database.open(tmp_path / "a.db", read_only=True) as database, pytest.raises(OptdbError, match="read-only"):
        ingest(database, spool)
    assert len(os.listdir(spool)) == 1
