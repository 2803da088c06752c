"""`perfembed populate`: its options, its progress, and the job script it prints."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from optdb.database import Database
from perfembed.cli.main import main
from perfembed.cli.populate_progress import populate_progress
from perfembed.cli.session import Session
from perfembed.populating.programs import (
    NestSearched,
    PopulateEvent,
    Program,
    ProgramDone,
    ProgramSkipped,
    ProgramStarted,
    Stored,
)

ONE, TWO = Program("a.c", "a"), Program("b\x1b[31m.c", "b")
EVENTS: tuple[PopulateEvent, ...] = (
    Stored(None),
    ProgramStarted(ONE, 1, 2),
    NestSearched(ONE, "f_0", 10, 2.5, ""),
    NestSearched(ONE, "f_1", 0, None, "it does not run"),
    ProgramDone(ONE),
    Stored(None, "x is locked"),
    ProgramStarted(TWO, 2, 2),
    NestSearched(TWO, "g_0", 2, 0.5, ""),
    ProgramSkipped(TWO, "does not compile"),
)


def shown(color: bool, quiet: bool = False) -> str:
    stream = io.StringIO()
    ticks = iter(range(0, 10_000, 10))
    with populate_progress(stream, color, quiet=quiet, clock=lambda: float(next(ticks))) as progress:
        for event in EVENTS:
            progress(event)
    return stream.getvalue()


def test_plain_progress() -> None:
    assert shown(False).splitlines() == [
        "1/2 a.c: f_0: 10 measured, best 2.50x (3600 labels/h)",
        "1/2 a.c: f_1: 0 measured, it does not run (1800 labels/h)",
        "not stored yet, kept in the spool: x is locked",
        "2/2 b\ufffd[31m.c: g_0: 2 measured, best 0.50x (1440 labels/h, 30 s left)",
        "2/2 b\ufffd[31m.c: skipped: does not compile",
    ]


def test_quiet_progress_tells_what_is_not_stored() -> None:
    assert shown(False, True) == shown(True, True) == "not stored yet, kept in the spool: x is locked\n"


def test_live_progress() -> None:
    text = shown(True)
    assert "1/2 a.c: f_0: 10 measured, best 2.50x" in text and "skipped: does not compile" in text
    assert "1/2 programs, 10 candidates, best 2.50x" in text and "\x1b[31m.c" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to populate with"),
        (["a.c", "--search", "x"], "'x' is not one of"),
        (["a.c", "--search", "transfer"], "--search 'transfer'"),
        (["a.c", "--shard", "3/2"], "--shard '3/2'"),
        (["a.c", "--shard", "0/2"], "--shard '0/2'"),
        (["missing.c"], "missing.c"),
        (["a.c", "--refine"], "--evaluate model+run"),
        (["a.c", "--work", "1e6,1e7"], "--work is for generated programs"),
        (["a.c", "--generate", "2", "--profiles", "--work", "1e6,1e7"], "--work is for generated programs"),
        (["--generate", "1", "--work", "3e7"], "--work '3e7'"),
        (["--generate", "1", "--work", "3e7,1e7"], "1e3 <= least <= most / 4"),
        (["a.c", "--emit-sbatch", "3", "--shard", "1/2"], "makes the shards itself"),
        (["a.c", "--emit-sbatch", "3", "--cluster", "x"], "makes the shards itself"),
    ],
)
def test_wrong_options(arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["populate", *arguments, "--db", str(tmp_path / "x.duckdb")], Session()) == 2
    assert words in capsys.readouterr().err


@pytest.mark.gcc
def test_the_job_script(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepted by bash, and each task does its shard, however odd the names."""
    odd = tmp_path / "it's $(touch hacked)\nx"
    odd.mkdir()
    monkeypatch.chdir(odd)
    for name in ("a b.c", "-c.c", "d.c"):
        (odd / name).write_text(f"int main(void) {{ return {len(name)}; }}\n")
    options = ["--search=random", "--schedules", "2", "--cflags=-O1 -g", "-DX='$(touch hacked)'", "--reassociate"]
    arguments = ["populate", *options, "--db", "my `db`.duckdb", "--emit-sbatch", "2", "--", "a b.c", "-c.c", "d.c"]
    assert main(arguments, Session()) == 0
    script = tmp_path / "job.sh"
    script.write_text(capsys.readouterr().out)
    assert "#SBATCH --array=1-2\n" in script.read_text() and "#SBATCH --exclusive\n" in script.read_text()
    subprocess.run(["bash", "-n", script], check=True)
    assert not shutil.which("perfembed", path=str(tmp_path))
    command = tmp_path / "perfembed"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from perfembed.cli.main import run; run()" "$@"\n')
    command.chmod(0o755)
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(root)}
    for task in ("1", "2"):
        done = subprocess.run(
            ["bash", script], env=environment | {"SLURM_ARRAY_TASK_ID": task}, cwd="/", capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    places = []
    for task in ("1", "2"):
        with Database.open(odd / "my `db`.duckdb.shards" / f"shard-{task}.duckdb", read_only=True) as database:
            places.append({place for (place,) in database.rows("SELECT place FROM _store.sources")})
            assert {s for (s,) in database.rows("SELECT search FROM _store.runs")} == {"random"}
    assert places == [{"a b.c", "d.c"}, {"-c.c"}]
    without = subprocess.run(["bash", script], env=environment, capture_output=True, text=True)
    assert without.returncode != 0 and "start this script with sbatch" in without.stderr
    assert not list(tmp_path.rglob("hacked")) and not Path("/hacked").exists()
    merged = subprocess.run(["bash", script, "merge"], env=environment, cwd="/", capture_output=True, text=True)
    assert merged.returncode == 0, merged.stderr
    with Database.open(odd / "my `db`.duckdb", read_only=True) as database:
        assert database.value("SELECT count(*) FROM _store.sources") == 3
