"""Export, import, merge: exact, idempotent, and foreign data is only data."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from optdb.check import check
from optdb.database import Database
from optdb.errors import Damaged, NotADatabase, OptdbError
from optdb.exchange import export_jsonl, export_parquet, import_jsonl, import_parquet, merge
from optdb.ingest import ingest
from optdb.maintenance import compact
from optdb.records import EmbeddingRecord, ProfileRecord
from optdb.spool import SpoolWriter, spool_directory
from profilers.profile import Profile
from tests.optdb.support import BASE, MACHINE, dump, empty, filled, measurement, one, replace, store, stream

SOURCE, NEST, CONDITIONS, RUN = BASE


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A database with a row of everything, odd values included."""
    document = Profile("simulated", MACHINE.machine, 1, 0.1, 64, (("instructions", (1e17,)),)).to_json()
    with filled(tmp_path / "full.db", nests=3, measurements=11) as database:
        store(
            database,
            ProfileRecord(NEST.nest_id, CONDITIONS.conditions_id, "simulated", document),
            EmbeddingRecord(NEST.nest_id, "m", None, (0.1, -2.5e-30, 3.0)),
            replace(RUN, run_id="7" * 16, command='a "b"\t\\ ünï \u2028 \x1b[31m', ended_at=1.9e9 + 0.1),
            replace(NEST, name="naïve", function=None),
            measurement(NEST, CONDITIONS, RUN, 50)[0],
            one(50, samples=(1 / 3, 1e-300, 123456.789), speedup_low=0.1 + 0.2, donor_nest_id=NEST.nest_id),
        )
    return tmp_path / "full.db"


def test_parquet(full: Path, tmp_path: Path) -> None:
    with Database.open(full, read_only=True) as database:
        expected = dump(database)
        counts = export_parquet(database, tmp_path / "it's [1]*")
        with pytest.raises(OptdbError, match="exists"):
            export_parquet(database, tmp_path / "it's [1]*")
    assert dict(counts)["measurement"] == 34
    with empty(tmp_path / "new.db") as database:
        assert sum(n for _, n in import_parquet(database, tmp_path / "it's [1]*").stored) > 70
        assert dump(database) == expected
        again = import_parquet(database, tmp_path / "it's [1]*")
        assert again.stored == () and again.refused == 0 and again.known > 70
        assert dump(database) == expected


def test_json_lines(full: Path, tmp_path: Path) -> None:
    with Database.open(full, read_only=True) as database:
        expected = dump(database)
        count = export_jsonl(database, tmp_path / "x.jsonl")
    lines = (tmp_path / "x.jsonl").read_text().removesuffix("\n").split("\n")
    assert len(lines) == count == sum(json.loads(line)["kind"] != "" for line in lines)
    (tmp_path / "x.jsonl").write_text("\n".join(reversed(lines)))
    with empty(tmp_path / "new.db") as database:
        report = import_jsonl(database, tmp_path / "x.jsonl")
        assert report.refused == 0 and {k: v for k, v in dump(database).items() if k != "nests"} == {
            k: v for k, v in expected.items() if k != "nests"
        }


def test_json_lines_that_are_not(tmp_path: Path) -> None:
    wrong = ["", "{", "[]", '{"kind":"run"}', '{"kind":"x","record":{}}', '{"kind":"run","record":[]}', '{"a":' * 9999]
    (tmp_path / "x.jsonl").write_bytes("\n".join(wrong).encode() + b"\n\xff\xfe\n")
    with empty(tmp_path / "a.db") as database:
        report = import_jsonl(database, tmp_path / "x.jsonl")
        assert (report.stored, report.known, report.refused) == ((), 0, 8) and len(report.reasons) == 8
        with pytest.raises(OptdbError):
            import_jsonl(database, tmp_path / "none.jsonl")


def test_merge_respects_machines_and_is_idempotent(full: Path, tmp_path: Path) -> None:
    other = replace(MACHINE, machine="d" * 16, cpu_model="Another CPU")
    there = replace(CONDITIONS, machine=other.machine)
    with empty(tmp_path / "b.db") as database:
        schedule = measurement(NEST, CONDITIONS, RUN, 0)[0]
        store(database, other, *BASE, there, schedule, one(0, conditions_id=there.conditions_id, samples=(1e-6,)))
    for path, name in ((full, "ab"), (tmp_path / "b.db", "ba")):
        shutil.copy(path, tmp_path / f"{name}.db")
    results = []
    for name, source in (("ab", tmp_path / "b.db"), ("ba", full)):
        with Database.open(tmp_path / f"{name}.db") as database:
            first = merge(database, source)
            assert first.refused == 0 and merge(database, source).stored == ()
            results.append(dump(database))
            assert database.rows("SELECT machine, count(*) FROM best_schedules GROUP BY 1 ORDER BY 1") == [
                (MACHINE.machine, 3),
                (other.machine, 1),
            ]
            assert check(database).consistent
    assert {**results[0], "nests": 0} == {**results[1], "nests": 0}


def test_merge_takes_what_waits_in_the_other_spool(tmp_path: Path) -> None:
    """Of a shard that was killed: a part ingested, a part not, a damaged line; nothing of it is changed."""
    other = tmp_path / "other.db"
    spool = spool_directory(other)
    records = list(stream(2, 6))
    writer = SpoolWriter(spool)
    writer.append(records[:10])
    with Database.open(other) as database:
        ingest(database, spool)
    writer.append(records[10:-1])
    (living,) = spool.iterdir()
    SpoolWriter(spool).append([*records[-2:], one(77)])  # ends without closing its file
    (dead,) = set(spool.iterdir()) - {living}
    dead.write_bytes(dead.read_bytes()[:-9])
    before = {path: path.read_bytes() for path in (other, *spool.iterdir())}
    with empty(tmp_path / "expected.db") as database:
        store(database, *records)
        expected = dump(database)
    with empty(tmp_path / "new.db") as database:
        report = merge(database, other)
        assert report.refused == 0 and dump(database) == expected and check(database).consistent
        assert merge(database, other).stored == ()
    assert {path: path.read_bytes() for path in before} == before
    writer.close()
    other.unlink()  # killed before there was a database
    with empty(tmp_path / "early.db") as database:
        assert merge(database, other).refused == 0 and dump(database) == expected
    content = living.read_bytes()
    living.write_bytes(content[:5000] + b"?" + content[5001:])
    with empty(tmp_path / "damaged.db") as database:
        report = merge(database, other)
        assert report.refused == 1 and "checksum does not fit" in report.reasons[0]


def test_names_that_no_file_can_have(full: Path, tmp_path: Path) -> None:
    name = tmp_path / ("x" * 300)
    with Database.open(full) as database:
        for attempt in (export_parquet, export_jsonl, import_parquet, import_jsonl, merge):
            with pytest.raises(OptdbError, match="xxx"):
                attempt(database, name)  # type: ignore[operator]
    for read_only in (False, True):
        with pytest.raises(OptdbError, match="xxx"):
            Database.open(name, read_only=read_only)
    with pytest.raises(OptdbError, match="xxx"):
        compact(name)
    assert not list(tmp_path.glob("*.part"))


def test_merge_refuses_itself_and_strangers(full: Path, tmp_path: Path) -> None:
    with Database.open(full) as database:
        with pytest.raises(OptdbError, match="itself"):
            merge(database, full)
        (tmp_path / "noise").write_bytes(bytes(5000))
        with pytest.raises(NotADatabase):
            merge(database, tmp_path / "noise")
        with duckdb.connect(str(tmp_path / "x.db")) as connection:
            connection.execute("CREATE TABLE t (x INTEGER)")
        with pytest.raises(NotADatabase):
            merge(database, tmp_path / "x.db")


def test_foreign_rows_are_checked(full: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.db"
    shutil.copy(full, hostile)
    with Database.open(hostile) as database:
        database.execute("UPDATE _store.schedules SET text = 'system(\"rm -rf /\")' WHERE text LIKE '%[17]%'")
        database.execute("UPDATE _store.nests SET text = 'nest x {{ }' WHERE name = 'scale_2'")
        database.execute("UPDATE _store.measurements SET verified = true WHERE outcome = 'crashed'")
        database.execute("UPDATE _store.measurements SET samples = ['nan'::DOUBLE] WHERE evaluation = 1")
        database.execute("UPDATE _store.sources SET algorithm = '' WHERE place = 'number 2'")
    with empty(tmp_path / "new.db") as database:
        report = merge(database, hostile)
        assert report.refused == 3 + 1 + 3 + 3 + 1
        assert any("system" in reason for reason in report.reasons)
        stored = dict(report.stored)
        assert (stored["schedule"], stored["measurement"], stored["nest"], stored["source"]) == (31, 28, 2, 2)


def test_views_in_place_of_tables_reach_no_file(full: Path, tmp_path: Path) -> None:
    """A hostile file may define a view where a table is expected, or read files in it."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    hostile = tmp_path / "hostile.db"
    shutil.copy(full, hostile)
    with duckdb.connect(str(hostile)) as connection:
        connection.execute("ALTER TABLE _store.sources RENAME TO sources_before")
        connection.execute(
            f"CREATE VIEW _store.sources AS SELECT source_id, origin, content AS place, algorithm "
            f"FROM _store.sources_before, read_text('{secret}')"
        )
    with empty(tmp_path / "new.db") as database:
        with pytest.raises(NotADatabase, match="lacks sources"):
            merge(database, hostile)
        assert "secret" not in str(database.rows("FROM _store.sources"))


def test_damaged_or_foreign_parquet(full: Path, tmp_path: Path) -> None:
    with Database.open(full, read_only=True) as database:
        export_parquet(database, tmp_path / "p")
    with empty(tmp_path / "new.db") as database:
        for folder in (tmp_path / "none", tmp_path):
            with pytest.raises(OptdbError):
                import_parquet(database, folder)
        content = (tmp_path / "p" / "run.parquet").read_bytes()
        for wrong in (b"", b"PAR1" + b"x" * 50, content[:-20], content[: len(content) // 2]):
            (tmp_path / "p" / "run.parquet").write_bytes(wrong)
            with pytest.raises((Damaged, OptdbError)):
                import_parquet(database, tmp_path / "p")
        duckdb.sql("SELECT 1 AS x").write_parquet(str(tmp_path / "p" / "run.parquet"))
        with pytest.raises(OptdbError, match="run_id"):
            import_parquet(database, tmp_path / "p")
