"""What the options of a program's world say, relative to where the user stands."""

from pathlib import Path

import pytest

from perfembed.cli.world import world_of
from perfembed.errors import UsageError
from perfembed.world import PROGRAM_LIMITS, World


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "input").write_text("1")
    monkeypatch.chdir(tmp_path)
    return tmp_path.resolve()


def world(
    stdin: str | None = None,
    env: list[str] | None = None,
    workdir: str | None = None,
    check_file: list[str] | None = None,
    tolerance: float = 0.0,
    run_limit: str = "60s",
    writable: list[str] | None = None,
) -> World:
    given = {"directory": workdir, "check_file": check_file, "tolerance": tolerance, "run_limit": run_limit}
    return world_of({"args": "-x 'a b'", "stdin": stdin, "env": env, "writable": writable, **given})


def test_what_is_asked_for(here: Path) -> None:
    assert world() == World(here, ("-x", "a b"))
    assert world().limits == PROGRAM_LIMITS and PROGRAM_LIMITS.wall_s == 60
    asked = world("input", ["A=b=c", "B="], "run", ["out/x", f"{here}/run/y"], 1e-6, "2m", ["run"])
    assert asked.directory == here / "run" and asked.stdin == here / "input"
    assert asked.variables == (("A", "b=c"), ("B", ""))
    assert asked.checked == ("out/x", "y") and asked.tolerance == 1e-6
    assert asked.limits.wall_s == 120 and asked.writable == (here / "run",)


def test_what_is_refused(here: Path) -> None:
    with pytest.raises(UsageError, match="--stdin none"):
        world(stdin="none")
    with pytest.raises(UsageError, match="--stdin run"):
        world(stdin="run")
    with pytest.raises(UsageError, match="expected NAME=VALUE"):
        world(env=["A"])
    with pytest.raises(UsageError, match="--workdir input: no such folder"):
        world(workdir="input")
    for outside in ("../x", "/etc/passwd", "."):
        with pytest.raises(UsageError, match="not a file in the working folder"):
            world(workdir="run", check_file=[outside])
    for tolerance in (-1.0, 1.0, float("nan")):
        with pytest.raises(UsageError, match="--tolerance"):
            world(tolerance=tolerance)
    with pytest.raises(UsageError, match="--run-limit '5 years'"):
        world(run_limit="5 years")
    with pytest.raises(UsageError, match="--writable none"):
        world(writable=["none"])
