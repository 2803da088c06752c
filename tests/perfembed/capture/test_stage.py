"""Whatever a program does to the files where it runs, the user's stay, and every run finds the same."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perfembed.capture import copying
from perfembed.capture.stage import Stage
from perfembed.errors import UsageError
from perfembed.world import Left, Ran, World
from profilers.contained.child import Limits, confines_writes
from profilers.contained.scratch import scratch_folder

pytestmark = pytest.mark.gcc

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
confined = pytest.mark.skipif(not confines_writes(), reason="no Landlock")


def sh(stage: Stage, script: str) -> Ran:
    return stage.run(("sh", "-c", script), ENVIRONMENT)


def state(folder: Path) -> dict[str, tuple[int, str]]:
    """Everything in a folder: modes, and contents or where links lead."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        what = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (status.st_mode, what)
    return found


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A working folder with a bit of everything."""
    folder = tmp_path / "project" / "here"
    (folder / "sub" / "locked").mkdir(parents=True)
    (folder / "in.txt").write_text("1 2 3\n")
    (folder / "log").write_text("old\n")
    (folder / "gone").write_text("do not lose me\n")
    (folder / "readonly").write_text("fixed\n")
    (folder / "readonly").chmod(0o444)
    (folder / "sub" / "deep").write_text("deep\n")
    (folder / "sub" / "locked" / "file").write_text("locked\n")
    (folder / "sub" / "locked").chmod(0o555)
    (folder / "link").symlink_to("in.txt")
    (folder / "absolute").symlink_to(folder / "sub")
    (folder / "up").symlink_to("../..")
    (folder / "outside").symlink_to("../beside")
    (folder / "nowhere").symlink_to("no such file")
    (folder.parent / "beside").write_text("beside\n")
    (folder.parent / "data").mkdir()
    (folder.parent / "data" / "x").write_text("data\n")
    return folder


HOSTILE = """
echo changed > in.txt; echo more >> log; rm gone; rm -f readonly; echo no > readonly; echo x > new
mkdir folder; echo y > folder/z; rm -rf sub/deep; chmod 700 sub/locked; rm -rf sub/locked; rm link; mkdir link
echo changed > absolute/more; echo changed > outside; rm nowhere; echo there > nowhere; ln in.txt hard; mv log moved
"""


def test_the_users_files_stay_and_every_run_finds_the_same(user: Path, tmp_path: Path) -> None:
    before, around = state(user), state(user.parent)
    stage = Stage(World(user), tmp_path / "stage")
    first = sh(stage, f"find . | sort; cat in.txt log gone outside absolute/deep up/project/here/log; {HOSTILE}")
    assert first.exit_code == 0 and first.stderr == b""
    assert state(user) == before and state(user.parent) == around
    again = sh(stage, f"find . | sort; cat in.txt log gone outside absolute/deep up/project/here/log; {HOSTILE}")
    assert (again.stdout, again.files) == (first.stdout, first.files)
    assert state(user) == before and state(user.parent) == around
    rewritten = {"outside", "absolute", "up"}  # a copy, and links to where the copy is
    copied = {name: what for name, what in state(stage.directory).items() if name not in rewritten}
    assert copied == {name: what for name, what in before.items() if name not in rewritten}
    assert first.files["gone"] == first.files["log"] == Left("nothing")
    assert first.files["new"].kind == "file" and first.files["folder"] == first.files["link"] == Left("folder")
    content = first.files["in.txt"].content
    assert content is not None and content.read_text() == "changed\n"
    assert first.files["in.txt"].identity == hashlib.blake2b(b"changed\n", digest_size=20).hexdigest()
    assert not {"sub", "up", "absolute"} & set(first.files)


def test_what_lies_beside_the_folder_can_be_read(user: Path, tmp_path: Path) -> None:
    stage = Stage(World(user), tmp_path / "stage")
    assert sh(stage, "cat ../data/x ../../project/beside").stdout == b"data\nbeside\n"
    assert sh(stage, "echo new > ../made; rm ../data; ls ..").stdout == b"beside\nhere\nmade\n"
    assert sh(stage, "ls ..").stdout == b"beside\ndata\nhere\n"
    assert stage.advice(sh(stage, "cat ../none").finished) == ""


def test_a_crowded_folder_around_is_not_linked_to(user: Path, tmp_path: Path) -> None:
    for number in range(1001):
        (user.parent / f"other{number}").touch()
    stage = Stage(World(user), tmp_path / "stage")
    ran = sh(stage, "cat ../other7")
    assert not ran.finished.ok and str(user.parent) in stage.advice(ran.finished)
    assert not (user.parent / "made").exists() and (user.parent / "data" / "x").exists()


@confined
def test_nothing_outside_of_the_copy_can_be_changed(user: Path, tmp_path: Path) -> None:
    around = state(user.parent)
    stage = Stage(World(user), tmp_path / "stage")
    for script in (
        f"echo no > {user}/in.txt",
        f"rm {user}/log",
        "echo no > ../beside",
        f"mv {user}/gone .",
        f"mkdir {user}/new",
        f"ln {user}/log mine && echo no > mine",
        f"truncate -s 0 {user}/in.txt",
        "echo no > ../data/x",
    ):
        ran = sh(stage, script)
        assert ran.exit_code != 0, script
        assert state(user.parent) == around, script
    assert sh(stage, "echo fine > /dev/null && : > $TMPDIR/mine").exit_code == 0
    assert sh(stage, "ls $TMPDIR").stdout == b""
    allowed = Stage(World(user, writable=(user.parent / "data",)), tmp_path / "other")
    assert sh(allowed, f"echo yes > {user.parent}/data/x").exit_code == 0
    assert (user.parent / "data" / "x").read_text() == "yes\n"


def test_a_run_that_is_stopped_half_way_changes_nothing(user: Path, tmp_path: Path) -> None:
    before = state(user)
    stage = Stage(World(user, limits=Limits(wall_s=0.5)), tmp_path / "stage")
    stopped = sh(stage, "echo half > in.txt; (sleep 30; echo late > log) & sleep 30")
    assert stopped.finished.limit == "wall" and stopped.finished.survivors
    assert sh(stage, "cat in.txt").stdout == b"1 2 3\n"
    killed = sh(stage, ": > in.txt; kill -9 $$")
    assert killed.finished.signal == 9
    assert sh(stage, "cat in.txt").stdout == b"1 2 3\n"
    assert state(user) == before


def test_an_interrupted_run_is_put_right_before_the_next(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(World(user), tmp_path / "stage")
    sh(stage, "true")
    monkeypatch.setattr(stage, "_leave", lambda path: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        sh(stage, "echo changed > in.txt")
    monkeypatch.undo()
    assert sh(stage, "cat in.txt").stdout == b"1 2 3\n"


def test_input_variables_and_arguments(user: Path, tmp_path: Path) -> None:
    world = World(user, variables=(("MODE", "fast"),), stdin=user / "in.txt")
    stage = Stage(world, tmp_path / "stage")
    for _ in range(2):
        ran = sh(stage, "cat; echo $MODE; echo rewritten > in.txt")
        assert ran.stdout == b"1 2 3\nfast\n"
    assert sh(Stage(World(), tmp_path / "none"), "cat; ls -A").stdout == b""


@confined
def test_beyond_the_bound_are_links_that_cannot_be_written_to(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "MOST_BYTES", 64)
    (user / "large").write_text("large" * 20)
    before = state(user)
    stage = Stage(World(user), tmp_path / "stage")
    ran = sh(stage, "cat large | wc -c; echo small > in.txt; echo no > large")
    assert ran.stdout == b"100\n" and b"ermission denied" in ran.stderr
    assert state(user) == before
    assert "can read but not change" in stage.notes[0] and "large" in stage.notes[0]


@confined
def test_many_files_histories_and_environments_are_not_copied(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, name in (("many", ""), (".git", ""), ("env", "pyvenv.cfg")):
        (user / folder).mkdir()
        for file in [f"file{k}" for k in range(40)] + [name] * bool(name):
            (user / folder / file).write_text(file)
    monkeypatch.setattr(copying, "MOST_FILES", 30)
    before = state(user)
    stage = Stage(World(user), tmp_path / "stage")
    ran = sh(stage, "cat many/file7 .git/file8 env/file9; echo no > many/file7; rm env/file9; echo yes > in.txt")
    assert ran.stdout == b"file7file8file9" and ran.stderr.count(b"ermission denied") == 2
    assert set(ran.files) == {"in.txt"} and state(user) == before
    links = {name: (stage.directory / name).is_symlink() for name in ("many", ".git", "env", "sub")}
    assert links == {"many": True, ".git": True, "env": True, "sub": False}
    assert stage.notes[0].endswith("too much to copy: many")


def test_without_landlock_too_much_is_refused_unless_hidden(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perfembed.capture.stage.confines_writes", lambda: False)
    (user / ".venv").mkdir()
    (user / ".venv" / "large").write_text("x" * 2000)
    monkeypatch.setattr(copying, "MOST_BYTES", 1000)
    stage = Stage(World(user), tmp_path / "stage")
    assert sh(stage, "ls .venv; echo changed > in.txt").exit_code == 0
    assert (user / "in.txt").read_text() == "1 2 3\n"
    assert "does not see" in stage.notes[0]
    (user / "large").write_text("x" * 2000)
    with pytest.raises(UsageError, match="in a copy of it") as refused:
        sh(Stage(World(user), tmp_path / "other"), "true")
    assert "--workdir" in refused.value.advice


def test_the_working_folder_may_hold_the_copy(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    stage = Stage(World(tmp_path), tmp_path / "scratch" / "stage")
    assert sh(stage, "ls; cat mine").stdout == b"mine\nmine"


def locked_up(folder: Path) -> None:
    """Called in a process whose rights are an ordinary user's."""
    user = folder / "user"
    (user / "sub").mkdir(parents=True)
    (user / "sub" / "file").write_text("mine")
    (user / "sub").chmod(0o555)
    with scratch_folder(folder) as scratch:
        stage = Stage(World(user), scratch / "stage")
        for _ in range(2):
            script = "cat sub/file; chmod 700 sub; rm sub/file; mkdir -p a/b; echo x > a/b/c; chmod 0 a/b/c a/b a"
            ran = sh(stage, script)
            assert ran.stdout == b"mine" and not ran.stderr, ran
    assert (user / "sub" / "file").read_text() == "mine"
    assert not scratch.exists()


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may do everything")
def test_what_a_program_locks_is_put_right_and_removed(tmp_path: Path) -> None:
    call = f"import sys; sys.path[:0] = {sys.path!r}; from {__name__} import *; locked_up(Path({str(tmp_path)!r}))"
    less = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    done = subprocess.run([*less, sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_folders_beside_keep_their_rights(user: Path, tmp_path: Path) -> None:
    outside = user.parent / "data"
    before = {path: path.stat().st_mode for path in (outside, user.parent, tmp_path, Path("/usr"), Path("/etc"))}
    for _ in range(2):  # the second one removes what is left of the first
        stage = Stage(World(user), tmp_path / "stage")
        made = sh(stage, "ln -s ../data own; mkdir -p new/x; ln -s / new/x/all; chmod 500 new/x new")
        assert made.exit_code == 0 and sh(stage, "ls").exit_code == 0
    assert {path: path.stat().st_mode for path in before} == before


def test_a_link_in_place_of_a_folder_leads_to_nothing_that_is_removed(user: Path, tmp_path: Path) -> None:
    outside = user.parent / "data"
    (outside / "deep").write_text("the user's\n")
    outside.chmod(0o555)
    stage = Stage(World(user), tmp_path / "stage")
    assert (
        sh(stage, f"chmod 755 sub/locked; rm -r sub && ln -s {outside} sub && cat sub/deep").stdout == b"the user's\n"
    )
    assert sh(stage, "cat sub/deep").stdout == b"deep\n"
    assert (outside / "deep").read_text() == "the user's\n" and outside.stat().st_mode & 0o777 == 0o555
