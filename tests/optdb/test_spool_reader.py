"""Reading a spool file: what is good, and how every kind of damage is named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from optdb.errors import RecordError
from optdb.spool import SpoolWriter, format_line
from optdb.spool_reader import Chunk, Position, SpoolFile
from tests.optdb.support import one


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A closed file of five measurements."""
    with SpoolWriter(tmp_path) as writer:
        writer.append([one(i) for i in range(5)])
    (path,) = tmp_path.glob("*.spool")
    yield path


def read(path: Path, limit: int = 1 << 20) -> Chunk:
    """The whole file, in parts of `limit` bytes."""
    file = SpoolFile(path)
    total, position = Chunk(), Position()
    while True:
        chunk = file.read(position, limit)
        total.records += chunk.records
        total.problems += chunk.problems
        for kind, texts in chunk.texts.items():
            total.texts.setdefault(kind, []).extend(texts)
        if chunk.last or chunk.after == position:
            total.last, total.after = chunk.last, chunk.after
            file.close()
            return total
        position = chunk.after


def edit(path: Path, change: dict[int, bytes | None]) -> None:
    """Replaces or drops lines."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(new for i, old in enumerate(lines) if (new := change.get(i, old)) is not None))


@pytest.mark.parametrize("limit", [1 << 20, 2000, 10])
def test_a_good_file(path: Path, limit: int) -> None:
    chunk = read(path, limit)
    assert (chunk.records, chunk.problems, chunk.last, chunk.after.closed) == (5, [], True, True)
    assert chunk.after == Position(path.stat().st_size, 7, True)


def test_a_damaged_line_is_skipped_and_counted(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    edit(path, {2: lines[2].replace(b"timed", b"timid")})
    chunk = read(path)
    (problem,) = chunk.problems
    assert (chunk.records, problem.lost, problem.line) == (4, 1, 2)
    assert problem.reason == "a damaged line: the checksum does not fit"
    assert problem.byte_offset == len(lines[0] + lines[1])


def test_a_flipped_line_end_joins_two(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    edit(path, {2: lines[2][:-1] + b"\x0b"})
    (problem,) = read(path).problems
    assert problem.lost == 2


def test_a_new_line_end_splits_one(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    edit(path, {3: lines[3][:50] + b"\n" + lines[3][51:]})
    (problem,) = read(path).problems
    assert (problem.lost, problem.reason) == (1, "2 damaged lines: the checksum does not fit")


def test_missing_lines(path: Path) -> None:
    edit(path, {2: None, 3: None})
    (problem,) = read(path).problems
    assert (problem.lost, problem.reason) == (2, "2 lines are missing before this one")


def test_a_line_again(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    edit(path, {3: lines[3] + lines[2]})
    chunk = read(path)
    assert (chunk.records, [p.lost for p in chunk.problems]) == (5, [0])


def test_a_torn_end(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b" end ") - 40])
    chunk = read(path)
    assert chunk.records == 4 and chunk.last
    assert [p.reason.split(":")[0] for p in chunk.problems] == [
        f"the last {len(content[: content.rindex(b' end ') - 40].split(bytes([10]))[-1])} bytes are no whole line",
        "no closing line",
    ]


def test_cut_at_a_line_end(path: Path) -> None:
    edit(path, {5: None, 6: None})
    chunk = read(path)
    assert chunk.records == 4 and [p.reason[:15] for p in chunk.problems] == ["no closing line"]


def test_an_empty_file(path: Path) -> None:
    path.write_bytes(b"")
    chunk = read(path)
    assert chunk.last and [p.reason[:15] for p in chunk.problems] == ["no closing line"]


def test_garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 50)
    chunk = read(path, 1000)
    assert chunk.records == 0 and chunk.problems and chunk.last


def test_a_whole_line_that_is_no_record(path: Path) -> None:
    edit(path, {2: format_line(2, "measurement", '{"a":1}'), 3: format_line(3, "recipe", "{}")})
    chunk = read(path)
    assert (chunk.records, [p.lost for p in chunk.problems], [p.line for p in chunk.problems]) == (3, [1, 1], [2, 3])
    assert "recipe" in chunk.problems[1].reason


def test_a_later_format_is_refused(path: Path) -> None:
    edit(path, {0: format_line(0, "spool", '{"format":2,"process":1}')})
    with pytest.raises(RecordError, match="format 1"):
        read(path)


def test_a_living_writer(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path)
    writer.append([one(0)])
    (path,) = tmp_path.glob("*.spool")
    with open(path, "ab") as file:
        file.write(b"half a line")
    chunk = read(path)
    assert (chunk.records, chunk.last, chunk.problems) == (1, False, [])
    writer.close()
