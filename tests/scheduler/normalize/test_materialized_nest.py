"""Trees as nests again: the nest computes what it did, in the order of the tree."""

import random

import pytest

from scheduler.errors import NotApplicable
from scheduler.ir.text import format_nest, parse_nest
from scheduler.ir.walk import loops
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.materialized_nest import nest_of
from scheduler.normalize.stride import minimize_strides
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from tests.doubles.interpret import interpret
from tests.generator import random_nest, random_schedule
from tests.scheduler import nests
from tests.scheduler.running import assert_same, running

SUMS = """nest sums {
  param n: int; param m: int; array A: double[m][n]; array s: double[n];
  for i: int in [0, n) step 1 {
    S0: s[i] = 0.0;
    for j: int in [0, m) step 1 { S1: s[i] += A[j][i]; }
  }
}"""


def spelled(text: str, schedule: str) -> str | None:
    replayer = Replayer(parse_nest(text))
    scheduled = replayer.replay(parse_schedule(schedule))
    assert isinstance(scheduled, ScheduledNest), scheduled
    made = nest_of(replayer.nest, scheduled.tree)
    return None if made is None else format_nest(made)


def test_as_written_is_as_written() -> None:
    assert spelled(SUMS, "") == format_nest(parse_nest(SUMS))
    assert spelled(nests.LU, "") == format_nest(nests.nest(nests.LU))


def test_another_order() -> None:
    text = spelled(SUMS, "distribute(i, 1); interchange(i_d, j)")
    assert text is not None
    assert parse_nest(text) and [loop.name for loop in loops(parse_nest(text))] == ["i", "j", "i_2"]
    assert "for i_2: int in [0, n) step 1 {\n      S1: s[i_2] += A[j][i_2];" in text


@pytest.mark.parametrize("schedule", ["tile([j], [4])", "shift(i, S1, 1)", "distribute(i, 1); skew(i_d, j, 1)"])
def test_what_is_no_plain_nest(schedule: str) -> None:
    assert spelled(SUMS, schedule) is None


def test_bounds_have_to_stand_outside() -> None:
    lower = """nest lower { param n: int; array A: double[n][n];
      for i: int in [0, n) step 1 { for j: int in [0, i) step 1 { S0: A[i][j] = A[i][j] + 1.0; } } }"""
    assert spelled(lower, "interchange(i, j)") is None


@pytest.mark.parametrize("seed", range(60))
def test_the_nest_computes_the_same(seed: int) -> None:
    rng = random.Random(seed)
    nest = random_nest(rng)
    parameters, data, expected = running(nest, rng)
    replayer = Replayer(nest)
    try:
        drawn = random_schedule(nest, rng, 3, replayer.tree(()))
        orders = [(), minimize_strides(replayer, maximal_fission(replayer)), drawn]
    except NotApplicable:
        orders = [()]
    made = 0
    for schedule in orders:
        scheduled = replayer.replay(schedule)
        if not isinstance(scheduled, ScheduledNest):
            continue
        other = nest_of(replayer.nest, scheduled.tree)
        if other is None:
            continue
        made += 1
        names = [loop.name for loop in loops(other)]
        assert len(names) == len(set(names))
        actual = interpret(other, parameters, data)
        assert_same(expected, actual, schedule)
    assert made
