"""Members copied apart: the nest computes what it did, and nothing is read that the program does not have."""

import random

import pytest

from scheduler.errors import NotApplicable
from scheduler.ir.text import format_nest, parse_nest
from scheduler.polyhedral.model import Model
from scheduler.replay import Refused, Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.transform import AosToSoa
from scheduler.transform.aos_to_soa import read_only_columns
from tests.doubles.interpret import interpret_scheduled
from tests.generator import random_nest, with_rows
from tests.scheduler.running import assert_same, running

BODIES = """nest bodies {
  param n: int;
  array b: double[?][6] pointer base "b" members ".x[0]" ".x[1]" ".m" "" ".a" ".id";
  array s: double private(i);
  for i: int in [0, n) step 1 {
    S0: s = 0.0;
    for j: int in [0, n) step 1 {
      if (-i + j - 1 >= 0) or (i - j - 1 >= 0) {
        S1: s += b[j][2] * (b[j][0] - b[i][0]) * (b[j][1] - b[i][1]);
      }
    }
    S2: b[i][4] = s;
  }
}"""


def nest_of(body: str, arrays: str = "array b: double[?][3] pointer; array y: double[?] pointer;") -> str:
    return f"nest n {{ param n: int; param m: int; {arrays} {body} }}"


def cut(text: str, array: str = "b") -> str:
    return format_nest(AosToSoa(array).cut(Model(parse_nest(text))))


def test_arrays_are_called_as_members() -> None:
    text = cut(BODIES)
    assert "b_copy: {" in text and "b_x_0[b_r] = b[b_r][0];" in text and "b_m[b_r] = b[b_r][2];" in text
    assert "s += b_m[j] * (b_x_0[j] - b_x_0[i]) * (b_x_1[j] - b_x_1[i]);" in text
    assert "b[i][4] = s;" in text


def test_rows_that_begin_anywhere() -> None:
    text = cut(nest_of("for i: int in [2, n) step 1 { S0: y[i] = b[i - 1][0] + b[i + m][0] * 2.0; }".replace("m", "3")))
    assert "for b_r: long in [1, n + 3)" in text and "b_0[i - 2] + b_0[i + 2]" in text


def test_nothing_is_copied_where_nothing_is_read() -> None:
    body = "for j: int in [0, m) step 1 { for i: int in [0, n) step 1 { S0: y[i] += b[i][0]; } }"
    assert "if (m - 1 >= 0 and n - 1 >= 0)" in cut(nest_of(body))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for i: int in [0, n) step 1 { S0: y[i] = y[i] + 1.0; }", "no members"),
        ("for i: int in [0, n) step 1 { S0: b[i][0] = b[i][0] + 1.0; }", "no members"),
        ("for i: int in [0, n) step 1 { for k: int in [0, 3) step 1 { S0: y[i] = b[i][k]; } }", "no members"),
        # Data decide which rows are read: others may not be there.
        ("for i: int in [0, n) step 1 { when (y[i] > 0.0) { S0: y[i] = b[i][0]; } }", "never reads"),
        ("for i: int in [0, n) step 1 { S0: y[i] = b[i][0] + b[i + m][0]; }", "which of"),
    ],
)
def test_what_is_not_copied(body: str, reason: str) -> None:
    refused = Replayer(parse_nest(nest_of(body))).replay(parse_schedule("columns(b)"))
    assert isinstance(refused, Refused) and reason in refused.reason, refused


def test_it_stands_first() -> None:
    refused = Replayer(parse_nest(BODIES)).replay(parse_schedule("parallelize(i); columns(b)"))
    assert isinstance(refused, Refused) and refused.step == 1 and "before all other steps" in refused.reason
    with pytest.raises(NotApplicable):
        Replayer(parse_nest(BODIES)).tree(parse_schedule("columns(z)"))


@pytest.mark.parametrize("seed", range(60))
def test_the_nest_computes_the_same(seed: int) -> None:
    rng = random.Random(seed)
    nest = with_rows(random_nest(rng), rng)
    parameters, data, expected = running(nest, rng)
    replayer = Replayer(nest)
    for array in nest.arrays:
        if not read_only_columns(nest, array.name):
            continue
        scheduled = replayer.replay((AosToSoa(array.name),))
        if isinstance(scheduled, Refused):
            continue
        assert isinstance(scheduled, ScheduledNest), scheduled
        actual = interpret_scheduled(scheduled, parameters, data)
        assert_same(expected, actual, array.name)


def test_often_it_applies() -> None:
    applied = 0
    for seed in range(30):
        rng = random.Random(seed)
        nest = with_rows(random_nest(rng), rng)
        steps = [AosToSoa(a.name) for a in nest.arrays if read_only_columns(nest, a.name)]
        applied += any(isinstance(Replayer(nest).replay((step,)), ScheduledNest) for step in steps)
    assert applied > 5
