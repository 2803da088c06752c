"""Queries on a database: values, limits, errors with their place, and what becomes of the child."""

import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from optdb.errors import Damaged, Locked, MissingDatabase, NotADatabase
from optdb.locks import reader_waits
from optdb.safe_sql import Column, QueryFailed, QueryLimits, describe_database, run_query

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sql") / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE times AS SELECT range AS id, range / 4 AS seconds FROM range(1000)")
        connection.execute("CREATE VIEW fastest AS FROM times ORDER BY seconds LIMIT 1")
        connection.execute("COMMENT ON VIEW fastest IS 'the fastest of all'")
    return path


def failed(database: Path, sql: str, limits: QueryLimits | None = None, **more: object) -> QueryFailed:
    with pytest.raises(QueryFailed) as caught:
        run_query(database, sql, limits=limits or QueryLimits(), **more)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.gcc
def test_every_kind_of_value(database: Path) -> None:
    sql = """
        SELECT true AS b, -5::TINYINT AS i, 170141183460469231731687303715884105727 AS h, 0.1::FLOAT AS f,
               1e-300::DOUBLE AS d, 'nan'::DOUBLE AS nan, '-inf'::FLOAT AS inf, 1.10::DECIMAL(38, 20) AS dec,
               'é\U0001f600' || chr(27) || chr(0) AS s, '\\x00\\xFF'::BLOB AS x, NULL AS n,
               TIMESTAMP_NS '2024-02-29 12:00:00.123456789' AS ns, TIMESTAMPTZ '2024-01-01 00:00:00+02' AS tz,
               'infinity'::TIMESTAMP AS forever, DATE '12024-01-01' AS late, TIME '24:00:00' AS midnight,
               INTERVAL '1 month 2 days' AS gap, 'a'::ENUM ('a') AS e, '101'::BIT AS bits,
               12345678901234567890123456789012345678901234567890::BIGNUM AS big,
               'c7d2bb3c-0000-4000-8000-000000000000'::UUID AS u,
               [1.5, NULL]::FLOAT[] AS l, [1, 2]::INTEGER[2] AS a, {'k': [{'z': 'nan'::DOUBLE}]} AS st,
               map {'k': 1} AS m, union_value(v := 7) AS un, '{"a": [1, 2.50]}'::JSON AS j, []::VARCHAR[] AS none"""
    result = run_query(database, sql)
    (row,) = result.rows
    found = dict(zip((column.name for column in result.columns), row, strict=True))
    nan, nested = found.pop("nan"), found.pop("st")
    assert isinstance(nan, float) and math.isnan(nan)
    assert isinstance(nested, dict) and math.isnan(nested["k"][0]["z"])
    assert found == {
        "b": True,
        "i": -5,
        "h": 2**127 - 1,
        "f": 0.1,
        "d": 1e-300,
        "inf": -math.inf,
        "dec": Decimal("1.10"),
        "s": "é\U0001f600\x1b\0",
        "x": b"\x00\xff",
        "n": None,
        "ns": "2024-02-29 12:00:00.123456789",
        "tz": "2023-12-31 22:00:00+00",
        "forever": "infinity",
        "late": "12024-01-01",
        "midnight": "24:00:00",
        "gap": "1 month 2 days",
        "e": "a",
        "bits": "101",
        "big": "12345678901234567890123456789012345678901234567890",
        "u": "c7d2bb3c-0000-4000-8000-000000000000",
        "l": [Decimal("1.5"), None],
        "a": [1, 2],
        "m": {"k": 1},
        "un": {"v": 7},
        "j": {"a": [1, Decimal("2.50")]},
        "none": [],
    }
    kinds = {column.name: column.type for column in result.columns}
    assert (kinds["h"], kinds["dec"], kinds["a"]) == ("HUGEINT", "DECIMAL(38,20)", "INTEGER[2]")


@pytest.mark.gcc
def test_json_that_nobody_should_expand(database: Path) -> None:
    sql = "SELECT '1e999999999'::JSON, '[1e99999999999999999999]'::JSON, ($deep)::JSON, ($flat)::JSON"
    deep, flat = "[" * 500 + "]" * 500, f"[{', '.join(['[]'] * 500)}]"
    (row,) = run_query(database, sql, parameters={"deep": deep, "flat": flat}).rows
    assert row == (Decimal("1e999999999"), "[1e99999999999999999999]", deep, [[]] * 500)


@pytest.mark.gcc
def test_rows_keep_their_order_and_are_cut(database: Path) -> None:
    result = run_query(database, "FROM times ORDER BY id DESC", limits=QueryLimits(rows=3))
    assert [row[0] for row in result.rows] == [999, 998, 997]
    assert result.truncated
    exact = run_query(database, "FROM times ORDER BY id DESC LIMIT 3", limits=QueryLimits(rows=3))
    assert (exact.rows, exact.truncated) == (result.rows, False)
    none = run_query(database, "FROM times", limits=QueryLimits(rows=0))
    assert (none.rows, none.truncated) == ((), True)
    assert [column.name for column in none.columns] == ["id", "seconds"]


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1;", ((1,),)),
        ("SELECT ';' -- ; no\n; /* ; /* nested */ */ ;;", ((";",),)),
        ("-- first\nVALUES (1), (2)", ((1,), (2,))),
        ("(SELECT 2 ORDER BY 1)", ((2,),)),
        ("WITH t AS (SELECT 3) FROM t", ((3,),)),
        ("SHOW TABLES", (("fastest",), ("times",))),
        ("SELECT column_name FROM (DESCRIBE times)", (("id",), ("seconds",))),
        ("SELECT 1 AS a, 2 AS a", ((1, 2),)),
    ],
)
def test_what_counts_as_one_query(database: Path, sql: str, rows: tuple[tuple[object, ...], ...]) -> None:
    assert run_query(database, sql).rows == rows


@pytest.mark.gcc
def test_explain(database: Path) -> None:
    result = run_query(database, "EXPLAIN FROM times WHERE id = $n", parameters={"n": 3})
    assert [column.name for column in result.columns] == ["explain_key", "explain_value"]
    assert "times" in str(result.rows)


@pytest.mark.gcc
def test_parameters_are_values(database: Path) -> None:
    evil = "'; DROP TABLE times; --\x1b"
    values = {"s": evil, "i": 2**100, "d": Decimal("1.50"), "x": b"\0\xff", "l": [1, None], "f": 0.5, "n": None}
    result = run_query(database, "SELECT $s, $i, $d, $x, $l, $f, $n", parameters=values)
    assert result.rows == ((evil, 2**100, Decimal("1.50"), b"\0\xff", [1, None], 0.5, None),)
    moments = run_query(database, "SELECT ?, ?", parameters=[datetime(2024, 1, 2, 3, 4, 5, 6), date(2024, 1, 2)])
    assert moments.rows == (("2024-01-02 03:04:05.000006", "2024-01-02"),)


@pytest.mark.gcc
def test_parameters_that_do_not_fit(database: Path) -> None:
    assert failed(database, "SELECT $n").kind == "parameter"
    assert failed(database, "SELECT $n", parameters={"m": 1}).kind == "parameter"
    assert failed(database, "SELECT ?", parameters=[1, 2]).kind == "parameter"
    assert "more than 128 bits" in failed(database, "SELECT ?", parameters=[2**128]).message
    assert "type set" in failed(database, "SELECT ?", parameters=[{1}]).message


@pytest.mark.gcc
def test_an_error_says_where(database: Path) -> None:
    problem = failed(database, "SELECT 'é', id\nFROM time")
    assert (problem.kind, problem.position) == ("name", (2, 6))
    assert "Did you mean" in problem.message and "\n" not in problem.message
    assert problem.advice == "there is fastest"
    syntax = failed(database, "SELECT id\nFROM times\nWHER id = 1")
    assert (syntax.kind, syntax.position) == ("syntax", (3, 6))
    assert failed(database, "SELECT ä FROM times").position == (1, 8)
    assert failed(database, "SELECT 'x'::INTEGER").kind == "value"
    assert failed(database, 'FROM "out of memory: configuration has been locked"').kind == "name"
    assert failed(database, "SELECT " + "(" * 2_000 + "1" + ")" * 2_000).message == "the query is nested too deeply"


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("", "no query"),
        (" ; -- x", "no query"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("DROP TABLE times", "DROP is not a query"),
        ("SET threads = 2", "SET is not a query"),
        ("PIVOT times ON id USING sum(seconds)", "PIVOT"),
        ("SELECT '\ud800'", "UTF-8"),
        ("SELECT 1" + " " * (1 << 20), "longer than 1 MiB"),
    ],
)
def test_what_is_not_one_query(database: Path, sql: str, words: str) -> None:
    problem = failed(database, sql)
    assert problem.kind == "statement" and words in problem.message


@pytest.mark.gcc
def test_pivot_with_named_columns(database: Path) -> None:
    assert run_query(database, "PIVOT times ON id IN (4, 8) USING sum(seconds)").rows == ((1.0, 2.0),)


@pytest.mark.gcc
def test_limits(database: Path) -> None:
    quick = QueryLimits(seconds=0.5, memory_bytes=128 << 20, result_bytes=1 << 20)
    late = failed(database, "SELECT count(*) FROM range(1000000000000)", quick)
    assert (late.kind, late.message) == ("time", "stopped after 0.5 s")
    assert 0.5 <= late.seconds < 30
    stubborn = failed(database, "SELECT lpad('x', 100000000, 'y')", quick)  # ends only when killed
    assert stubborn.kind == "time" and stubborn.seconds < 30
    hungry = failed(database, "SELECT list(range) FROM range(100000000)", quick)
    assert (hungry.kind, hungry.message) == ("memory", "needed more than 128 MiB of memory")
    large = failed(database, "SELECT repeat('x', 10000) FROM range(1000)", quick)
    assert (large.kind, large.message) == ("size", "the result is larger than 1 MiB")


@pytest.mark.parametrize("limits", [QueryLimits(rows=-1), QueryLimits(seconds=0), QueryLimits(memory_bytes=0)])
def test_limits_that_cannot_be(database: Path, limits: QueryLimits) -> None:
    assert failed(database, "SELECT 1", limits).kind == "parameter"


@pytest.mark.gcc
def test_databases_that_cannot_be_opened(tmp_path: Path, database: Path) -> None:
    with pytest.raises(MissingDatabase, match="no such database"):
        run_query(tmp_path / "none.duckdb", "SELECT 1")
    with pytest.raises(NotADatabase):
        run_query(tmp_path, "SELECT 1")
    text = tmp_path / "text.duckdb"
    text.write_text("not a database\n" * 1000)
    with pytest.raises(NotADatabase):
        run_query(text, "SELECT 1")
    assert list(tmp_path.iterdir()) == [text]


@pytest.mark.gcc
def test_damage_that_only_a_query_meets(tmp_path: Path) -> None:
    path = tmp_path / "q.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT md5(i::VARCHAR) AS s FROM range(30000) r(i)")
    content = bytearray(path.read_bytes())
    content[-10_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damaged, match="the file is damaged"):
        run_query(path, "SELECT count(DISTINCT s) FROM t")
    assert failed(path, "SELECT error('Corrupt database file')").kind == "value"


@pytest.mark.gcc
def test_a_database_in_use(tmp_path: Path) -> None:
    path = tmp_path / "busy.duckdb"
    with duckdb.connect(str(path)) as writer:
        writer.execute("CREATE TABLE t AS SELECT 1 AS x")
        with pytest.raises(Locked) as caught:
            run_query(path, "FROM t", wait_s=0.3)
        assert f"process {os.getpid()} " in caught.value.message
        assert "wait until it has ended" in caught.value.advice
    assert run_query(path, "FROM t").rows == ((1,),)
    with duckdb.connect(str(path), read_only=True):
        assert run_query(path, "FROM t").rows == ((1,),)


@pytest.mark.gcc
def test_a_query_waits_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "busy.duckdb"
    writer = duckdb.connect(str(path))
    writer.execute("CREATE TABLE t AS SELECT 1 AS x")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run_query, path, "FROM t")
        while not reader_waits(path):
            assert not waiting.done()
            time.sleep(0.01)
        writer.close()
        assert waiting.result().rows == ((1,),)
    assert not reader_waits(path)


@pytest.mark.gcc
def test_what_a_killed_writer_left_is_read_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "wal.duckdb"
    code = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute('PRAGMA disable_checkpoint_on_shutdown');"
        "c.execute('CREATE TABLE t AS SELECT 42 AS x'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert set(before) == {"wal.duckdb", "wal.duckdb.wal"}
    assert run_query(path, "FROM t").rows == ((42,),)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.gcc
def test_describe_database(database: Path) -> None:
    result = describe_database(database)
    assert result.rows == (
        ("fastest", "id", "BIGINT", "the fastest of all"),
        ("fastest", "seconds", "DOUBLE", "the fastest of all"),
        ("times", "id", "BIGINT", None),
        ("times", "seconds", "DOUBLE", None),
    )
    assert result.columns[0] == Column("view", "VARCHAR", "text")


def children(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


@pytest.mark.gcc
def test_the_child_dies_with_its_parent(database: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from optdb.safe_sql import *;"
        "run_query(Path(sys.argv[1]), 'SELECT count(*) FROM range(1000000000000)', limits=QueryLimits(seconds=60))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(database)], cwd=ROOT)
    try:
        deadline = time.monotonic() + 20
        while not (found := children(parent.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(found) == 1
        threads = Path(f"/proc/{found[0]}/task")
        while len(list(threads.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)  # into the query
        assert len(list(threads.iterdir())) == 2  # itself and its timer
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 5
    while os.path.exists(f"/proc/{found[0]}") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not os.path.exists(f"/proc/{found[0]}") or " Z " in Path(f"/proc/{found[0]}/stat").read_text()


@pytest.mark.gcc
def test_no_child_is_left(database: Path) -> None:
    before = children(os.getpid())
    run_query(database, "SELECT 1")
    failed(database, "SELECT lpad('x', 100000000, 'y')", QueryLimits(seconds=0.1))
    assert children(os.getpid()) == before
