"""`large`: the program that is put together, and what is printed of runs with it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.evaluation import views
from tests.evaluation.large import LargeBench, LargeResult, Spent, run_large
from tests.evaluation.large_program import FILES, write_large_program
from tests.test_imports import ROOT


@pytest.mark.gcc
@pytest.mark.slow
def test_the_program_is_built_and_runs_three_of_its_parts(tmp_path: Path) -> None:
    program = write_large_program(tmp_path / "program", 1)
    assert len(program.files) == FILES and 9_000 < program.lines < 12_000 and len(program.hot) == 3
    assert all((program.folder / file).is_file() for file in program.files)
    subprocess.run(["make", "-s", "-j2", "CFLAGS=-O1 -w"], cwd=program.folder, check=True)
    ran = subprocess.run(["./prog"], cwd=program.folder, capture_output=True, text=True, check=True)
    for file in program.hot:
        part = subprocess.run(["./prog", Path(file).stem], cwd=program.folder, capture_output=True, check=False)
        assert part.returncode in (0, 1, 2)
    assert len(ran.stdout.splitlines()) >= 3
    assert subprocess.run(["./prog", "nothing"], cwd=program.folder, capture_output=True, check=False).returncode == 2


@pytest.mark.slow
@pytest.mark.gcc
def test_this_checkout_beside_itself() -> None:
    said: list[str] = []
    result = run_large(LargeBench(1, ROOT, 0, 60.0, ("inspect",), dict(os.environ)), said.append)
    assert said == ["inspect: 1 of 1"] and result.files == FILES
    (ours,), (theirs,) = result.spent["inspect"]
    assert ours.wall_s is not None and ours.processor_s > 1 and theirs.processor_s > 1


def test_what_is_shown() -> None:
    spent = {
        "inspect": ((Spent(8.0, 10.0), Spent(9.0, 10.0), Spent(30.0, 11.0)), (Spent(20.0, 25.0),) * 3),
        "candidate": ((Spent(25.0, 30.0),), (Spent(None, 60.0),)),
    }
    lines = views.large(LargeResult(LargeBench(3, Path("old")), 20, 10_000, spent))
    assert lines[0] == "20 files, 10000 lines: medians of 3 runs of each"
    inspect, candidate = lines[2].split(), lines[3].split()
    assert inspect[:3] == ["inspect", "9", "s"] and "2.50" in inspect and inspect[-1] == "met"
    assert "inf" in candidate and "2.00" in candidate and candidate[-1] == "missed"
    assert views.large(LargeResult(LargeBench(1), 20, 10_000, {"inspect": ((Spent(8.0, 10.0),), ())}))
