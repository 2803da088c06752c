"""Private sums and temporaries as if nobody had written them."""

import random
import re

import numpy as np
import pytest

from scheduler.errors import SchedulerError
from scheduler.ir.text import format_nest, parse_nest
from scheduler.normalize.accumulators import without_accumulators
from scheduler.normalize.materialized_nest import normal_form
from scheduler.replay import Replayer
from tests.doubles.interpret import interpret
from tests.generator import random_nest, random_spelling
from tests.scheduler import nests
from tests.scheduler.running import running

HEAD = "nest a { param n: int; array A: double[n][n]; array C: double[n]; array x: double local;"
SUM = "for k: int in [0, n) step 1 { S1: t += A[i][k]; }"


def lines(body: str, arrays: str = "array t: double private(i);") -> str:
    """What the loop over i does without accumulators, in one line."""
    nest = Replayer(parse_nest(f"{HEAD} {arrays} for i: int in [0, n) step 1 {{ {body} }} }}")).nest
    text = format_nest(without_accumulators(nest))
    return " ".join(text[text.index("for i") :].split()).replace("int in [0, n) step 1 ", "")


@pytest.mark.parametrize(
    "body",
    [
        f"S0: t = 0.0; {SUM} S2: C[i] = t;",
        f"S0: t = 0.0; {SUM} S2: C[i] = t; S3: x = t;",
        "S0: C[i] = 0.0; for k: int in [0, n) step 1 { S1: C[i] += A[i][k]; }",
    ],
)
def test_a_sum_is_kept_where_it_ends(body: str) -> None:
    assert lines(body).startswith("for i: { S0: C[i] = 0.0; for k: { S1: C[i] += A[i][k]; }")


@pytest.mark.parametrize(
    "body",
    [
        f"S0: t = C[i]; {SUM} S2: C[i] = t;",
        f"S0: t = 0.0; {SUM} S2: C[i] += t;",
        f"S0: t = 0.0; {SUM} S2: C[i] = C[i] + t;",
        "for k: int in [0, n) step 1 { S1: C[i] += A[i][k]; }",
    ],
)
def test_a_sum_is_added_where_it_is_added(body: str) -> None:
    assert lines(body) == "for i: { for k: { S1: C[i] += A[i][k]; } } }"


def test_also_under_a_condition_and_apart() -> None:
    inside = f"if (i - 1 >= 0) {{ S0: t = C[i]; {SUM} S2: C[i] = t; }}"
    assert lines(inside) == "for i: { if (i - 1 >= 0) { for k: { S1: C[i] += A[i][k]; } } } }"
    apart = parse_nest(f"""{HEAD} array t: double[n] private;
      for i: int in [0, n) step 1 {{ S0: t[i] = C[i]; }}
      for j: int in [0, n) step 1 {{ for k: int in [0, n) step 1 {{ S1: t[j] += A[j][k]; }} }}
      for l: int in [0, n) step 1 {{ S2: C[l] = t[l]; }} }}""")
    (statement,) = re.findall(r"S\d: .*", format_nest(without_accumulators(Replayer(apart).nest)))
    assert statement == "S1: C[j] += A[j][k];"


@pytest.mark.parametrize(
    "body",
    [
        "for k: int in [0, n) step 1 { S0: t = A[i][k]; S1: C[i] += t; }",
        "for k: int in [0, n) step 1 { S0: t = A[i][k]; S1: C[i] = C[i] + t; }",
    ],
)
def test_a_value_stands_where_it_is_used(body: str) -> None:
    assert "t" not in lines(body, "array t: double private(k);").replace("int", "")


@pytest.mark.parametrize(
    "body",
    [
        f"S0: t = 0.0; {SUM} S2: C[i] = 2.0 * t;",  # no plain copy
        "S0: t = 0.0; for k: int in [0, n) step 1 { S1: t += A[i][k]; S2: C[i] = t; }",  # every step is stored
        f"S0: t = 0.0; {SUM} S3: x = C[i]; S2: C[i] = t;",  # what was there is needed
        f"S0: t = 1.0; {SUM} S2: C[i] += t;",  # not only a sum
        f"S0: t = 0.0; {SUM} S3: t = t * 2.0; S2: C[i] += t;",
        "S0: t = C[i]; S3: C[i] = x; S1: x = t;",  # changed before it is used
        "S0: t = A[i][i]; S1: C[i] = t * t;",  # used twice
    ],
)
def test_what_has_to_stay(body: str) -> None:
    assert "t[i]" in lines(body)


def test_another_type_stays() -> None:
    assert "t[i]" in lines(f"S0: t = 0.0f; {SUM} S2: C[i] = t;", "array t: float private(i);")
    assert "(float)" in lines("S0: t = A[i][i]; S2: C[i] = t + 1.0;", "array t: float private(i);")


def test_iterations_of_other_bounds_stay() -> None:
    apart = parse_nest(f"""{HEAD} array t: double[n] private;
      for i: int in [0, n) step 1 {{ S0: t[i] = A[i][0]; }}
      for j: int in [1, n) step 1 {{ S1: C[j] = t[j]; }} }}""")
    assert "t[j]" in format_nest(without_accumulators(Replayer(apart).nest))


@pytest.mark.parametrize("seed", range(60))
def test_it_computes_the_same(seed: int) -> None:
    """Of random nests, and of other spellings of them, whose private arrays mostly are accumulators."""
    rng = random.Random(seed)
    nest = random_nest(rng)
    parameters, data, expected = running(nest, rng)
    for written in (nest, random_spelling(nest, rng)):
        actual = interpret(without_accumulators(Replayer(written).nest), parameters, data)
        for name, values in expected.items():
            np.testing.assert_allclose(actual[name], values, rtol=1e-5, atol=1e-6, err_msg=format_nest(written))


@pytest.mark.parametrize("text", [nests.GEMM, nests.COVARIANCE, nests.JACOBI, nests.LU, nests.CHOLESKY])
def test_spellings_have_one_normal_form(text: str) -> None:
    nest = nests.nest(text)
    found = set()
    for seed in range(6):
        try:
            form = normal_form(Replayer(random_spelling(nest, random.Random(seed)) if seed else nest)).nest
        except SchedulerError:
            continue
        found.add(re.sub(r"S\w*:", "S:", format_nest(form)))
    assert len(found) == 1
