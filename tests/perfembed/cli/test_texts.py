"""How the texts of options become values."""

from pathlib import Path

import pytest

from perfembed.cli.texts import budget_seconds, compiler_flags, parameter_values, words, world_of
from perfembed.errors import UsageError
from perfembed.world import PROGRAM_LIMITS, World


@pytest.mark.parametrize(
    ("text", "expected"), [("60", 60), ("60s", 60), ("2m", 120), ("1.5h", 5400), ("0.5s", 0.5), (" 3 min ", 180)]
)
def test_budget(text: str, expected: float) -> None:
    assert budget_seconds(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "nan", "inf", "1e9", "60x", "1d", "s", "٣s", "99999999h"])
def test_bad_budget(text: str) -> None:
    with pytest.raises(UsageError, match="--budget"):
        budget_seconds(text)


def test_parameters() -> None:
    assert parameter_values(["n=2000", "lo=-3"]) == (("n", 2000), ("lo", -3))
    assert parameter_values(None) == ()


@pytest.mark.parametrize("texts", [["n"], ["n="], ["=3"], ["n=1e6"], ["2n=3"], ["n=3", "n=4"], ["n=" + "9" * 40]])
def test_bad_parameters(texts: list[str]) -> None:
    with pytest.raises(UsageError, match="--param"):
        parameter_values(texts)


def test_flags() -> None:
    here = Path.cwd()
    flags = compiler_flags("-O2 '-DNAME=\"a b\"'", ["N=4", "M"], [".", "a b"], "c99")
    assert flags == ("-O2", '-DNAME="a b"', "-DN=4", "-DM", f"-I{here}", f"-I{here}/a b", "-std=c99")


def test_bad_quoting() -> None:
    with pytest.raises(UsageError, match="--args"):
        words("'a", "--args")


def test_files_of_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flags").write_text("-fwrapv '-DNAME=a b'")
    monkeypatch.chdir(tmp_path)
    assert compiler_flags("-O2 @flags", None, None, None) == ("-O2", "-fwrapv", "-DNAME=a b")


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
