"""Scratch arrays that inner iterations can have one each of, and those that they must share."""

import pytest

from scheduler.ir.text import parse_nest
from scheduler.polyhedral.private_scopes import narrow_scopes

NEST = """nest lines {{
  param n: int;
  param m: int;
  array A: double[n][n] restrict;
  array p: int[n] restrict const;
  array t: double[64] private(k);
  for k: int in [0, n) step 1 {{
    for i: int in [0, n) step 1 {{
{body}
    }}
  }}
}}"""
FILL = "for j: int in [0, n) step 1 { S0: t[j] = A[k][i]; }"
USE = "for l: int in [0, n) step 1 { S1: A[k][i] += t[l]; }"


def narrowed(body: str) -> tuple[str | None, list[str]]:
    """The scope of t, and what is assumed."""
    nest = narrow_scopes(parse_nest(NEST.format(body=body)))
    return nest.array("t").scope, [str(c.affine) for c in nest.assumptions]


@pytest.mark.parametrize(
    "body",
    [
        FILL + USE,
        FILL + "for l: int in [0, n - 1) step 1 { S1: A[k][i] += t[l + 1]; }",
        "for j: int in [0, n) step 1 { S0: t[j] = 1.0; S2: t[j] = t[j] + A[k][j]; }" + USE,
        "S0: t[0] = A[k][i]; for j: int in [1, n) step 1 { S2: t[j] = t[j - 1] * 0.5; }" + USE,
        "if (n - 7 >= 0) { S0: t[3] = A[k][i]; S1: A[k][i] = t[3] * t[3]; }",
    ],
)
def test_what_is_filled_before_it_is_read_is_private_to_the_loop(body: str) -> None:
    assert narrowed(body) == ("i", [])


def test_to_the_innermost_loop_around_all_uses() -> None:
    body = "for j: int in [0, n) step 1 { S0: t[0] = A[k][j]; S1: A[k][j] = t[0] * t[0]; }"
    assert narrowed(body) == ("j", [])


def test_sizes_with_which_something_is_read_that_nothing_was_written_to_are_excluded() -> None:
    assert narrowed(FILL + "S1: A[k][i] = t[0];") == ("i", [])  # with no n < 1 anything runs
    fill = "for j: int in [0, m) step 1 { S0: t[j] = A[k][i]; }"
    assert narrowed(fill + "S1: A[k][i] = t[0];") == ("i", ["m - 1"])


@pytest.mark.parametrize(
    "body",
    [
        USE + FILL,  # of the iteration before
        "for j: int in [1, n) step 1 { S0: t[j] = A[k][i]; }" + USE,  # t[0] never
        "for j: int in [0, m) step 1 { S0: t[j] = A[k][i]; } " + USE,  # n may exceed m
        "S0: t[i] = A[k][i]; for l: int in [0, i) step 1 { S1: A[k][i] += t[l]; }",  # a prefix of all iterations
        "for j: int in [0, n) step 1 { S0: t[j] += A[k][i]; }",
        "when (A[k][i] > 0.0) { S0: t[0] = A[k][i]; } S1: A[k][i] = t[0];",  # written by chance
        "for j: int in [0, opaque(p[i])) step 1 { S0: t[j] = A[k][i]; }" + USE,
        "S0: t[opaque(p[i])] = A[k][i]; S1: A[k][i] = t[opaque(p[i])];",  # at places that depend on data
    ],
)
def test_what_an_iteration_may_read_of_another_one_stays_shared(body: str) -> None:
    assert narrowed(body) == ("k", [])
