"""The canonical schedule: the outermost parallel loops and nothing else."""

import pytest

from scheduler.canonical import canonical_schedule
from scheduler.ir.text import parse_nest
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule
from tests.scheduler import nests


@pytest.mark.parametrize(
    ("nest", "schedule"),
    [
        (nests.GEMM, "parallelize(i)"),
        (nests.JACOBI, "parallelize(i); parallelize(i2)"),
        (nests.SEIDEL, ""),
        (nests.SPMM, "parallelize(i)"),
        (nests.LU, "parallelize(i0); parallelize(i)"),
    ],
)
def test_outermost_parallel_loops(nest: str, schedule: str) -> None:
    replayer = Replayer(parse_nest(nest))
    found = canonical_schedule(replayer, 2)
    assert format_schedule(found) == schedule
    assert isinstance(replayer.replay(found), ScheduledNest)
    assert canonical_schedule(replayer, 1) == ()
