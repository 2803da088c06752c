"""`perfembed sql`: options, formats, exit codes, and what goes to which stream."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from optdb.safe_sql import run_query
from perfembed.cli.folders import database_path
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.cli.sql import memory_bytes, query_parameters
from perfembed.errors import UsageError

ROOT = Path(__file__).resolve().parents[3]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE nests AS SELECT range AS id, 'nest ' || range AS name FROM range(20)")
        connection.execute("COMMENT ON TABLE nests IS 'what was tuned'")
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], database: Path) -> Run:
    """perfembed sql(arguments) -> exit code, stdout, stderr."""

    def call(*arguments: str, environment: dict[str, str] | None = None) -> tuple[int, str, str]:
        code = main(["sql", *arguments], Session(environment or {"PERFEMBED_DB": str(database)}))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.gcc
def test_a_table(run: Run) -> None:
    assert run("SELECT id, name FROM nests ORDER BY id LIMIT 2") == (
        0,
        "id  name\n──  ──────\n 0  nest 0\n 1  nest 1\n",
        "",
    )


@pytest.mark.gcc
def test_there_is_more(run: Run) -> None:
    code, out, err = run("FROM nests", "--limit", "2", "--format", "jsonl")
    assert (code, err) == (0, "2 rows shown, there are more: --limit ROWS shows more\n")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [0, 1]


@pytest.mark.gcc
def test_without_a_query_the_views_are_listed(run: Run) -> None:
    assert run() == (0, "nests: what was tuned\n  id    BIGINT\n  name  VARCHAR\n", "")
    code, out, _ = run("--format", "json")
    assert code == 0 and json.loads(out)[1]["column"] == "name"


@pytest.mark.gcc
def test_parameters(run: Run) -> None:
    code, out, _ = run(
        *("SELECT $n + 1 AS n, $t AS t, typeof($q) AS q, $e = '' AS e", "--format", "json"),
        *("--param", "n=2", "--param", "t=a=b;'", "--param", 'q="7"', "--param", "e="),
    )
    assert code == 0
    assert json.loads(out) == [{"n": 3, "t": "a=b;'", "q": "VARCHAR", "e": True}]


def test_values_of_parameters() -> None:
    texts = ["a=1", "b=1.5", "c=true", "d=null", 'e="1"', "f=x", "g=[1]", "h=-3", "i=1e400x"]
    assert query_parameters(texts) == {
        **{"a": 1, "b": 1.5, "c": True, "d": None, "e": "1", "f": "x", "g": "[1]", "h": -3, "i": "1e400x"}
    }
    for wrong in (["a"], ["=1"], ["a b=1"], ["a=1", "a=2"]):
        with pytest.raises(UsageError):
            query_parameters(wrong)


def test_sizes_of_memory() -> None:
    sizes = {"1GiB": 1 << 30, "1.5G": 3 << 29, "512MiB": 512 << 20, "100MB": 10**8, "268435456": 1 << 28}
    assert {text: memory_bytes(text) for text in sizes} == sizes
    for wrong in ("", "x", "1", "-1GiB", "1XiB", "9999999999999G"):
        with pytest.raises(UsageError):
            memory_bytes(wrong)


@pytest.mark.gcc
def test_an_error_points_at_its_place(run: Run) -> None:
    code, out, err = run("SELECT id\nFROM nest")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        'perfembed sql: 2:6: Table with name nest does not exist! Did you mean "nests"?',
        "  FROM nest",
        "       ^",
        "  there is nests",
    ]


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["DROP TABLE nests"], 2, "DROP is not a query"),
        (["FROM read_text('/etc/hostname')"], 2, "no file and no address can be reached"),
        (["SELECT $n"], 2, "parameters: n"),
        (["SELECT 1", "--format", "xml"], 2, "'xml' is not one of 'table', 'csv'"),
        (["SELECT 1", "--limit", "-1"], 2, "--limit -1"),
        (["SELECT 1", "--time", "soon"], 2, "--time 'soon'"),
        (["SELECT 1", "--time", "2d"], 2, "--time '2d'"),
        (["SELECT 1", "--memory", "1"], 2, "--memory '1'"),
        (["SELECT 1", "--db", ""], 2, "the path is empty"),
        (["SELECT 1", "--db", "/nonexistent/x.duckdb"], 2, "no such database"),
        (["SELECT 1", "--db", "/"], 7, "not a DuckDB database"),
        (["--param", "n=1"], 2, "--param without a query"),
        (["SELECT 1", "-o", "/nonexistent/x.csv"], 2, "does not exist"),
        (["SELECT count(*) FROM range(1000000000000)", "--time", "0.2s"], 6, "stopped after 0.2 s"),
        (["SELECT list(range) FROM range(100000000)", "--memory", "64MiB"], 6, "needed more than 64 MiB"),
        (["SELECT repeat('x', 100000) FROM range(100)", "--memory", "64MiB"], 6, "larger than 4 MiB"),
    ],
)
def test_failures(run: Run, arguments: list[str], code: int, words: str) -> None:
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert err.startswith("perfembed sql: ") and words in err and "Traceback" not in err


@pytest.mark.gcc
def test_a_failure_as_json(run: Run) -> None:
    code, out, _ = run("SELEC 1", "--format", "json")
    assert code == 2 and json.loads(out)["error"]["exit_code"] == 2


@pytest.mark.gcc
def test_a_database_in_use(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run_query.__kwdefaults__, "wait_s", 0.1)
    path = tmp_path / "busy.duckdb"
    with duckdb.connect(str(path)) as writer:
        writer.execute("CREATE TABLE t AS SELECT 1")
        code, _, err = run("FROM t", "--db", str(path))
    assert code == 7 and f"process {os.getpid()} " in err


@pytest.mark.gcc
@pytest.mark.parametrize("format_", ["json", "parquet"])
def test_output_to_a_file(run: Run, tmp_path: Path, format_: str) -> None:
    path = tmp_path / "result"
    assert run("SELECT 'é' AS a, 1.5 AS b", "--format", format_, "-o", str(path)) == (0, "", "")
    content = path.read_bytes()
    if format_ == "parquet":
        with duckdb.connect() as connection:
            assert connection.execute(f"FROM read_parquet('{path}')").fetchall()[0][0] == "é"
    else:
        assert "é" in content.decode() and "1.5" in content.decode()


@pytest.mark.gcc
def test_an_output_that_exists_is_kept_on_failure(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text("old")
    assert run("SELECT 1", "--db", str(tmp_path / "none.duckdb"), "-o", str(path))[0] == 2
    assert run("SELEC 1", "-o", str(path))[0] == 2
    assert path.read_text() == "old"
    assert run("SELECT 1 AS a", "--format", "csv", "-o", str(path))[0] == 0
    assert path.read_text() == "a\n1\n"


def test_the_database_is_no_output(run: Run, database: Path, tmp_path: Path) -> None:
    before = database.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(database)
    for name in (str(database), f"{database}.wal", str(link)):
        code, _, err = run("SELECT 1", "-o", name)
        assert code == 2 and "that is the database" in err
    assert database.read_bytes() == before


@pytest.mark.gcc
def test_a_query_on_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("SELECT 'é' AS a -- end".encode())))
    assert run("-", "--format", "csv") == (0, "a\né\n", "")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"SELECT '\xff'")))
    assert run("-")[0] == 2


def test_which_database() -> None:
    everything = {"PERFEMBED_DB": "/p/a.duckdb", "XDG_DATA_HOME": "/x", "HOME": "/h"}
    assert database_path("b.duckdb", everything) == Path("b.duckdb")
    assert database_path(None, everything) == Path("/p/a.duckdb")
    assert database_path(None, {"XDG_DATA_HOME": "/x", "HOME": "/h"}) == Path("/x/perfembed/perfembed.duckdb")
    assert database_path(None, {"XDG_DATA_HOME": "x", "HOME": "/h"}) == Path(
        "/h/.local/share/perfembed/perfembed.duckdb"
    )
    with pytest.raises(UsageError, match="no database is known"):
        database_path(None, {})


def command(database: Path, *arguments: str) -> list[str]:
    code = "from perfembed.cli.main import run; run()"
    return [sys.executable, "-c", code, "sql", "--db", str(database), *arguments]


@pytest.mark.gcc
def test_a_reader_that_leaves(database: Path) -> None:
    words = command(database, "SELECT repeat('x', 1000) FROM range(5000)", "--format", "csv")
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141
    process.stderr.close()


def on_a_terminal(words: list[str]) -> tuple[int, bytes]:
    ours, theirs = pty.openpty()
    environment = {"TERM": "xterm", "COLUMNS": "40", "PATH": os.environ["PATH"]}
    process = subprocess.Popen(words, cwd=ROOT, stdout=theirs, stderr=theirs, stdin=theirs, env=environment)
    os.close(theirs)
    output = b""
    try:
        while chunk := os.read(ours, 4096):
            output += chunk
    except OSError:  # how a pseudo-terminal says that nobody has it open any more
        pass
    os.close(ours)
    return process.wait(60), output


@pytest.mark.gcc
def test_parquet_does_not_go_to_a_terminal(database: Path) -> None:
    code, output = on_a_terminal(command(database, "SELECT 1", "--format", "parquet"))
    assert code == 2 and b"not written to a terminal" in output


@pytest.mark.gcc
@pytest.mark.parametrize("format_", ["table", "csv"])
def test_a_terminal_is_not_steered(database: Path, format_: str) -> None:
    evil = "SELECT chr(27) || '[2Jx' AS \"a\x1b]0;t\x07\", repeat('y', 100) AS b"
    code, output = on_a_terminal(command(database, evil, "--format", format_))
    own = output.replace(b"\x1b[1m", b"").replace(b"\x1b[2m", b"").replace(b"\x1b[0m", b"")
    assert code == 0 and b"\x1b" not in own and b"\x07" not in own
    assert b"\\x1b[2Jx" in own
    if format_ == "table":
        assert all(len(line.decode()) <= 40 for line in own.splitlines())
