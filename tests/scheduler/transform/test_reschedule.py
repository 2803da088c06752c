"""Time maps given outright: the tree they make, what is refused, and that legal ones compute what the nest did."""

import random

import pytest

from scheduler.errors import NotApplicable, TextError
from scheduler.ir.affine import Affine
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.verdict import Illegal
from scheduler.replay import Refused, Replayer, ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.transform.reschedule import Reschedule, TimeMap, rank, time_maps
from tests.doubles.interpret import InterpreterError, interpret, interpret_scheduled
from tests.generator import random_inputs, random_nest, random_parameters

SEIDEL = parse_nest("""nest seidel {
  param n: int in [3, ?]; param m: int in [1, ?]; array A: double[n];
  for t: int in [0, m) step 1 { for i: int in [1, n - 1) step 1 {
    S0: A[i] = A[i - 1] + A[i] + A[i + 1]; } }
}""")
TWO = parse_nest("""nest two {
  param n: int in [1, ?]; array A: double[n]; array B: double[n + 1];
  for i: int in [0, n) step 1 { S0: A[i] = 2.0 * A[i]; }
  for j: int in [0, n) step 1 { S1: B[j] = A[j] + 1.0; }
}""")


def test_a_wavefront_is_legal_and_its_inner_loop_parallel() -> None:
    replayer = Replayer(SEIDEL)
    text = "reschedule([S0 -> (0, i + 2*t, 0, t, 0)]); parallelize(t)"
    found = replayer.replay(parse_schedule(text))
    assert isinstance(found, ScheduledNest) and format_schedule(found.schedule) == text
    assert isinstance(replayer.replay(parse_schedule(text.replace("i + 2*t", "i + t"))), Illegal)


def test_statements_that_begin_alike_share_a_loop() -> None:
    fused = Replayer(TWO).replay(parse_schedule("reschedule([S0 -> (0, i, 0), S1 -> (0, j, 1)]); vectorize(i)"))
    assert isinstance(fused, ScheduledNest) and len(fused.tree) == 1
    backwards = Replayer(TWO).replay(parse_schedule("reschedule([S0 -> (0, i, 1), S1 -> (0, j, 0)])"))
    assert isinstance(backwards, Illegal)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reschedule([S0 -> (0, i, 0)])", "a time map is needed for each of S0, S1"),
        ("reschedule([S0 -> (0, i, 0), S1 -> (0, j, 0)])", "stand at the same position"),
        ("reschedule([S0 -> (0, 0, 0), S1 -> (1, j, 0)])", "iterations of statement S0 would run at the same time"),
        ("reschedule([S0 -> (0, j, 0), S1 -> (1, j, 0)])", "statement S0 knows no j"),
        ("tile([i], [8]); reschedule([S0 -> (0, i, 0), S1 -> (1, j, 0)])", "reschedule before tiling"),
        ("parallelize(i); reschedule([S0 -> (0, i, 0), S1 -> (1, j, 0)])", "before loop i is marked"),
    ],
)
def test_refusals(text: str, said: str) -> None:
    found = Replayer(TWO).replay(parse_schedule(text))
    assert isinstance(found, Refused) and said in found.reason


@pytest.mark.parametrize("text", ["S0 -> (0, i)", "S0 -> (i, i, 0)", "S0 (0, i, 0)", "S0 -> ()", "S0 -> (0, i, 0"])
def test_texts_that_are_none(text: str) -> None:
    with pytest.raises(TextError):
        parse_schedule(f"reschedule([{text}])")


@pytest.mark.parametrize("seed", range(80))
def test_random_matrices_compute_what_the_nest_did_where_they_are_legal(seed: int) -> None:
    rng = random.Random(seed)
    nest = random_nest(rng)
    replayer = Replayer(nest)
    try:
        same = time_maps(replayer.tree(()))
    except NotApplicable:
        return  # bounds that depend on data
    assert same.apply(replayer.tree(())) and isinstance(replayer.replay((same,)), ScheduledNest)
    parameters = random_parameters(nest, rng, 1, 6)
    data = random_inputs(nest, rng, parameters)
    try:
        expected = interpret(nest, parameters, data)
    except InterpreterError:
        return  # the program itself does not run
    for step in (same, *(Reschedule(tuple(_mixed(rng, one) for one in same.maps)) for _ in range(6))):
        found = replayer.replay((step,))
        if isinstance(found, ScheduledNest):
            actual = interpret_scheduled(found, parameters, data)
            for name, value in expected.items():
                assert value.tobytes() == actual[name].tobytes(), (name, format_schedule((step,)))


def _mixed(rng: random.Random, one: TimeMap) -> TimeMap:
    """A row goes to another place, or gets a multiple of another, or runs backwards."""
    rows = list(one.rows)
    if len(rows) > 1 and rng.random() < 0.7:
        first, second = rng.sample(range(len(rows)), 2)
        if rng.random() < 0.5:
            rows[first], rows[second] = rows[second], rows[first]
        else:
            rows[second] = rows[second] + rows[first] * rng.choice((-1, 1, 2))
    if rows and rng.random() < 0.2:
        rows[0] = rows[0] * -1 + Affine.constant(rng.randrange(3))
    return TimeMap(one.statement, one.positions, tuple(rows))


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [([], 0), ([[0, 0]], 0), ([[1, 2], [2, 4]], 1), ([[0, 1], [1, 0], [3, 3]], 2), ([[10**17, 1], [10**17, 2]], 2)],
)
def test_rank(matrix: list[list[int]], expected: int) -> None:
    assert rank(matrix) == expected
