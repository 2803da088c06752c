"""How iterations are dealt out to threads."""

from __future__ import annotations

import pytest

from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.moves.openmp_schedule import fitted, other_deals, steady
from scheduler.moves.space import Space
from scheduler.moves.trip_counts import portion
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


SPMV = """nest spmv {
  array start: int[400001] const; array col: int[9600000] const; array val: double[9600000] const;
  array x: double[400000] const; array y: double[400000];
  for i: int in [0, 400000) step 1 {
    for p: int in [opaque(start[i]), opaque(start[i + 1])) step 1 {
      S0: y[i] += val[p] * x[opaque(col[p])];
    }
  }
}"""


@pytest.mark.parametrize(
    ("trips", "threads", "expected"), [(3, 2, 1), (100, 2, 6), (2000, 2, 16), (400000, 2, 3125), (400000, 64, 97)]
)
def test_portions(trips: int, threads: int, expected: int) -> None:
    assert portion(trips, threads) == expected


def test_equal_shares_and_small_portions_where_data_decide() -> None:
    space = Space(Replayer(parse_nest(SPMV)), Target(2), {})
    usual = space.parallelized(())
    assert format_schedule(usual) == "parallelize(i, 1, 3125)"
    found = [format_schedule(schedule) for schedule in other_deals(space, usual)]
    assert found == ["parallelize(i)", "parallelize(i, 1, 16)", "parallelize(i, 1, 1)"]
    assert list(other_deals(space, parse_schedule("parallelize(i)"))) == []

    triangle = Replayer(parse_nest(SPMV.replace("[opaque(start[i]), opaque(start[i + 1]))", "[0, i)")))
    even = Space(triangle, Target(2), {})
    assert even.parallelized(()) == usual
    assert list(other_deals(even, usual)) == []
