"""Private arrays done without: the nest computes what it did, bit for bit, and what is needed stays."""

import random

import pytest

from scheduler.errors import NotApplicable
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import format_nest, parse_nest
from scheduler.replay import Refused, Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.transform import ForwardArray
from tests.doubles.interpret import interpret_scheduled
from tests.generator import random_nest, random_spelling
from tests.scheduler.running import assert_same, running

HEAD = "nest n { param n: int; array A: double[n][n]; array C: double[?]; array p: int[?]; array t: double private(i);"
SUM = "for k: int in [0, n) step 1 { S1: t += A[i][k]; }"


def nest(body: str, head: str = HEAD) -> LoopNest:
    return parse_nest(f"{head} for i: int in [0, n) step 1 {{ {body} }} }}")


def steps(body: str, head: str = HEAD) -> tuple[str, ...]:
    return tuple(step.array for step in Replayer(nest(body, head)).eliminations())


@pytest.mark.parametrize(
    "body",
    [
        f"S0: t = 0.0; {SUM} S2: C[i] = t;",
        f"S0: t = C[i]; {SUM} S2: C[i] = t;",
        f"S0: t = 0.0; {SUM} S2: C[3] = t;",  # the last one stays
        "S0: t = A[i][i] * 2.0; S1: C[i] += t;",
        "S0: t = 0.0; for k: int in [opaque(p[i]), opaque(p[i + 1])) step 1 { S1: t += A[i][k]; } S2: C[i] = t;",
        "when (A[i][i] > 0.0) { S0: t = A[i][i]; S1: C[i] = t; }",
    ],
)
def test_what_the_nest_can_do_without(body: str) -> None:
    assert steps(body) == ("t",)
    scheduled = Replayer(nest(body)).replay(
        parse_schedule("eliminate(t); parallelize(i)" if "C[3]" not in body else "eliminate(t)")
    )
    assert isinstance(scheduled, ScheduledNest), scheduled
    assert "t[i]" not in format_nest(scheduled.nest)


@pytest.mark.parametrize(
    "body",
    [
        f"S0: t = 0.0; {SUM} S2: C[i] += t;",  # another order of the sum
        f"when (A[i][i] > 0.0) {{ S0: t = 0.0; }} {SUM} S2: C[i] = t;",  # not always begun
        "S0: t = 0.0; for k: int in [0, opaque(p[i])) step 1 { S1: t = A[i][k]; } S2: C[i] = t + C[i];",
        "when (C[i] > 0.0) { S0: t = 1.0; } S3: C[i] = 0.0; when (C[i] > 0.0) { S1: C[i + 1] = t; }",  # never both
        "when (C[i] > 0.0) { S0: t = 0.0; } when (C[i] > 0.0) { S1: t -= 1.0; } when (C[i] > 0.0) { S2: C[i] = t; }",
        "S0: t = 0.0; for k: int in [0, opaque(p[i])) step 1 { S1: t += C[k]; } S2: C[i] = t;",
        "S0: t = A[i][i] + 1.0; S1: C[opaque((int)t)] = 2.0;",  # which element is written
        "S0: t = A[i][i] + 1.0; S1: C[i] = C[opaque((int)t + i)] * 2.0;",  # and read
    ],
)
def test_what_it_needs(body: str) -> None:
    assert steps(body) == ()
    refused = Replayer(nest(body)).replay((ForwardArray("t"),))
    assert isinstance(refused, Refused) and "no value used once" in refused.reason


def test_a_bound_may_read_what_a_sum_would_change() -> None:
    head = HEAD.replace("array p: int[?]; array t: double", "array p: int[?]; array t: int")
    assert steps("S0: t = 0; for k: int in [0, opaque(p[i])) step 1 { S1: t += 1; } S2: p[i] = t;", head) == ()


def test_a_condition_may_decide_what_is_left_from_before() -> None:
    head = HEAD.replace("private(i)", "private")
    assert steps(f"if (i - 3 >= 0) {{ S0: t = 0.0; }} {SUM} S2: C[i] = t;", head) == ()
    assert steps(f"S0: t = 0.0; {SUM} S2: C[i] = t;", head) == ("t",)


def test_elements_that_several_sums_end_in() -> None:
    text = """nest n { param n: int; array A: double[n][n]; array C: double[?]; array t: double[n][n] private;
      for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { S0: t[i][j] = 0.0; } }
      for i2: int in [0, n) step 1 { for j2: int in [0, n) step 1 { S1: t[i2][j2] -= A[i2][j2]; } }
      for i3: int in [0, n) step 1 { for j3: int in [0, n) step 1 { S2: C[PLACE] = t[i3][j3]; } } }"""
    assert Replayer(parse_nest(text.replace("PLACE", "i3 + j3"))).eliminations() == ()
    apart = text.replace("C: double[?]", "C: double[?][n]").replace("C[PLACE]", "C[i3][j3 + n - n]")
    assert Replayer(parse_nest(apart)).eliminations() == (ForwardArray("t"),)


def test_it_stands_first() -> None:
    written = Replayer(nest(f"S0: t = 0.0; {SUM} S2: C[i] = t;"))
    refused = written.replay(parse_schedule("parallelize(i); eliminate(t)"))
    assert isinstance(refused, Refused) and refused.step == 1 and "before all other steps" in refused.reason
    with pytest.raises(NotApplicable, match="no private A"):
        written.tree(parse_schedule("eliminate(A)"))


@pytest.mark.parametrize("seed", range(150))
def test_the_nest_computes_the_same(seed: int) -> None:
    rng = random.Random(seed)
    written = random_spelling(random_nest(rng), rng, indices=seed % 3 == 0)
    parameters, data, expected = running(written, rng)
    replayer = Replayer(written)
    scheduled = replayer.replay(replayer.eliminations())
    assert isinstance(scheduled, ScheduledNest), scheduled
    assert_same(expected, interpret_scheduled(scheduled, parameters, data), format_nest(written))


@pytest.mark.campaign
def test_often_it_applies() -> None:
    applied = 0
    for seed in range(40):
        rng = random.Random(seed)
        applied += bool(Replayer(random_spelling(random_nest(rng), rng)).eliminations())
    assert applied > 15
