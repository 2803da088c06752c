"""One measurement at a time: real processes that wait, are killed, belong to others, and things planted for them."""

import contextlib
import os
import pwd  # not for the first time in a child that may not read the interpreter's folder
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from profilers import lock
from profilers.lock import VARIABLE, lock_folder, machine_lock

NOBODY = 65534
PROGRAM = """
import os, sys
from profilers.lock import machine_lock
try:
    with machine_lock(dict(os.environ), lambda text: print(text, flush=True)):
        print("locked", flush=True)
        sys.stdin.read()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


@pytest.fixture
def folder() -> Iterator[Path]:
    """As /tmp: everybody may make things in it."""
    path = Path(tempfile.mkdtemp(prefix="lock-", dir="/tmp"))
    path.chmod(0o1777)
    yield path
    shutil.rmtree(path)


@contextlib.contextmanager
def process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, VARIABLE: str(folder)}
    one = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        yield one
    finally:
        one.kill()
        one.communicate()


def line(one: subprocess.Popen[str]) -> str:
    assert one.stdout is not None
    return one.stdout.readline().rstrip("\n")


def as_somebody_else(action: Callable[[], str]) -> str:
    """What `action` gives in a child with another user's rights."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(theirs, action().encode())
        except BaseException as problem:
            os.write(theirs, f"failed: {problem!r}".encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as answers:
        said = answers.read().decode()
    os.waitpid(child, 0)
    return said


def test_who_waits_says_for_whom_until_the_holder_is_killed(tmp_path: Path) -> None:
    with process(tmp_path) as holder:
        assert line(holder) == "locked"
        with process(tmp_path) as waiter:
            said = line(waiter)
            assert said.startswith(
                f"waiting: another measurement is running on this machine, by process {holder.pid} ("
            )
            assert "from profilers.lock import machine_lock" in said
            assert f"of user {pwd.getpwuid(os.geteuid()).pw_name} since 2" in said
            holder.kill()
            assert line(waiter) == "locked"


def test_it_is_free_again_and_a_forked_child_keeps_nobody_out(tmp_path: Path) -> None:
    told: list[str] = []
    environment = {VARIABLE: str(tmp_path)}
    with machine_lock(environment, told.append):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    try:
        with machine_lock(environment, told.append), process(tmp_path) as other:
            assert f"by process {os.getpid()} (" in line(other)
        with pytest.raises(ValueError, match="passed on"), machine_lock(environment, told.append):
            raise ValueError("passed on")
        with machine_lock(environment, told.append):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert told == [] and list(tmp_path.iterdir()) == []


def test_a_wait_can_be_interrupted(tmp_path: Path) -> None:
    with machine_lock({VARIABLE: str(tmp_path)}, print), process(tmp_path) as other:
        assert line(other).startswith("waiting")
        other.send_signal(signal.SIGINT)
        assert line(other) == "interrupted"


def test_the_next_holder_is_told_and_one_that_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_LOOK_S", 0.02)
    told: list[str] = []
    with process(tmp_path) as first:
        assert line(first) == "locked"
        with process(tmp_path) as second:
            assert line(second).startswith("waiting")
            os.kill(first.pid, signal.SIGSTOP)
            os.waitpid(first.pid, os.WUNTRACED)

            def tell(text: str) -> None:
                told.append(text)
                if len(told) == 1:
                    first.kill()
                elif f"process {second.pid} " in text:
                    second.kill()

            with machine_lock({VARIABLE: str(tmp_path)}, tell):
                pass
    assert f"process {first.pid} " in told[0] and told[0].endswith("(it is stopped: continue or end it)")


@as_root
def test_every_user_takes_the_same_lock(folder: Path) -> None:
    def take() -> str:
        told: list[str] = []
        with machine_lock({VARIABLE: str(folder)}, told.append):
            return f"locked {told}"

    folder.chmod(0o755)  # ours, and others may not write to it
    assert as_somebody_else(take) == "locked []"
    with process(folder) as holder:
        assert line(holder) == "locked"

        said = as_somebody_else(lambda: str(lock.holder(os.open(folder, os.O_RDONLY))))
        assert said.startswith(f"process {holder.pid} (") and "of user root since 2" in said
    with process(folder) as ours:  # and after it has been theirs it can be ours
        assert line(ours) == "locked"


@as_root
def test_root_waits_for_another_user(folder: Path) -> None:
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with machine_lock({VARIABLE: str(folder)}, print):
                os.write(theirs, b"locked")
                time.sleep(60)
        finally:
            os._exit(0)
    try:
        assert os.read(ours, 6) == b"locked"
        with process(folder) as other:
            said = line(other)
            assert f"by process {child} (" in said and f"of user {pwd.getpwuid(NOBODY).pw_name} since" in said
            os.kill(child, signal.SIGKILL)
            assert line(other) == "locked"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@as_root
@pytest.mark.parametrize("kind", ["link", "file", "folder", "pipe"])
def test_what_others_plant_where_a_lock_might_be_is_neither_used_nor_touched(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    planted = folder / "perfembed-measurement.lock"

    def plant() -> str:
        if kind == "link":
            planted.symlink_to(victim)
        elif kind == "file":
            os.close(os.open(planted, os.O_CREAT | os.O_EXCL, 0o600))
        elif kind == "folder":
            planted.mkdir(mode=0o700)
        else:
            os.mkfifo(planted, 0o600)
        return "planted"

    assert as_somebody_else(plant) == "planted"
    before = os.lstat(planted)
    told: list[str] = []
    with machine_lock({VARIABLE: str(folder)}, told.append):
        pass
    assert told == [] and os.lstat(planted) == before and victim.read_text() == "precious"
    assert [path.name for path in folder.iterdir()] == [planted.name]


@pytest.mark.parametrize("kind", ["missing", "file", "pipe"])
def test_without_a_lock_it_goes_on_and_says_so(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lock"
    if kind == "file":
        path.write_text("mine")
    elif kind == "pipe":
        os.mkfifo(path)
    told: list[str] = []
    done = False
    with machine_lock({VARIABLE: str(path)}, told.append):
        done = True
    (said,) = told
    assert done and said.startswith(f"cannot lock {path} (") and "measuring all the same" in said


@as_root
def test_a_folder_that_others_may_not_read_is_not_everybodys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, file, opened = folder / "closed", folder / "file", folder / "open"
    closed.mkdir(mode=0o700)
    file.write_text("")
    opened.mkdir(mode=0o755)
    monkeypatch.setattr(lock, "_FOLDERS", (folder / "missing", file, closed, opened))
    assert lock_folder({}) == opened  # for root too, who may read the first one
    assert as_somebody_else(lambda: str(lock_folder({}))) == str(opened)
    monkeypatch.setattr(lock, "_FOLDERS", ())
    told: list[str] = []
    with machine_lock({}, told.append):
        pass
    assert told and told[0].startswith("cannot lock (no folder to lock)")


def test_this_machine_has_a_folder_that_only_root_can_replace() -> None:
    program = "from profilers.lock import lock_folder; print(lock_folder({}))"
    found = Path(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
    assert found.is_dir() and found.stat().st_uid in (0, NOBODY) and found.parent.stat().st_mode & 0o022 == 0


def test_command_lines_are_shown_as_typed_and_safely() -> None:
    assert lock._shortened(b"/usr/bin/python3\0/opt/bin/perfembed\0tune\0a.c\0") == "perfembed tune a.c"
    assert lock._shortened(b"evil\x1b[2J\nname\0") == "evil [2J name"
    assert len(lock._shortened(b"x" * 5000)) == 100 and lock._shortened(b"") == ""
