"""Times of replay: which candidates are timed, and that they are the same ones every time."""

import json
import os
from pathlib import Path

import pytest

from perfembed.bench.render import render_replay
from perfembed.bench.replay import FileTimes, ReplaySettings, time_files
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.report.style import Style
from scheduler.machine.target import Target

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
    text = render_replay(times, Style())
    assert "broken.c" in text
    assert "replay + legality of a candidate" in text
    assert times.frontend.count == 1


def test_the_command(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session({"PATH": os.environ["PATH"]})
    assert main(["bench", "replay", source, "--candidates", "5", "--threads", "2", "--json", "-q"], session) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["kind"] == "bench replay"
    assert set(document["replay"]) == {"count", "least", "median", "p90", "greatest"}
    assert document["legal"] >= 5
    assert captured.err == ""
