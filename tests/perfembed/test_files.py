"""Reading the user's file and writing the tuned one."""

import os
import stat
from pathlib import Path

import pytest

from perfembed.errors import NoTunableNest, PerfembedError, SourceRejected, UsageError
from perfembed.files import check_output, read_document, read_input, write_output


def test_reads_bytes_as_they_are(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_bytes(b"int x;\r\n\xff\xfe")
    assert read_input(str(source)) == b"int x;\r\n\xff\xfe"


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"", NoTunableNest), (b" \n\t\r\n", NoTunableNest), (b"\x7fELF\0\0", SourceRejected), (b"int\0", SourceRejected)],
)
def test_refuses_empty_and_binary_files(tmp_path: Path, content: bytes, error: type[PerfembedError]) -> None:
    source = tmp_path / "a.c"
    source.write_bytes(content)
    with pytest.raises(error, match=r"a\.c"):
        read_input(str(source))


def test_refuses_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "none.c", tmp_path, "/dev/null", "a\0b", "x" * 5000):
        with pytest.raises(UsageError):
            read_input(str(path))


def test_reads_a_document(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"ü": 1}', encoding="utf-8")
    assert read_document(str(path)) == '{"ü": 1}'
    path.write_bytes(b"\xff")
    for wrong, said in ((path, "not UTF-8"), (tmp_path, "a JSON document is expected"), (tmp_path / "x", "no such")):
        with pytest.raises(UsageError, match=said):
            read_document(str(wrong))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_refuses_unreadable_file(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("int x;")
    source.chmod(0)
    with pytest.raises(UsageError, match="Permission denied"):
        read_input(str(source))


def test_output_must_not_be_the_input(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("int x;")
    link, hard = tmp_path / "link.c", tmp_path / "hard.c"
    link.symlink_to(source)
    hard.hardlink_to(source)
    for output in (source, link, hard, tmp_path / "." / "a.c"):
        with pytest.raises(UsageError, match="is the input file"):
            check_output(str(source), str(output), in_place=False)
    check_output(str(source), None, in_place=True)
    check_output(str(source), str(tmp_path / "b.c"), in_place=False)


def test_output_must_be_possible(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("int x;")
    for output in (tmp_path, tmp_path / "none" / "b.c", Path("/dev/null")):
        with pytest.raises(UsageError):
            check_output(str(source), str(output), in_place=False)
    with pytest.raises(UsageError, match="exclude"):
        check_output(str(source), "b.c", in_place=True)


def test_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    plain, written = tmp_path / "plain.c", tmp_path / "written.c"
    plain.write_text("")
    write_output(str(written), b"int x;\n")
    assert written.read_bytes() == b"int x;\n"
    assert written.stat().st_mode == plain.stat().st_mode


def test_existing_file_keeps_mode_and_symlink(tmp_path: Path) -> None:
    real, link = tmp_path / "real.c", tmp_path / "link.c"
    real.write_text("old")
    real.chmod(0o741)
    link.symlink_to(real.name)
    write_output(str(link), b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o741
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.c", "real.c"]


def test_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.c"
    target.write_text("old")

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UsageError, match="No space left"):
        write_output(str(target), b"new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
