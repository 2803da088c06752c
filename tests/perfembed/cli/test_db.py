"""`perfembed db`: what is in a database, is it whole, in and out, smaller."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from optdb.database import Database
from optdb.ingest import ingest
from optdb.maintenance import compact
from optdb.records import format_record
from optdb.spool import SpoolWriter, spool_directory
from perfembed.cli.db import moment
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import UsageError
from perfembed.measuring.store import settle
from perfembed.report.database_info import bytes_text, time_text
from tests.optdb.support import BASE, MACHINE, dump, filled, measurement, stream

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[3]
PER_NEST = 4 + 2 * 5  # source, nest, conditions, run; schedules and measurements


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Of a database of three nests and 15 measurements."""
    found = tmp_path_factory.mktemp("db") / "a.duckdb"
    filled(found).close()
    return found.read_bytes()


@pytest.fixture
def path(tmp_path: Path, content: bytes) -> Path:
    found = tmp_path / "our.duckdb"
    found.write_bytes(content)
    return found


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], path: Path) -> Run:
    """perfembed db(arguments) -> exit code, stdout, stderr."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        code = main(["db", *map(str, arguments)], Session({"PERFEMBED_DB": str(path)}))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def document(result: tuple[int, str, str], code: int = 0) -> dict[str, Any]:
    assert result[0] == code, result[2]
    found: dict[str, Any] = json.loads(result[1])
    assert found["schema_version"] == 1
    return found


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with Database.open(path, read_only=True) as database:
        return dump(database)


def wait_in_spool(path: Path, first: int = 50) -> int:
    """Leaves the records of one more nest in the spool; how many."""
    records = list(stream(1, 5, first=first))
    with SpoolWriter(spool_directory(path)) as writer:
        writer.append(records)
    return len(records)


# ------------------------------------------------------------------------------------- info


def test_info(run: Run, path: Path) -> None:
    found = document(run("info", "--json"))
    assert found["rows"] == {
        **{"machines": 1, "sources": 3, "nests": 3, "conditions": 3, "schedules": 15, "runs": 3},
        **{"measurements": 15, "profiles": 0, "embeddings": 0},
    }
    assert found["bytes"] == path.stat().st_size and found["migrations"][0] == "initial_schema"
    assert found["outcomes"] == {"timed": 15} and found["verified"] == 15 and found["lost"] == 0
    assert found["machines"] == [
        {"machine": MACHINE.machine, "cpu_model": "Made-up CPU", "cores": 2, "measurements": 15}
    ]
    assert found["algorithms"] == {"algorithm-0": 1, "algorithm-1": 1, "algorithm-2": 1}
    assert [r["measurements"] for r in found["runs"]] == [5, 5, 5] and found["unfinished_runs"] == 3
    assert found["waiting"] == {"records": 0, "bytes": 0, "files": 0}

    code, out, err = run("info")
    assert (code, err) == (0, "")
    assert out.startswith(f"{path}\n") and "  waiting  nothing\n" in out
    assert "  measurements  15\n" in out and "  timed  15, 15 verified\n" in out
    assert "last of 3 runs, 3 not ended\n" in out and "2027-01-15 08:00 UTC" in out


def test_info_counts_what_waits(run: Run, path: Path) -> None:
    first, second = list(stream(1, 5, first=10)), list(stream(2, 5, first=20))
    with SpoolWriter(spool_directory(path)) as writer:
        writer.append(first)
        assert document(run("info", "--json"))["waiting"]["records"] == len(first)
        with Database.open(path) as database:
            ingest(database, spool_directory(path))
        assert document(run("info", "--json"))["waiting"]["records"] == 0
        writer.append(second)
    waiting = document(run("info", "--json"))["waiting"]
    assert waiting["records"] == len(second) and waiting["files"] == 1 and waiting["bytes"] > 1000
    code, out, _ = run("info")
    assert code == 0 and f"{len(second)} records (" in out and "db prune --compact takes them in" in out


def test_a_stored_name_does_not_steer_the_terminal(run: Run, path: Path) -> None:
    with Database.open(path) as database:
        database.execute("UPDATE _store.machines SET cpu_model = 'a' || chr(27) || '[2J' || chr(10) || 'b'")
    for arguments in (["info"], ["info", "--json"]):
        code, out, _ = run(*arguments)
        assert code == 0 and "\x1b" not in out
    assert json.loads(out)["machines"][0]["cpu_model"] == "a\x1b[2J\nb"


def test_sizes_and_times() -> None:
    assert [bytes_text(n) for n in (0, 940, 1024, 6303744, 300 << 20, 3 << 40)] == [
        *("0 B", "940 B", "1 KiB", "6.01 MiB", "300 MiB", "3 TiB")
    ]
    assert time_text(1.8e9) == "2027-01-15 08:00 UTC" and time_text(1e300) == "1e+300 s"


# ------------------------------------------------------------------------------------ check


def test_check(run: Run, path: Path) -> None:
    code, out, err = run("info", "--check")
    assert (code, err) == (0, "") and out == f"{path}: consistent; 43 rows read\n"
    assert document(run("info", "--check", "--json"))["consistent"] is True


def test_check_lists_what_is_wrong(run: Run, path: Path) -> None:
    with Database.open(path) as database:
        database.execute("DELETE FROM _store.runs WHERE seed = 1")
        database.execute("UPDATE _store.measurements SET min_s = 1 WHERE evaluation = 2")
    code, out, _ = run("info", "--check")
    assert code == 1 and out.startswith(f"{path}: 2 findings; 42 rows read\n")
    assert "  measurements  1  run_id is not in _store.runs" in out
    assert "  measurements  3  derived times differ from samples" in out
    findings = document(run("info", "--check", "--json"), 1)["findings"]
    assert [(f["table"], f["count"]) for f in findings] == [("measurements", 1), ("measurements", 3)]


def test_check_of_a_damaged_file(run: Run, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[12288:] = bytes(len(content) - 12288)  # everything behind the headers
    path.write_bytes(content)
    code, out, err = run("info", "--check")
    assert (code, out) == (7, "") and err.startswith(f"perfembed db: {path}: the file is damaged: ")
    assert "restore the file from a backup" in err
    error = document(run("info", "--json"), 7)["error"]
    assert error["exit_code"] == 7


# ------------------------------------------------------------------------------------ merge


def test_merge_twice_is_merge_once(run: Run, path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    filled(other, nests=5).close()
    untouched = other.read_bytes()
    first = document(run("import", other, "--json"))["taken_in"]
    assert [(t["from"], sum(t["new"].values()), t["known"], t["refused"]) for t in first] == [
        (str(other), 2 * PER_NEST, 1 + 3 * PER_NEST, 0)
    ]
    merged = rows(path)
    assert merged == rows(other) and other.read_bytes() == untouched
    code, out, err = run("import", other)
    assert (code, out, err) == (0, f"{other}: 0 new, {1 + 5 * PER_NEST} known, 0 refused\n", "")
    assert rows(path) == merged


def test_merge_into_a_new_database_and_never_across_machines(run: Run, path: Path, tmp_path: Path) -> None:
    """The same nest and schedules measured elsewhere stay beside ours."""
    elsewhere = replace(MACHINE, machine="fedcba9876543210", cpu_model="Another CPU")
    source, nest, conditions, of_run = BASE
    there = replace(conditions, machine=elsewhere.machine)
    other, new = tmp_path / "other.duckdb", tmp_path / "folder" / "new.duckdb"
    lines = [
        elsewhere,
        source,
        nest,
        there,
        of_run,
        *(r for i in range(5) for r in measurement(nest, there, of_run, i)),
    ]
    (tmp_path / "other.jsonl").write_text(
        "".join(f'{{"kind":"{r.KIND}","record":{format_record(r)}}}\n' for r in lines)
    )
    assert run("import", tmp_path / "other.jsonl", "--db", other)[0] == 0
    code, out, _ = run("import", path, other, "--db", new)
    assert code == 0 and out.splitlines()[1].endswith("(1 machine, 1 conditions, 5 measurements), 8 known, 0 refused")
    machines = document(run("info", "--db", new, "--json"))["machines"]
    assert [(m["machine"], m["measurements"]) for m in machines] == [(MACHINE.machine, 15), (elsewhere.machine, 5)]
    with Database.open(new, read_only=True) as database:
        found = database.rows("SELECT machine, count(*) FROM best_schedules GROUP BY 1 ORDER BY 2")
    assert found == [(elsewhere.machine, 1), (MACHINE.machine, 3)]


def test_merge_refuses_what_does_not_fit(run: Run, path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    with filled(other, nests=4) as database:
        database.execute(
            "UPDATE _store.schedules SET text = 'system(1)' WHERE nest_id = (SELECT max(nest_id) FROM nests)"
        )
    before = rows(path)["schedules"]
    code, out, _ = run("import", other)
    assert code == 1 and ", 5 refused\n" in out and "  schedule: not a schedule: " in out
    assert all("system" not in str(row) for row in rows(path)["schedules"])
    assert set(before) <= set(rows(path)["schedules"])


def test_merge_takes_in_what_waits(run: Run, path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    filled(other).close()
    waiting = wait_in_spool(other)
    before = sum(len(found) for found in rows(path).values())
    code, _, err = run("import", other)
    assert (code, err) == (0, "")
    assert sum(len(found) for found in rows(path).values()) > before and waiting > 0


# -------------------------------------------------------------------------- export and import


@pytest.mark.parametrize("name", ["out", "out.jsonl"])
def test_what_is_exported_comes_back(run: Run, path: Path, tmp_path: Path, name: str) -> None:
    waiting = wait_in_spool(path)
    target, new = tmp_path / name, tmp_path / "new.duckdb"
    total = 1 + 3 * PER_NEST + waiting - 1  # the machine is known
    assert document(run("export", target, "--json"))["rows"]["records"] == total
    code, out, err = run("import", target, "--db", new)
    assert (code, err) == (0, "") and out.startswith(
        f"{target}: {total} new (1 machine, 4 sources, 4 nests, 4 conditions"
    )
    assert rows(new) == rows(path)
    assert run("import", target, "--db", new)[1] == f"{target}: 0 new, {total} known, 0 refused\n"
    assert run("info", "--check", "--db", new)[0] == 0


@pytest.mark.parametrize("name", ["out", "out.jsonl"])
def test_export_overwrites_nothing(run: Run, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    target.write_text("mine")
    code, out, err = run("export", target)
    assert (code, out) == (2, "") and "exists already" in err
    assert target.read_text() == "mine"


def test_export_only_reads_where_nothing_waits(run: Run, path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    assert run("export", tmp_path / "out")[0] == 0
    assert path.read_bytes() == before and not path.with_name(path.name + ".lock.new").exists()


def test_import_refuses_a_line(run: Run, path: Path, tmp_path: Path) -> None:
    before = rows(path)
    (tmp_path / "bad.jsonl").write_text('{"kind":"nest","record":{"nest_id":"x"}}\nnot JSON\n')
    code, out, _ = run("import", tmp_path / "bad.jsonl")
    assert code == 1 and "0 new, 0 known, 2 refused\n" in out and "line 2: not JSON" in out
    assert document(run("import", tmp_path / "bad.jsonl", "--json"), 1)["taken_in"][0]["refused"] == 2
    assert rows(path) == before


# --------------------------------------------------------------------------- prune and compact


def test_prune_shows_first(run: Run, path: Path) -> None:
    before = path.read_bytes()
    of_run = BASE[3].run_id
    for extra in ([], ["--dry-run"]):
        code, out, _ = run("prune", "--run", of_run, *extra)
        assert code == 0 and path.read_bytes() == before
        assert out == (
            "would delete 5 of 15 measurements\n"
            f"  machine {MACHINE.machine}  run {of_run}  5\n"
            "nothing was changed: --yes deletes\n"
        )


def test_prune(run: Run, path: Path) -> None:
    found = document(run("prune", "--machine", MACHINE.machine, "--before", "2027-01-15T08:00:03", "--yes", "--json"))
    assert found["deleted"] == 9 == sum(c["measurements"] for c in found["chosen"]) and not found["dry_run"]
    left = rows(path)
    assert len(left["measurements"]) == 6 == len(left["schedules"]) and len(left["nests"]) == 3
    assert document(run("prune", "--before", "2000-01-01", "--yes", "--json"))["deleted"] == 0
    code, out, _ = run("prune", "--run", BASE[3].run_id, "--yes")
    assert code == 0 and out.startswith("deleted 2 of 6 measurements\n")
    assert len(rows(path)["measurements"]) == 4 and run("info", "--check")[0] == 0


def test_prune_reaches_what_waits(run: Run, path: Path) -> None:
    wait_in_spool(path)
    assert document(run("prune", "--machine", MACHINE.machine, "--yes", "--json"))["deleted"] == 20
    assert document(run("info", "--json"))["rows"]["measurements"] == 0


def test_dates() -> None:
    assert moment("2027-01-15T08:00") == moment("2027-01-15T09:00+01:00") == 1.8e9
    assert moment("1970-01-02") == 86400
    for wrong in ("", "yesterday", "1.8e9", "2027-13-01"):
        with pytest.raises(UsageError, match="--before"):
            moment(wrong)


def test_compact(run: Run, path: Path) -> None:
    with Database.open(path) as database:
        database.execute("CREATE TABLE _store.hole AS SELECT uuid() AS id FROM range(200000)")
        database.checkpoint()
        wait_in_spool(path)
        ingest(database, spool_directory(path))
        database.execute("DROP TABLE _store.hole")
    wait_in_spool(path, first=60)
    before = path.stat().st_size
    found = document(run("prune", "--compact", "--json"))
    assert found["after"] == path.stat().st_size < found["before"] == before
    assert len(rows(path)["measurements"]) == 25 and run("info", "--check")[0] == 0
    code, out, _ = run("prune", "--compact")
    assert code == 0 and out.startswith(f"{path}: ") and " -> " in out


def test_damage_in_the_spool_is_said(run: Run, path: Path) -> None:
    wait_in_spool(path)
    (file,) = spool_directory(path).glob("*.spool")
    lines = file.read_bytes().split(b"\n")
    lines[3] = b"x" + lines[3][1:]
    file.write_bytes(b"\n".join(lines))
    code, _, err = run("prune", "--compact")
    assert code == 0 and "the spool holds damaged parts, 1 record lost: " in err
    assert document(run("info", "--json"))["lost"] == 1
    code, out, _ = run("info", "--check")
    assert code == 1 and "1 damaged part of spool files left out" in out  # whatever referred to it, too


# ------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["info", "--db", "{new}"], "there is no such database"),
        (["info", "--check", "--db", "{new}"], "there is no such database"),
        (["prune", "--compact", "--db", "{new}"], "there is no such database"),
        (["prune", "--run", "x", "--yes", "--db", "{new}"], "there is no such database"),
        (["export", "{new}.out", "--db", "{new}"], "there is no such database"),
        (["import", "{new}"], "there is no such database, file or folder"),
        (["import", "{our}"], "cannot be taken into itself"),
        (["info", "--db", ""], "the path is empty"),
        (["export", "{new}/x/y"], "does not exist"),
        (["import", "{folder}"], "holds no Parquet files"),
        (["prune"], "nothing is chosen"),
        (["prune", "--run", "1234"], "--run '1234': not in "),
        (["prune", "--machine", "1234", "--yes"], f"there is {MACHINE.machine}"),
        (["prune", "--before", "soon"], "--before 'soon'"),
        (["prune", "--before", "2020-01-01", "--yes", "--dry-run"], "exclude each other"),
        (["import"], "missing argument"),
        (["import", "x" * 5000], "there is no such database"),
        (["export", "x" * 5000], "too long"),
        (["vacuum"], "no such command"),
    ],
)
def test_wrong_usage(run: Run, path: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "text").write_text("not a database\n" * 1000)
    (tmp_path / "folder").mkdir()
    new = tmp_path / "new.duckdb"
    names = {"new": new, "our": path, "text": tmp_path / "text", "folder": tmp_path / "folder"}
    before = path.read_bytes()
    code, out, err = run(*(argument.format(**names) for argument in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("perfembed db") and words in err and "Traceback" not in err
    assert path.read_bytes() == before and not new.exists()


@pytest.mark.parametrize("foreign", [b"", b"not a database\n" * 1000, None])
def test_what_is_no_database(run: Run, path: Path, tmp_path: Path, foreign: bytes | None) -> None:
    other = tmp_path / "other"
    other.mkdir() if foreign is None else other.write_bytes(foreign)
    for arguments in (["info", "--db", str(other)], ["import", str(other), "--db", str(path)]):
        code, out, err = run(*arguments)
        if foreign is None and arguments[0] == "import":  # a folder is an export
            assert code == 2 and str(other) in err
        else:
            assert (code, out) == (7, "") and err == f"perfembed db: {other}: not a DuckDB database\n"


@pytest.mark.gcc
def test_in_use(run: Run, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for waits in (inspect.unwrap(Database.open), compact, settle):
        monkeypatch.setitem(waits.__kwdefaults__, "wait_s", 0.1)
    code = (
        "import sys; from optdb.database import Database\n"
        f"with Database.open({str(path)!r}): print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "open\n"
        for arguments in (["info"], ["prune", "--compact"], ["prune", "--before", "2020-01-01"]):
            found, out, err = run(*arguments)
            assert (found, out) == (7, "") and f"process {holder.pid}" in err and os.getpid() != holder.pid
        holder.communicate("")
    assert run("info")[0] == 0
