"""`interrupted` on a small scale: real kills of real runs; and that it finds what it looks for."""

import os
import shutil
from pathlib import Path

import pytest

from tests.campaigns.interrupted import PROGRAM, InterruptedBench, InterruptedResult, _Work, run_interrupted

SMALL = PROGRAM.replace(b"#define N 600", b"#define N 400")


def bench(folder: Path, kills: int) -> InterruptedBench:
    arguments = ("--search=random", "--budget=3s", "--threads=1", "--cflags=-O1", "--function=work")
    return InterruptedBench(arguments, dict(os.environ), SMALL, kills=kills, between=2, seed=3, folder=folder)


def work(folder: Path, result: InterruptedResult) -> _Work:
    return _Work(bench(folder, 1), folder, result)


@pytest.mark.slow
def test_killed_runs_lose_nothing_and_leave_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    result = run_interrupted(bench(tmp_path, 4), said.append)
    assert result.passed, result.problems
    assert result.kills == result.old + result.new == 4 and result.writing == 1 and result.whole_runs == 4
    assert said[-1].startswith("4 kills: ") and list(tmp_path.iterdir()) == []


def test_one_kill_leaves_the_old_file(tmp_path: Path) -> None:
    result = InterruptedResult()
    one = work(tmp_path, result)
    assert one.killed(1.0, writing=False, alone=True)
    one.judge()
    assert (result.old, result.alone, result.problems) == (1, 1, [])


def test_what_is_wrong_is_seen(tmp_path: Path) -> None:
    result = InterruptedResult()
    one = work(tmp_path, result)
    assert one.state() == "old"
    one.source.write_bytes(SMALL.replace(b"* 0.5", b"/ 2"))
    assert one.state() == "new"
    one.source.write_bytes(SMALL.replace(b"* 0.5", b"* 0.25"))
    assert one.state() not in ("old", "new")
    one.source.write_bytes(SMALL[: len(SMALL) // 2])
    assert "error" in one.state()
    one.source.write_bytes(b"")
    one.judge()
    assert len(result.problems) == 1 and "neither" in result.problems[0] and not result.passed


def test_what_is_left_behind_is_seen(tmp_path: Path) -> None:
    result = InterruptedResult()
    one = work(tmp_path, result)
    shutil.copy(one.source, one.source.with_name(".perfembed-1-x"))
    (one.temporary / "perfembed-1").mkdir()
    (one.cache / ".calibration-1").touch()
    one.whole()
    one.look()
    (problem,) = result.problems
    assert "tmp/perfembed-1" in problem and "work/.perfembed-1-x" in problem and "cache/.calibration-1" in problem
