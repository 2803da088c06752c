"""Schedules among other threads: a team shares all loops, one thread starts no others, iterations stay with theirs."""

import pytest

from scheduler.moves.concurrent import fitted, steady
from scheduler.replay import Replayer
from scheduler.schedule import format_schedule, parse_schedule
from tests.scheduler import nests


@pytest.mark.parametrize(
    ("context", "schedule", "expected"),
    [
        ("", "tile([i], [8])", "tile([i], [8])"),
        ("team", "tile([i], [8])", "tile([i], [8]); parallelize(i_t)"),
        ("team", "tile([i], [8]); parallelize(i_t, 1, 1)", "tile([i], [8]); parallelize(i_t, 1, 1)"),
        ("thread", "tile([i], [8]); parallelize(i_t, 1, 1)", "tile([i], [8])"),
    ],
)
def test_what_a_context_needs(context: str, schedule: str, expected: str) -> None:
    replayer = Replayer(nests.nest(nests.GEMM))
    assert format_schedule(fitted(replayer, parse_schedule(schedule), context)) == expected


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("team", "tile([i], [8]); parallelize(i_t, 0, 2); parallelize(j)"),
        ("", "tile([i], [8]); parallelize(i_t, 1, 2); parallelize(j)"),
        ("thread", "tile([i], [8]); parallelize(i_t, 1, 2); parallelize(j)"),
    ],
)
def test_in_a_team_iterations_stay_with_their_threads(context: str, expected: str) -> None:
    given = parse_schedule("tile([i], [8]); parallelize(i_t, 1, 2); parallelize(j)")
    assert format_schedule(steady(given, context)) == expected
