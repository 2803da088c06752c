"""Times of replay: which candidates are timed, and that they are the same ones every time."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from scheduler.machine.target import Target
from tests.evaluation import views
from tests.evaluation.commands import app
from tests.evaluation.replay import FileTimes, ReplaySettings, time_files

pytestmark = pytest.mark.gcc

SETTINGS = ReplaySettings(Target(threads=2), candidates=12, seconds=30.0)
GEMM = """
#define N 400
double A[N][N], B[N][N], C[N][N];
void gemm(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                C[i][j] += A[i][k] * B[k][j];
}
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "gemm.c"
    path.write_text(GEMM)
    return str(path)


def test_candidates_are_timed_once_and_are_the_same_again(source: str) -> None:
    seen: list[FileTimes] = []
    times = [time_files([source], SETTINGS, seen.append) for _ in range(2)]
    first, second = (t.files[0].nests[0] for t in times)
    assert len(seen) == 2
    assert len(first.replay) == len(first.cold) == len(second.replay) >= 12
    assert first.legal == second.legal
    assert len(first.codegen) == len(second.codegen) >= 12
    assert times[0].frontend.count == 1
    assert 0 < times[0].replay.median < 1000


def test_files_that_do_not_parse_are_said(tmp_path: Path, source: str) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("int main( {\n")
    times = time_files([str(broken), source], SETTINGS, lambda f: None)
    assert "expected" in times.files[0].problem
    assert any("broken.c: " in line for line in views.replay(times))
    assert times.frontend.count == 1


def test_the_command(source: str) -> None:
    done = CliRunner().invoke(app, ["replay", source, "--candidates", "5", "--threads", "2"])
    assert done.exit_code == 0 and "1 files" in done.stdout and "replay + legality of a candidate" in done.stdout
