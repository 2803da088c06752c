"""Pruning and compacting: what is to stay stays, exactly."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from optdb.check import check
from optdb.database import Database
from optdb.errors import Locked, MissingDatabase
from optdb.maintenance import Prunable, compact, prunable, prune
from tests.optdb.support import MACHINE, dump, filled, store, stream

ROOT = Path(__file__).parents[2]


def test_compact_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Database.open(path) as database:
        database.execute("CREATE TABLE _store.ballast AS SELECT random() AS x FROM range(500_000)")
        database.checkpoint()
        store(database, *stream(20, 30))
        before = dump(database)
        database.execute("DROP TABLE _store.ballast")
    sizes = compact(path)
    assert sizes.after < sizes.before and path.stat().st_size == sizes.after
    with Database.open(path) as database:
        assert dump(database) == before and check(database).consistent
        assert len(database.rows("FROM best_schedules")) == 20
        assert database.value("SELECT count(*) FROM duckdb_indexes()") == 2
        keys = "SELECT count(*) FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        assert database.value(keys) == 15
        tags = database.value("SELECT tags FROM duckdb_databases() WHERE database_name = current_database()")
        assert tags["storage_version"].startswith("v1.4")
    assert sorted(os.listdir(tmp_path)) == ["a.db", "a.db.lock", "records.jsonl"]


DIE = """
import os, signal, sys
from pathlib import Path
from optdb import maintenance

maintenance.replace_file = lambda new, path: os.kill(os.getpid(), signal.SIGKILL)
maintenance.compact(Path(sys.argv[1]))
"""


@pytest.mark.gcc
def test_compact_killed_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with filled(path) as database:
        before = dump(database)
    assert subprocess.run([sys.executable, "-c", DIE, str(path)], cwd=ROOT).returncode == -signal.SIGKILL
    assert any("compact" in name for name in os.listdir(tmp_path))
    with Database.open(path) as database:
        assert dump(database) == before
    compact(path)
    assert not any("compact" in name for name in os.listdir(tmp_path))


def test_compact_waits_its_turn(tmp_path: Path) -> None:
    with pytest.raises(MissingDatabase):
        compact(tmp_path / "a.db")
    with filled(tmp_path / "a.db"), pytest.raises(Locked):
        compact(tmp_path / "a.db", wait_s=0.1)


def test_prune(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db", nests=3, measurements=10) as database:
        before = dump(database)
        assert prunable(database) == () and sum(p.measurements for p in prunable(database, before=2e9)) == 30
        assert prune(database) == 0 == prune(database, machine="0" * 16) and dump(database) == before
        run = database.value("SELECT run_id FROM runs WHERE seed = 2")
        assert prunable(database, run_id=run, before=1.8e9 + 4) == (Prunable(MACHINE.machine, run, 4),)
        assert prune(database, run_id=run, before=1.8e9 + 4) == 4
        assert prune(database, before=1.8e9 + 4) == 8
        assert database.rows("SELECT measurements, schedules FROM nests") == [(6, 6)] * 3
        assert check(database).consistent
        assert prune(database, machine=MACHINE.machine) == 18
        assert (
            database.value("SELECT count(*) FROM conditions")
            == 0
            == database.value("SELECT count(*) FROM measurements")
        )
        assert len(database.rows("FROM nests")) == 3 and check(database).consistent
    compact(tmp_path / "a.db")
