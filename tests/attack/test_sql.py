"""Hostile SQL: whatever a query says, nothing outside the database is read, nothing is written, nobody is called."""

import hashlib
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from optdb.safe_sql import QueryFailed, QueryLimits, QueryResult, run_query

pytestmark = pytest.mark.gcc

SENTINEL = "SENTINEL-6f1d"
secret_frame = {"x": [SENTINEL]}  # what a replacement scan would find

# {db} the database queried, {other} another one, {dir} a folder of files that hold the sentinel, {port} a local server.
FILES = [
    "FROM read_csv('{dir}/secret.csv')",
    "FROM read_csv_auto('{dir}/*.csv')",
    "FROM '{dir}/secret.csv'",
    'FROM "{dir}/secret.csv"',
    "FROM read_text('{dir}/secret.txt')",
    "FROM read_text('{dir}/../{name}/secret.txt')",
    "FROM read_text('file:{dir}/secret.txt')",
    "FROM read_text('file://{dir}/secret.txt')",
    "FROM read_text(['{db}', '{dir}/secret.txt'])",
    "FROM read_blob('{dir}/*')",
    "FROM read_blob('{db}')",
    "FROM read_blob('{db}.wal')",
    "FROM read_text('/proc/self/environ')",
    "FROM read_text('/proc/self/cmdline')",
    "FROM read_text('/dev/stdin')",
    "FROM read_blob('/dev/fd/0')",
    "FROM read_json('{dir}/secret.json')",
    "FROM read_json_auto('{dir}/secret.json')",
    "FROM read_ndjson('{dir}/secret.json')",
    "FROM read_ndjson_objects('{dir}/secret.json')",
    "FROM '{dir}/secret.json'",
    "FROM read_parquet('{dir}/secret.parquet')",
    "FROM parquet_scan('{dir}/secret.parquet')",
    "FROM parquet_metadata('{dir}/secret.parquet')",
    "FROM parquet_kv_metadata('{dir}/secret.parquet')",
    "FROM parquet_schema('{dir}/secret.parquet')",
    "FROM '{dir}/secret.parquet'",
    "FROM glob('{dir}/*')",
    "FROM glob('/**')",
    "FROM sniff_csv('{dir}/secret.csv')",
    "FROM read_duckdb('{other}')",
    "FROM '{other}'",
    "FROM read_xlsx('{dir}/secret.xlsx')",
    "FROM st_read('{dir}/secret.csv')",
    "SELECT (SELECT content FROM read_text('{dir}/secret.txt'))",
    "WITH t AS (FROM read_text('{dir}/secret.txt')) FROM t",
    "FROM query('FROM read_text(''{dir}/secret.txt'')')",
    "FROM query_table('{dir}/secret.csv')",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{dir}/secret.txt'')'))",
    "DESCRIBE FROM read_csv('{dir}/secret.csv')",
    "SUMMARIZE FROM read_csv('{dir}/secret.csv')",
    "EXPLAIN ANALYZE FROM read_csv('{dir}/secret.csv')",
    "SELECT getvariable('x'), getenv('SECRET')",
    "FROM hostile_view",
    "SELECT hostile_macro()",
]
WRITES = [
    "COPY nests TO '{dir}/new.csv'",
    "COPY nests TO '{db}.wal'",
    "COPY nests TO '{dir}/new.parquet' (FORMAT parquet)",
    "COPY nests FROM '{dir}/secret.csv'",
    "COPY (SELECT 1) TO '/dev/stdout'",
    "COPY (SELECT 1) TO '/proc/self/fd/1'",
    "COPY FROM DATABASE warehouse TO other",
    "EXPLAIN ANALYZE COPY nests TO '{dir}/new.csv'",
    "EXPLAIN ANALYZE COPY nests TO '{db}' (USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY nests TO '{db}.wal' (USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY nests TO '{dir}/parts' (FORMAT csv, PARTITION_BY (id))",
    "WITH x AS (COPY nests TO '{db}.wal' (USE_TMP_FILE false)) FROM x",
    "WITH x AS (COPY nests TO '{dir}/new.csv') SELECT 1",
    "FROM query('WITH x AS (COPY nests TO ''{dir}/new.csv'') FROM x')",
    "EXPORT DATABASE '{dir}/export'",
    "IMPORT DATABASE '{dir}'",
    "EXPLAIN ANALYZE INSERT INTO nests VALUES (99, 'x')",
    "WITH x AS (INSERT INTO nests VALUES (99, 'x') RETURNING *) FROM x",
    "WITH x AS (DELETE FROM nests RETURNING *) FROM x",
    "WITH x AS (UPDATE nests SET id = 0 RETURNING *) FROM x",
    "INSERT INTO nests VALUES (99, 'x')",
    "UPDATE nests SET name = 'x'",
    "DELETE FROM nests",
    "TRUNCATE nests",
    "DROP TABLE nests",
    "DROP VIEW hostile_view",
    "ALTER TABLE nests ADD COLUMN x INT",
    "CREATE TABLE x AS SELECT 1",
    "CREATE OR REPLACE VIEW nests AS SELECT 1",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE MACRO f() AS TABLE FROM read_text('{dir}/secret.txt')",
    "CREATE FUNCTION f() AS 1",
    "CREATE TYPE mood AS ENUM ('a')",
    "CREATE SEQUENCE s",
    "CREATE INDEX i ON nests (id)",
    "CREATE SCHEMA s",
    "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "CREATE SECRET s (TYPE http, BEARER_TOKEN 'b')",
    "CHECKPOINT",
    "FORCE CHECKPOINT",
    "FROM force_checkpoint()",
    "VACUUM",
    "VACUUM ANALYZE nests",
    "COMMENT ON TABLE nests IS 'x'",
    "BEGIN TRANSACTION",
    "SELECT nextval('counter')",
    "FROM enable_logging(storage = 'file', storage_config = {{'path': '{dir}/log'}})",
    "FROM enable_profiling(save_location = '{dir}/profile.json')",
    "SELECT 1; COPY nests TO '{dir}/new.csv'",
    "SELECT 1) LIMIT 1; COPY nests TO '{dir}/new.csv'; --",
    "SELECT * FROM (SELECT 1)) TO '{dir}/new.csv' --",
]
DOORS = [
    "ATTACH '{other}' AS other",
    "ATTACH '{db}' AS again",
    "ATTACH '{dir}/new.duckdb'",
    "ATTACH 'http://127.0.0.1:{port}/x.duckdb' AS h (READ_ONLY)",
    "ATTACH 'host=127.0.0.1 port={port}' AS p (TYPE postgres)",
    "ATTACH 'md:'",
    "DETACH warehouse",
    "USE memory",
    "INSTALL httpfs",
    "INSTALL httpfs FROM 'http://127.0.0.1:{port}'",
    "FORCE INSTALL spatial FROM community",
    "LOAD httpfs",
    "LOAD '{dir}/evil.duckdb_extension'",
    "UPDATE EXTENSIONS",
    "FROM read_csv('http://127.0.0.1:{port}/x.csv')",
    "FROM 'http://127.0.0.1:{port}/x.parquet'",
    "FROM read_parquet('https://127.0.0.1:{port}/x.parquet')",
    "FROM read_text('s3://127.0.0.1:{port}/bucket/x')",
    "FROM read_text('hf://datasets/x/y')",
    "FROM read_text('gcs://bucket/x')",
    "SELECT http_get('http://127.0.0.1:{port}/')",
    "FROM postgres_scan('host=127.0.0.1 port={port}', 'public', 't')",
    "FROM sqlite_scan('{dir}/secret.txt', 't')",
    "FROM secret_frame",
    "FROM python_map_function(TABLE nests)",
    "FROM pandas_scan(140000000000000)",
    "FROM arrow_scan(1, 2, 3)",
    "FROM python_arrow_scan(1)",
    "FROM seq_scan()",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET GLOBAL allowed_directories = ['/']",
    "SET disabled_filesystems = ''",
    "SET temp_directory = '{dir}'",
    "SET memory_limit = '1TB'",
    "SET VARIABLE x = (SELECT content FROM read_text('{dir}/secret.txt'))",
    "RESET disabled_filesystems",
    "RESET lock_configuration",
    "PRAGMA enable_external_access = true",
    "PRAGMA database_list",
    "PRAGMA enable_profiling = 'json'",
    "PRAGMA profile_output = '{dir}/profile.json'",
    "PRAGMA import_database('{dir}')",
    "CALL pragma_version()",
    "CALL enable_logging(storage_path = '{dir}/log')",
    "CALL force_checkpoint()",
    "SELECT set_config('enable_external_access', 'true', false)",
    "FROM duckdb_secrets()",
    "FROM which_secret('s3://x', 's3')",
    "FROM duckdb_extensions()",
    "FROM duckdb_external_file_cache()",
    "FROM duckdb_settings()",
    "SELECT current_setting('secret_directory'), current_setting('enable_external_access')",
    "PREPARE p AS FROM read_text('{dir}/secret.txt')",
    "EXECUTE p",
    "DEALLOCATE p",
    "FROM register_external_resource('x', 'y', 'z')",
    "FROM create_external_resource('x')",
    "SELECT write_log('x', level := 'error')",
    "SELECT * FROM storage_info('nests')",
    ".read {dir}/secret.txt",
    ".shell touch {dir}/new",
    ".open {other}",
    "SELECT '{dir}/secret.txt' AS \"\x1b]0;owned\x07\"",
    "\ufeffSELECT 1",
    "SELECT 1 \x00; FROM read_text('{dir}/secret.txt')",
    "SELECT " + "(" * 10_000 + "1" + ")" * 10_000,
    "SELECT " + "-" * 9_999 + " 1",
    "SELECT " + "NOT " * 50_000 + "true",
    "SELECT " + "[" * 5_000 + "]" * 5_000,
    "SELECT 1" + " + 1" * 100_000,
    "FROM " + ", ".join(["nests"] * 300),
    "SELECT '" + "[" * 100_000 + "'::JSON",
    "SELECT 1" + " UNION ALL SELECT 1" * 3_000,
    "WITH " + ", ".join(f"t{k} AS (SELECT 1)" for k in range(3_000)) + " SELECT 1",
    "SELECT CASE" + " WHEN true THEN 1" * 20_000 + " END",
    "/*" * 50_000,
    "$" * 100_000,
    "SELECT icu_sort_key('x', 'no-such-locale'), strftime(now(), repeat('%c', 100000))",
]
# Each of them would run for ages or take all there is.
RUNAWAYS = [
    "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
    "SELECT " + ", ".join(map(str, range(20_000))),
    "SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b",
    "SELECT lpad('x', 900000000, 'y')",
    "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))",
    "SELECT list(range) FROM range(10000000000)",
    "SELECT repeat('x', 4000000000)",
    "SELECT sum(range) FROM generate_series(1, 1000000000000) t(range)",
    "FROM range(1000000000) ORDER BY hash(range)",
    "SELECT count(DISTINCT hash(range)) FROM range(100000000000)",
    "SELECT list_sort(range(100000000))",
    "SELECT range(0, 4000000000)",
    "SELECT list_transform(range(3000000), lambda x: list_sum(range(x)))",
    "SELECT list_reduce(range(100000000), lambda a, b: a + b)",
    "SELECT string_agg(range::VARCHAR, repeat('x', 1000000)) FROM range(100000)",
    "SELECT regexp_replace(repeat('a', 50000000), '(a|aa)+$', 'b', 'g')",
    "SELECT regexp_matches(repeat('a', 50000000), '((a*)*)*((b*)*)*c{{1000}}')",
    "SELECT repeat('x', 100000) FROM range(10000)",
    "WITH RECURSIVE t AS (SELECT 'x' AS s UNION ALL SELECT s || s FROM t) SELECT max(length(s)) FROM t",
    "WITH RECURSIVE t AS (SELECT [1] AS l UNION ALL SELECT l || l FROM t) SELECT count(*) FROM t",
    "SELECT * FROM range(100000) a JOIN range(100000) b ON a.range <> b.range ORDER BY random()",
    "SELECT array_agg({{'a': range, 'b': repeat('y', 1000)}}) FROM range(100000000)",
    "EXPLAIN ANALYZE SELECT count(*) FROM range(1000000000000)",
    "SELECT printf('%0900000000d', 1)",
    "SELECT bar(1, 0, 1, 1000000000)",
    "SELECT 'x' LIKE repeat('%a', 10000000)",
    "SELECT jaro_winkler_similarity(repeat('a', 10000000), repeat('ab', 5000000))",
    "SELECT unnest(generate_series(1, 2000000000))",
    "SELECT date_trunc('day', x) FROM generate_series(DATE '0001-01-01', DATE '9999-12-31', INTERVAL 1 microsecond) t(x)",
]


@dataclass(frozen=True)
class Arena:
    folder: Path
    database: Path
    other: Path
    server: socket.socket

    def state(self) -> dict[str, str]:
        """Every file below the folder with its hash."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file() or path.is_symlink())
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def called(self) -> bool:
        try:
            self.server.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def fill(self, sql: str) -> str:
        if not sql.startswith(("SELECT (((", "SELECT [[")) and "{" in sql:
            names = {"dir": self.folder, "db": self.database, "other": self.other, "name": self.folder.name}
            return sql.format(port=self.server.getsockname()[1], **names)
        return sql


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("arena")
    for suffix, text in (("txt", SENTINEL), ("csv", f"a,b\n1,{SENTINEL}\n"), ("json", f'{{"a": "{SENTINEL}"}}\n')):
        (folder / f"secret.{suffix}").write_text(text)
    database, other = folder / "warehouse.duckdb", folder / "other.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute(f"CREATE TABLE nests AS SELECT '{SENTINEL}' AS name")
        connection.execute(f"COPY nests TO '{folder}/secret.parquet'")
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE nests AS SELECT range AS id, 'nest ' || range AS name FROM range(100)")
        connection.execute("CREATE SEQUENCE counter")
        connection.execute(f"CREATE VIEW hostile_view AS FROM read_text('{folder}/secret.txt')")
        connection.execute(f"CREATE MACRO hostile_macro() AS (SELECT content FROM read_text('{folder}/secret.txt'))")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield Arena(folder, database, other, server)


def attack(arena: Arena, sql: str, limits: QueryLimits) -> QueryResult | QueryFailed:
    """Runs the statement and checks that nothing but its own outcome came of it."""
    before, here = arena.state(), sorted(os.listdir())
    outcome: QueryResult | QueryFailed
    try:
        outcome = run_query(arena.database, arena.fill(sql), limits=limits)
        shown = repr(outcome.rows)
    except QueryFailed as failure:
        outcome = failure
        shown = f"{failure.message} {failure.advice}"
    assert SENTINEL not in shown
    assert arena.state() == before
    assert sorted(os.listdir()) == here
    assert not arena.called()
    return outcome


def named(statements: list[str], quick: int) -> list[object]:
    """Every statement once; all but every `quick`-th only in the slow run."""
    marks = [() if place % quick == 0 else pytest.mark.slow for place in range(len(statements))]
    return [
        pytest.param(sql, id=sql[:60].encode("unicode_escape").decode(), marks=mark)
        for sql, mark in zip(statements, marks, strict=True)
    ]


def test_the_arena_is_worth_attacking(arena: Arena) -> None:
    """Unprotected, the same statements do read and write: the checks can fail."""
    with duckdb.connect(str(arena.other), read_only=True) as connection:
        for suffix, reader in (("parquet", "read_parquet"), ("csv", "read_csv"), ("json", "read_json")):
            rows = connection.execute(f"FROM {reader}('{arena.folder}/secret.{suffix}')").fetchall()
            assert SENTINEL in repr(rows)
    before = arena.state()
    (arena.folder / "new").touch()
    assert arena.state() != before
    (arena.folder / "new").unlink()
    with socket.create_connection(arena.server.getsockname()):
        assert arena.called()
    assert run_query(arena.database, "SELECT count(*) FROM nests").rows == ((100,),)


def test_there_are_enough() -> None:
    statements = FILES + WRITES + DOORS + RUNAWAYS
    assert len(set(statements)) == len(statements) >= 200


@pytest.mark.parametrize("sql", named(FILES, 8))
def test_nothing_outside_is_read(arena: Arena, sql: str) -> None:
    outcome = attack(arena, sql, QueryLimits(rows=10))
    assert isinstance(outcome, QueryFailed) or "read_blob('{db}" in sql, outcome


@pytest.mark.parametrize("sql", named(WRITES, 4))
def test_nothing_is_written(arena: Arena, sql: str) -> None:
    outcome = attack(arena, sql, QueryLimits(rows=10))
    assert isinstance(outcome, QueryFailed), outcome
    assert outcome.kind in ("statement", "refused", "name", "syntax", "value"), outcome


@pytest.mark.parametrize("sql", named(DOORS, 8))
def test_no_door_opens(arena: Arena, sql: str) -> None:
    outcome = attack(arena, sql, QueryLimits(rows=10, seconds=5.0))
    assert isinstance(outcome, QueryResult) or outcome.kind != "system"


@pytest.mark.parametrize("sql", named(RUNAWAYS, 12))
def test_a_runaway_is_stopped(arena: Arena, sql: str) -> None:
    outcome = attack(arena, sql, QueryLimits(rows=10, seconds=0.5, memory_bytes=256 << 20, result_bytes=1 << 20))
    assert outcome.seconds < 1.5
    if isinstance(outcome, QueryFailed):
        assert outcome.kind in ("time", "memory", "size", "value", "name"), outcome
