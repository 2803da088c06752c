"""Temporary folders and files: gone at the end, and after a kill with the next run; nobody else's, and none in use."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from profilers.contained import scratch
from profilers.contained.scratch import make_removable, scratch_folder, sweep, unfinished_file

PROGRAM = """
import sys
from profilers.contained.scratch import make_removable, scratch_folder, unfinished_file
with scratch_folder(sys.argv[1]) as folder, unfinished_file(sys.argv[1]) as file:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "c").write_text("something")
    file.write_text("half")
    print(folder.name, file.name, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], set[str]]]:
    """One that has a folder and a file; their names."""
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    one = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert one.stdout is not None
        yield one, set(one.stdout.readline().split())
    finally:
        one.kill()
        one.communicate()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_nothing_stays(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder, unfinished_file(tmp_path) as file:
        (folder / "sub").mkdir()
        (folder / "sub" / "x").write_text("x")
        assert file.read_bytes() == b"" and file.stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700 and folder.parent == tmp_path
        file.write_text("whole")
        os.replace(file, tmp_path / "result")
    with pytest.raises(KeyError), scratch_folder(tmp_path), unfinished_file(tmp_path):
        raise KeyError
    assert names(tmp_path) == {"result"} and (tmp_path / "result").read_text() == "whole"


def test_the_folder_for_such_is_where_python_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder() as folder:
        assert folder.parent == tmp_path and re.fullmatch(rf"perfembed-{os.getpid()}-[0-9a-f]{{12}}", folder.name)


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_is_in_use_is_not(tmp_path: Path) -> None:
    with process(tmp_path) as (dead, its), process(tmp_path) as (_living, used):
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        assert names(tmp_path) == its | used and len(its) == 2
        with scratch_folder(tmp_path) as mine:
            assert names(tmp_path) == used | {mine.name}
    with unfinished_file(tmp_path) as file:
        assert names(tmp_path) == {file.name}


def test_only_what_is_certainly_ours_is_removed(tmp_path: Path) -> None:
    kept = ["perfembed-abcdefgh", "perfembed-1-xyz", "perfembed-12-0123456789ab.c", "perfembed-1-0123456789AB", "other"]
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / "perfembed-7-0123456789ab").write_text("a file of that name")
    (tmp_path / ".perfembed-7-0123456789ab").mkdir()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "x").write_text("x")
    (tmp_path / "perfembed-8-0123456789ab").symlink_to(tmp_path / "precious")
    (tmp_path / ".perfembed-8-0123456789ab").symlink_to(tmp_path / "precious" / "x")
    os.mkfifo(tmp_path / ".perfembed-9-0123456789ab")
    before = names(tmp_path)
    (tmp_path / "perfembed-6-0123456789ab").mkdir()
    (tmp_path / "perfembed-6-0123456789ab" / "link").symlink_to(tmp_path / "precious")
    sweep(tmp_path)
    assert names(tmp_path) == before and (tmp_path / "precious" / "x").exists()
    sweep(tmp_path / "missing")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_nothing_of_another_user_is_removed(tmp_path: Path) -> None:
    folder, file = tmp_path / "perfembed-6-0123456789ab", tmp_path / ".perfembed-6-0123456789ab"
    folder.mkdir()
    file.write_text("")
    for path in (folder, file):
        os.chown(path, 65534, 65534)
    sweep(tmp_path)
    assert names(tmp_path) == {folder.name, file.name}


def test_one_that_is_swept_before_it_could_be_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real_name, real_at = scratch._name, scratch._is_at

    def name(prefix: str) -> str:
        made.append(real_name(prefix))
        return made[-1]

    def is_at(path: Path, status: os.stat_result) -> bool:
        if len(made) == 1:
            shutil.rmtree(path)
        return real_at(path, status)

    monkeypatch.setattr(scratch, "_name", name)
    monkeypatch.setattr(scratch, "_is_at", is_at)
    with scratch_folder(tmp_path) as folder:
        assert len(made) == 2 and folder.name == made[1] and folder.is_dir()


def test_many_that_make_and_sweep_at_once(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom profilers.contained.scratch import scratch_folder, unfinished_file\nfor _ in range(60):\n"
        "    with scratch_folder(sys.argv[1]) as a, unfinished_file(sys.argv[1]) as b:\n"
        "        (a / 'x').write_text('x')\n        b.write_text('y')\n"
        "        assert (a / 'x').read_text() + b.read_text() == 'xy'\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stderr=subprocess.PIPE) for _ in range(6)
    ]
    assert [one.communicate()[1] for one in running] == [b""] * len(running)
    assert names(tmp_path) == set()


def test_a_folder_that_is_still_written_to_is_removed_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that a killed process had started lives on for a moment."""
    left = tmp_path / "perfembed-6-0123456789ab"
    left.mkdir()
    rounds = iter(range(3))
    real = shutil.rmtree

    def removing(path: Path, ignore_errors: bool = False) -> None:
        real(path, ignore_errors=ignore_errors)
        if next(rounds, None) is not None:
            (path / "late").mkdir(parents=True)

    monkeypatch.setattr(shutil, "rmtree", removing)
    sweep(tmp_path)
    assert not left.exists()


def test_threads_have_folders_of_their_own(tmp_path: Path) -> None:
    found = []

    def make() -> None:
        with scratch_folder(tmp_path) as folder:
            found.append(folder)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 8 and names(tmp_path) == set()


def test_what_links_lead_to_stays_as_it_is(tmp_path: Path) -> None:
    """A folder with a link to the system's, or the user's, once took the rights of everybody else away there."""
    theirs = tmp_path / "theirs"
    (theirs / "below").mkdir(parents=True)
    theirs.chmod(0o755)
    (theirs / "below").chmod(0o555)
    with scratch_folder() as folder:
        (folder / "locked" / "deeper").mkdir(parents=True)
        (folder / "link").symlink_to(theirs)
        (folder / "locked" / "link").symlink_to(theirs / "below")
        (folder / "locked" / "deeper").chmod(0o500)
        (folder / "locked").chmod(0o500)
        make_removable(folder)
        assert os.stat(folder / "locked" / "deeper").st_mode & 0o777 == 0o700
    assert not folder.exists()
    assert theirs.stat().st_mode & 0o777 == 0o755 and (theirs / "below").stat().st_mode & 0o777 == 0o555
    make_removable(theirs)
    link = tmp_path / "link"
    theirs.chmod(0o755)
    link.symlink_to(theirs)
    make_removable(link)
    assert theirs.stat().st_mode & 0o777 == 0o755
