"""The compiler wrapper: like the compiler itself, and faster where the database knows how."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from optdb.records import RunRecord, SourceRecord
from perfembed.measuring.database_ledger import DatabaseLedger, Origin
from perfembed.measuring.measurer import Checked
from perfembed.measuring.store import Store, conditions_record, installed_versions, settle
from profilers.machine import describe_machine
from profilers.outcome import Timed, WrongResult
from profilers.timing import compare_apart
from scheduler.frontend import ParseOptions, read_source
from scheduler.replay import Replayer
from scheduler.schedule import parse_schedule

pytestmark = pytest.mark.gcc

ROOT = Path(__file__).parents[3]
FLAGS = ("-O2", "-march=native")
WORK = """#include <assert.h>
#include <stdio.h>
#include "size.h"
static double a[N][N], b[N][N];
static int where(void) { return __LINE__; }
void turn(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[j][i] = 2 * b[i][j];
}
int main(int argc, char **argv)
{
    int unused;
    b[3][5] = argc;
    turn();
    printf("%g %s %d %d\\n", a[5][3], __FILE__, where(), __LINE__);
    assert(argc < 2);
    return argv == 0;
}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "size.h").write_text("#define N 200\n")
    (folder / "src" / "work.c").write_text(WORK)
    monkeypatch.chdir(folder)
    return folder


def known(database: Path, *schedules: str, flags: tuple[str, ...] = FLAGS, wrong: str = "", gain: float = 2.0) -> None:
    """What a tuning of `turn` leaves there."""
    source = read_source("src/work.c", ParseOptions(FLAGS))
    (nest,) = source.nests
    machine = describe_machine()
    run = RunRecord("1" * 32, 0, "transfer", 60.0, installed_versions(), "tune", time.time())
    record = SourceRecord.of(WORK, "file", "src/work.c", "work")
    store = Store(database, run, machine)
    store.begin()
    store.append([record])
    conditions = conditions_record(machine, "gcc", "gcc 12", (*flags, "-fopenmp"), 2, nest, {}, False)
    ledger = DatabaseLedger(store, Origin(nest, record.source_id, conditions), resume=False)
    ledger.begin(Replayer(nest), Timed((1.0, 1.1)))
    for schedule in schedules:
        faster = compare_apart(Timed((1.0, 1.1)), Timed((1.0 / gain, 1.05 / gain)))
        ledger.confirmed(parse_schedule(schedule), faster, Checked(("equal",), inputs=(None, 1), tolerance=0.0))
    if wrong:
        ledger.refuted(parse_schedule(wrong), WrongResult("", 0, 0.0, "another output"))
    store.end(time.time())
    settle(database)


def cc(
    *words: str, database: Path | str = "none", memory_bytes: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    program = "import sys; from perfembed.cli.entry import run; sys.argv[0] = 'perfembed'; run()"
    variables = {
        "PATH": os.defpath,
        "PYTHONPATH": str(ROOT),
        "PERFEMBED_DB": str(database),
        "XDG_CACHE_HOME": str(Path.cwd() / "cache"),
        **environment,
    }
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory_bytes,) * 2)) if memory_bytes else None
    words = (sys.executable, "-c", program, "cc", *words)
    return subprocess.run(words, env=variables, capture_output=True, text=True, check=False, preexec_fn=limit)


def output(path: str = "./a.out", *arguments: str) -> str:
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=True).stdout


def parallel(path: str) -> bool:
    return b"GOMP_parallel" in Path(path).read_bytes()


EXPECTED = "2 src/work.c 5 16\n"


def test_objects_programs_and_what_they_need(project: Path, tmp_path: Path) -> None:
    database = tmp_path / "a.duckdb"
    known(database, "parallelize(i)")
    done = cc(*FLAGS, "-Wall", "-v", "-c", "src/work.c", "-o", "work.o", "-MMD", database=database)
    assert done.returncode == 0 and "spliced src/work.c: turn_0 (2.00x)" in done.stderr
    assert "src/work.c:13:9: warning: unused variable" in done.stderr.replace("‘unused’ ", "")
    assert parallel("work.o") and Path("work.d").read_text().startswith("work.o: src/work.c")
    assert cc("work.o", database=database).returncode == 0  # the flag for linking is added
    assert output() == EXPECTED
    done = cc(*FLAGS, "src/work.c", "-o", "program", database=database)
    assert done.returncode == 0 and done.stderr == "" and parallel("program") and output("./program") == EXPECTED
    failed = subprocess.run(["./program", "x"], capture_output=True, text=True, check=False)
    assert "src/work.c:17: main" in failed.stderr
    done = cc(*FLAGS, "-S", "src/work.c", database=database)
    assert done.returncode == 0 and "GOMP_parallel" in Path("work.s").read_text()
    done = cc(*FLAGS, "-fopenmp", "-c", "src/work.c", database=database)
    assert done.returncode == 0 and parallel("work.o")
    assert sorted(path.name for path in project.iterdir() if path.name.startswith(".")) == []


def test_the_database_in_front(project: Path, tmp_path: Path) -> None:
    known(tmp_path / "a.duckdb", "parallelize(i)")
    for option in (("--db", str(tmp_path / "a.duckdb")), (f"--db={tmp_path / 'a.duckdb'}",)):
        assert cc(*option, *FLAGS, "-c", "src/work.c").returncode == 0 and parallel("work.o")
        os.unlink("work.o")


@pytest.mark.parametrize(
    ("schedules", "more"),
    [
        ((), {}),
        (("parallelize(i)",), {"flags": ("-O3", "-march=native")}),
        (("parallelize(i)",), {"flags": ("-O2",)}),
        (("parallelize(i)",), {"wrong": "parallelize(i)"}),
        (("parallelize(i)",), {"gain": 0.9}),
    ],
)
def test_what_was_not_confirmed_for_this_is_not_used(
    project: Path, tmp_path: Path, schedules: tuple[str, ...], more: dict[str, str]
) -> None:
    database = tmp_path / "a.duckdb"
    known(database, *schedules, **more)  # type: ignore[arg-type]
    done = cc(*FLAGS, "-c", "src/work.c", database=database)
    assert done.returncode == 0 and done.stderr == "" and not parallel("work.o")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("#define N 200", "#define N 200\n#ifdef _OPENMP\nextern int omp;\n#endif"), "it means something else"),
        (("#define N 200", "#define N 200\n#pragma omp declare simd\nint h(int);"), "it means something else"),
        (("static int", "/* __BASE_FILE__ */ static int"), "depends on the file's own name"),
        (("a[j][i] = 2", "a[j][i] = 3"), "has nothing for its nests"),
    ],
)
def test_a_file_that_would_mean_something_else_is_compiled_as_it_is(
    project: Path, tmp_path: Path, change: tuple[str, str], reason: str
) -> None:
    database = tmp_path / "a.duckdb"
    known(database, "parallelize(i)")
    for path in (project / "src").iterdir():
        path.write_text(path.read_text().replace(*change))
    done = cc(*FLAGS, "-v", "-c", "src/work.c", database=database)
    assert done.returncode == 0 and reason in done.stderr and not parallel("work.o")


def test_a_schedule_that_is_not_legal_is_not_used(project: Path, tmp_path: Path) -> None:
    """The text of a database is not trusted: an edited one is proved like any other."""
    database = tmp_path / "a.duckdb"
    source = project / "src" / "work.c"
    source.write_text(WORK.replace("a[j][i] = 2 * b[i][j]", "a[i][j] = 2 * a[(i + 1) % N][j]"))
    known(database, "parallelize(i)")
    done = cc(*FLAGS, "-v", "-c", "src/work.c", database=database)
    assert done.returncode == 0 and "none of the schedules" in done.stderr and not parallel("work.o")


def test_everything_else_is_the_compilers(project: Path, tmp_path: Path) -> None:
    database = tmp_path / "a.duckdb"
    known(database, "parallelize(i)")
    (project / "bad.c").write_text("int f(void) { return x; }\nfor\n")
    (project / "c.cc").write_text("int main() { for (int i = 0; i < 9; i++) ; return 0; }\n")
    real = subprocess.run(["gcc", "-O2", "-c", "bad.c"], capture_output=True, text=True, check=False)
    for place in ("none", database):
        done = cc("-O2", "-c", "bad.c", database=place)
        assert (done.returncode, done.stderr) == (real.returncode, real.stderr)
        assert '# 1 "src/work.c"' in cc("-O2", "-E", "src/work.c", database=place).stdout
        assert cc("--version", database=place).stdout.startswith("gcc")
        assert cc("-O2", "-fsyntax-only", "src/work.c", database=place).returncode == 0
        assert cc("-O2", "-c", "c.cc", database=place).stderr == ""
        assert "C++ is compiled as it is" in cc("-v", "-O2", "-c", "c.cc", database=place).stderr
        assert "no input files" in cc(database=place).stderr
    assert cc("--version", PERFEMBED_CC="env gcc").stdout.startswith("gcc")
    assert "no-such" in cc("-c", "src/work.c", PERFEMBED_CC="no-such").stderr


def test_a_broken_database_is_no_reason_not_to_compile(project: Path, tmp_path: Path) -> None:
    (tmp_path / "a.duckdb").write_text("no database")
    done = cc(*FLAGS, "-c", "src/work.c", database=tmp_path / "a.duckdb")
    assert done.returncode == 0 and done.stderr == "" and Path("work.o").exists()


def test_a_file_that_cannot_be_read_is_compiled_as_it_is_and_said(project: Path, tmp_path: Path) -> None:
    database = tmp_path / "a.duckdb"
    known(database, "parallelize(i)")
    assert cc(*FLAGS, "-c", "src/work.c", database=database).stderr == "" and parallel("work.o")  # the cache is made
    done = cc(*FLAGS, "-c", "src/work.c", database=database, memory_bytes=200 << 20)
    assert done.returncode == 0 and not parallel("work.o")
    assert (
        "warning: src/work.c: compiled as it is, without its schedules: the C parser ran out of memory" in done.stderr
    )


def test_a_database_that_changes_is_read_again(project: Path, tmp_path: Path) -> None:
    database = tmp_path / "a.duckdb"
    known(database)
    assert cc(*FLAGS, "-c", "src/work.c", database=database).returncode == 0 and not parallel("work.o")
    known(database, "parallelize(i)")
    assert cc(*FLAGS, "-c", "src/work.c", database=database).returncode == 0 and parallel("work.o")
