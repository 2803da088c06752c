"""Writers: lines with checksums, nothing acknowledged that is not on the disk, nothing half-written kept."""

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optdb.errors import DiskFull, OptdbError
from optdb.records import format_record
from optdb.spool import SpoolWriter, format_line, parse_line, spool_directory
from tests.optdb.support import BASE, MACHINE, one


def lines(folder: Path) -> list[bytes]:
    """All lines of the only file."""
    (path,) = folder.glob("*.spool")
    return path.read_bytes().splitlines()


def kinds(folder: Path) -> list[str]:
    found = [parse_line(line) for line in lines(folder)]
    assert [line.sequence for line in found if line] == list(range(len(found)))
    return [line.kind for line in found if line]


def test_the_spool_lies_beside_the_database() -> None:
    assert spool_directory(Path("/x/a.db")) == Path("/x/a.db.spool")


def test_header_records_end(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path / "s") as writer:
        writer.append([MACHINE, *BASE])
        writer.append([])
        writer.append([one(0), one(1)])
    assert kinds(tmp_path / "s") == [
        "spool", "machine", "source", "nest", "conditions", "run", "measurement", "measurement", "end",
    ]  # fmt: skip
    line = parse_line(lines(tmp_path / "s")[1])
    assert line is not None and line.text.decode() == format_record(MACHINE)


def test_a_writer_that_wrote_nothing_leaves_nothing(tmp_path: Path) -> None:
    SpoolWriter(tmp_path / "s").close()
    assert os.listdir(tmp_path / "s") == []


@given(st.integers(0, 10**12), st.integers(0, 10**6), st.integers(0, 7))
def test_every_flipped_bit_shows(sequence: int, place: int, bit: int) -> None:
    line = format_line(sequence, "measurement", '{"a":1}')
    good = parse_line(line[:-1])
    assert good is not None and (good.sequence, good.kind, good.text) == (sequence, "measurement", b'{"a":1}')
    wrong = bytearray(line[:-1])
    wrong[place % len(wrong)] ^= 1 << bit
    assert parse_line(bytes(wrong)) is None
    assert parse_line(line[: place % len(wrong)]) is None


def test_threads_share_a_writer(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as writer:
        threads = [threading.Thread(target=lambda: [writer.append([one(i)]) for i in range(10)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert kinds(tmp_path).count("measurement") == 40


@pytest.mark.gcc
def test_a_forked_child_gets_its_own_file(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path)
    writer.append([one(0)])
    pid = os.fork()
    if pid == 0:
        try:
            writer.append([one(1)])
            writer.close()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    writer.append([one(2)])
    writer.close()
    contents = [path.read_text() for path in tmp_path.glob("*.spool")]
    assert sorted(text.count(" measurement ") for text in contents) == [1, 2]
    assert all(" end " in text for text in contents)


def test_large_files_are_closed(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, rotate_bytes=1500) as writer:
        for i in range(10):
            writer.append([one(i)])
    files = [path.read_text() for path in tmp_path.glob("*.spool")]
    assert len(files) > 2 and all(" end " in text for text in files)
    assert sum(text.count(" measurement ") for text in files) == 10


FULL = """
import resource, sys
from pathlib import Path
from optdb.errors import DiskFull
from optdb.spool import SpoolWriter
from tests.optdb.support import one

folder = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
writer = SpoolWriter(folder)
stored = []
for i in range(0, 40, 2):
    try:
        writer.append([one(i), one(i + 1)])
        stored += [i, i + 1]
    except DiskFull as problem:
        assert "no space left" in problem.message and "kept" in problem.advice
        break
size = sum(path.stat().st_size for path in folder.iterdir())
assert 2000 < size < 5000
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.append([one(100)])
writer.close()
print(stored + [100])
"""


@pytest.mark.gcc
def test_a_full_disk_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: the same partial write, then the same kind of error."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    found = []
    for path in tmp_path.glob("*.spool"):
        content = path.read_bytes()
        assert content.endswith(b"\n")  # the part of a line that fitted is gone
        for text in content.splitlines():
            line = parse_line(text)
            assert line is not None
            if line.kind == "measurement":
                found.append(int(line.text.split(b'"evaluation":')[1].split(b",")[0]))
    assert f"{sorted(found)}" == done.stdout.strip()


def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OptdbError):
        SpoolWriter(tmp_path / "file" / "s")


def test_a_folder_that_vanished(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "s")
    (tmp_path / "s").rmdir()
    with pytest.raises(OptdbError, match="s:"):
        writer.append([one(0)])


def test_the_limits_are_real() -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 5000 and signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
    assert issubclass(DiskFull, OptdbError)
