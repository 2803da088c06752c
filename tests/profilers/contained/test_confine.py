"""What a confined process can still do: compute. Each of the kernel's means is tried alone as well."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[3]

TRY = """
import ctypes, os, socket, sys
from profilers.contained import confine as c
folder, means = sys.argv[1:]
if means == "all":
    held = c.confine()
else:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    import platform
    ok = c._landlock(libc) if means == "landlock" else c._seccomp(libc, platform.machine())
    held = (means,) if ok else ()
done = []
def attempt(name, action):
    try:
        action()
    except (OSError, RuntimeError):
        return
    done.append(name)
attempt("read", lambda: open(folder + "/a").read())
attempt("write", lambda: open(folder + "/new", "w"))
attempt("append", lambda: os.open(folder + "/a", os.O_WRONLY | os.O_APPEND))
attempt("truncate", lambda: os.truncate(folder + "/a", 0))
attempt("remove", lambda: os.unlink(folder + "/a"))
attempt("rename", lambda: os.rename(folder + "/a", folder + "/b"))
attempt("folder", lambda: os.mkdir(folder + "/d"))
attempt("list", lambda: os.listdir(folder))
attempt("link", lambda: os.symlink("a", folder + "/l"))
attempt("socket", socket.socket)
attempt("execute", lambda: os.execv("/bin/sh", ["sh", "-c", "echo ran"]))
attempt("fork", lambda: os.fork() or os._exit(0))
attempt("compute", lambda: sum(range(1000)))
print(*held, "|", *done, flush=True)
os._exit(0)
"""


def tried(folder: Path, means: str) -> tuple[list[str], list[str]]:
    """What took effect, and what still worked."""
    (folder / "a").write_text("content")
    done = subprocess.run(
        [sys.executable, "-c", TRY, str(folder), means], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    held, _, worked = done.stdout.partition("|")
    assert (folder / "a").read_text() == "content"
    assert [path.name for path in folder.iterdir()] == ["a"]
    return held.split(), worked.split()


@pytest.mark.gcc
def test_nothing_but_computing_is_left(tmp_path: Path) -> None:
    held, worked = tried(tmp_path, "all")
    assert held and worked == ["compute"]


@pytest.mark.gcc
@pytest.mark.parametrize(("means", "left"), [("landlock", ["socket", "fork", "compute"]), ("seccomp", ["compute"])])
def test_each_means_alone(tmp_path: Path, means: str, left: list[str]) -> None:
    held, worked = tried(tmp_path, means)
    if not held:
        pytest.skip(f"this kernel has no {means}")
    assert worked == left  # Landlock leaves sockets (not TCP connections) and processes


HOLE = """
import sys, duckdb
from profilers.contained.confine import confine
database, confined = sys.argv[1:]
connection = duckdb.connect(database, read_only=True, config={
    "enable_external_access": "false", "threads": "1", "async_threads": "0"})
connection.execute("SET lock_configuration = true")
if confined == "yes":
    confine()
try:
    connection.execute(f"EXPLAIN ANALYZE COPY t TO '{database}' (USE_TMP_FILE false)")
except duckdb.Error as error:
    print(str(error)[:80])
"""


def overwritten(folder: Path, confined: str) -> bool:
    """Whether a query that writes to the database it reads changes a byte of it."""
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", HOLE, str(path), confined], cwd=ROOT, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return path.read_bytes() != before


@pytest.mark.gcc
def test_a_confined_query_does_not_overwrite_its_database(tmp_path: Path) -> None:
    assert not overwritten(tmp_path, "yes")


@pytest.mark.skipif(
    tuple(int(part) for part in duckdb.__version__.split(".")[:3] if part.isdecimal()) >= (2, 0, 1),
    reason="DuckDB 2.0.1 has closed the hole",
)
def test_duckdb_alone_lets_the_database_be_overwritten(tmp_path: Path) -> None:
    """Why the kernel is needed with the versions before."""
    assert overwritten(tmp_path, "no")
