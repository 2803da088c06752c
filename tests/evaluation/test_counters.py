"""Simulated counters against valgrind's, on real nests."""

import math
import shutil
from pathlib import Path

import pytest

from perfembed.errors import EnvironmentMissing
from profilers.run import DEFAULT_ENVIRONMENT
from tests.evaluation import views
from tests.evaluation.counters import COUNTS, CountersBench, agreement, run_counters

KERNELS = Path(__file__).parents[1] / "kernels"


@pytest.mark.gcc
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_a_stencil_agrees() -> None:
    flags = ("-DSMALL", "-DN=300", "-DTSTEPS=12")  # enough of the program's time, whatever else runs
    bench = CountersBench((str(KERNELS / "jacobi-2d.c"),), DEFAULT_ENVIRONMENT, flags, d1=(2048, 4), ll=(16384, 8))
    result = run_counters(bench, lambda done: None)
    (stencil,) = [nest for nest in result.nests if nest.nest == "jacobi_2d_0"]
    for count in COUNTS:
        ours, theirs = stencil.written[count]
        assert ours == pytest.approx(theirs, rel=0.02), count
    assert stencil.written["L1 misses"][0] > stencil.written["LL misses"][0] > 0
    assert stencil.operations == (5 * 2 * 12 * 298 * 298, 5 * 2 * 12 * 298 * 298)
    assert any("closed form exactly on" in line for line in views.counters(result))


def test_without_valgrind() -> None:
    with pytest.raises(EnvironmentMissing, match="valgrind"):
        run_counters(CountersBench((), {"PATH": "/nowhere"}), lambda done: None)


def test_agreement() -> None:
    correlation, error = agreement([(1000.0, 1000.0), (2200.0, 2000.0), (9_900_000.0, 10_000_000.0)])
    assert correlation == pytest.approx(1, abs=1e-3) and error == pytest.approx(0.01)
    assert math.isnan(agreement([(5.0, 5.0), (5.0, 5.0)])[0])
