"""The commands beside eight processes that do nothing but use the processor: the same nests as on a quiet machine."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.attack.harness import Run, check, perfembed
from tests.perfembed.populate_support import OPTIONS

pytestmark = pytest.mark.machine

LIMIT_S = 60.0
DONE = frozenset((0,))
KERNELS = Path(__file__).parents[1] / "kernels"
_LOOPS, _NESTS = 8, 10
_NEST = """static void f{0}(double w)
{{
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++) b[i][j] = w * (a[i - 1][j] + a[i + 1][j] - {0} * a[i][j]);
}}
"""
_OTHER = (
    "static double g{0}(double x, double y) {{ return x > y ? x * {0} + y / (x + 3) : a[{0} % N][3] - g(x, y); }}\n"
)


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """This process, and what it starts, share one processor with the loops."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    loop = (sys.executable, "-c", "while True: pass")  # each in a session: processor time may be shared out among those
    loops = [subprocess.Popen(loop, start_new_session=True) for _ in range(_LOOPS)]
    try:
        yield
    finally:
        for process in loops:
            process.kill()
            process.wait()
        os.sched_setaffinity(0, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`long.c` takes the parser more than a second of processor time; `gemm.c` is a program."""
    functions = "".join(_NEST.format(k) for k in range(_NESTS)) + "".join(_OTHER.format(k) for k in range(1800))
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "long.c").write_text(
        f"#include <stdio.h>\n#define N 400\nstatic double a[N][N], b[N][N], g(double, double);\n{functions}"
    )
    (folder / "gemm.c").write_bytes((KERNELS / "gemm.c").read_bytes())
    return folder


def ran(arguments: Sequence[str], folder: Path, name: str) -> Run:
    run = perfembed(arguments, folder, folder.parent / name, LIMIT_S)
    check(run, DONE)
    return run


def test_inspect(folder: Path) -> None:
    """The parser's 8 s were once those of the clock: beside the loops it takes longer."""
    quiet = ran(("inspect", "long.c", "--json"), folder, "quiet")
    with busy():
        run = ran(("inspect", "long.c", "--json"), folder, "busy")
    assert run.wall_s > 8  # else nothing was tried
    assert run.out == quiet.out and len(json.loads(run.out)["nests"]) == _NESTS


@pytest.mark.slow
def test_tune_and_populate(folder: Path) -> None:
    tune = ("tune", "gemm.c", "-DSMALL", "--dry-run", "--no-db", "--budget", "3s", "--json", "-q")
    populate = ("populate", "gemm.c", *OPTIONS, "-DSMALL", "--nest-budget", "3s", "--db", "x.duckdb", "--all-nests")
    quiet = ran(tune, folder, "quiet")
    with busy():
        loaded = ran(tune, folder, "tune")
        filled = ran(populate, folder, "populate")
        again = ran((*populate, "--dry-run"), folder, "again")
    nests, same = ({nest["nest"] for nest in json.loads(run.out)["nests"]} for run in (quiet, loaded))
    assert nests == same and not json.loads(loaded.out)["unread"]
    assert "all done" in filled.out and "1 program, 1 of them done already" in again.out
