"""`perfembed generate`: programs printed, listed, written, and never over other files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EXIT_USAGE
from scheduler.generator import generate

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = main(["generate", *(str(a) for a in arguments)], Session({}))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_one_program_is_printed(run: Run) -> None:
    assert run("--seed", 4) == (0, generate(4, 0).source, "")
    assert run("--seed", 4, "--first", 7)[1] == generate(4, 7).source


def test_files_are_written(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "programs"
    code, out, _ = run("-n", 3, "--seed", 4, "-o", folder)
    assert (code, out) == (0, f"wrote    3 programs to {folder}\n")
    assert {p.name: p.read_text() for p in folder.iterdir()} == {
        f"gen_4_{number}.c": generate(4, number).source for number in range(3)
    }


def test_nothing_is_replaced_without_force(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gen_4_1.c").write_text("mine")
    code, _, error = run("-n", 2, "--seed", 4, "-o", tmp_path)
    assert code == EXIT_USAGE and "gen_4_1.c: the file is already there" in error and "--force" in error
    assert [p.name for p in tmp_path.iterdir()] == ["gen_4_1.c"]
    assert run("-n", 2, "--seed", 4, "-o", tmp_path, "--force")[0] == 0
    assert (tmp_path / "gen_4_1.c").read_text() == generate(4, 1).source


def test_list(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("-n", 3, "--json", "-o", tmp_path)
    document = json.loads(out)
    assert code == 0 and document["kind"] == "programs" and document["schema_version"] == 1
    assert [row["name"] for row in document["programs"]] == [f"gen_0_{number}" for number in range(3)]
    assert all(row["patterns"] == list(generate(0, row["number"]).patterns) for row in document["programs"])
    assert len(list(tmp_path.iterdir())) == 3


def test_one_pattern(run: Run) -> None:
    code, out, _ = run("-n", 5, "--json", "--pattern", "stencil", "--pattern", "sparse")
    names = {name for row in json.loads(out)["programs"] for name in row["patterns"]}
    assert code == 0 and names <= {"stencil", "sparse"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0"], "-n 0: expected 1 to"),
        (["-n", "2"], "-n 2 needs a folder"),
        (["--seed", "-1"], "must not be negative"),
        (["--first", "-1"], "must not be negative"),
        (["--pattern", "gemm"], "--pattern 'gemm': expected stencil, "),
        (["-o", "/dev/null"], "/dev/null: no folder can be made here"),
    ],
)
def test_bad_arguments(run: Run, arguments: list[str], message: str) -> None:
    code, out, error = run(*arguments)
    assert code == EXIT_USAGE and out == "" and message in error
