"""Loops split in two: the nest computes what it did, wherever they are cut."""

import random

import pytest

from scheduler.errors import NotApplicable
from scheduler.ir.affine import parse_affine
from scheduler.ir.text import format_nest, parse_nest
from scheduler.polyhedral.model import Model
from scheduler.replay import Refused, Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.transform import Split
from tests.doubles.interpret import interpret_scheduled
from tests.generator import random_first_steps, random_nest
from tests.scheduler import nests
from tests.scheduler.running import assert_same, running

TRIANGLE = """nest triangle {
  param n: int; array A: double[n][n]; array t: double private(i);
  for i: int in [0, n) step 1 {
    S0: t = 2.0;
    for j: int in [i, n) step 1 { S1: A[i][j] += t * A[j][i]; }
  }
}"""


def test_both_parts_have_names_of_their_own() -> None:
    nest = Split("i", parse_affine("4*floor((k)/4) + 4")).cut(Model(nests.nest(nests.LU)))
    text = format_nest(nest)
    assert "for i: int in [k + 1, min(n, 4*floor((k)/4) + 4))" in text
    assert "for i_s: int in [max(k + 1, 4*floor((k)/4) + 4), n)" in text
    assert "S1_s: A[i_s][j_s] -= A[i_s][k] * A[k][j_s];" in text
    assert parse_nest(text) == nest


@pytest.mark.parametrize("seed", range(60))
def test_the_nest_computes_the_same(seed: int) -> None:
    rng = random.Random(seed)
    nest = random_nest(rng)
    parameters, data, expected = running(nest, rng)
    replayer = Replayer(nest)
    splits = random_first_steps(replayer, rng)
    scheduled = replayer.replay(splits)
    assert isinstance(scheduled, ScheduledNest), scheduled
    actual = interpret_scheduled(scheduled, parameters, data)
    assert_same(expected, actual, splits)


@pytest.mark.campaign
def test_random_first_steps_are_often_some() -> None:
    found = [random_first_steps(Replayer(nests.nest(nests.LU)), random.Random(seed)) for seed in range(20)]
    assert len(set(found)) > 10


@pytest.mark.parametrize(
    ("nest", "step", "reason"),
    [
        (nests.LU, "split(x, 3)", "no loop x"),
        (nests.LU, "split(k, i)", "i does not stand around"),
        (nests.SPMM, "split(p, 3)", "data-dependent"),
        (TRIANGLE, "split(i, 3)", "private data"),
        (TRIANGLE, "split(j, n); split(j, i); split(j_s, j)", "j does not stand around"),
        (TRIANGLE, "tile([j], [4]); split(j, 3)", "before all other steps"),
    ],
)
def test_what_cannot_be_split(nest: str, step: str, reason: str) -> None:
    steps = parse_schedule(step)
    refused = Replayer(nests.nest(nest)).replay(steps)
    assert isinstance(refused, Refused) and reason in refused.reason and refused.step == len(steps) - 1


def test_other_steps_count_behind_splits() -> None:
    refused = Replayer(nests.nest(nests.LU)).replay(parse_schedule("split(i, 3); interchange(i, z)"))
    assert isinstance(refused, Refused) and refused.step == 1
    with pytest.raises(NotApplicable):
        Replayer(nests.nest(nests.LU)).tree(parse_schedule("split(z, 3)"))
