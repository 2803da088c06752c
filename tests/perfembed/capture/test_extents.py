"""What of an array has to be known before a nest runs, and how far it is touched."""

import pytest

from perfembed.capture import Touched
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest

VALUES = {"n": 20}


def nest(body: str) -> LoopNest:
    return parse_nest(f"""nest x {{
  param n: int in [2, ?];
  array A: double[n][n]; array B: double[n][n]; array q: int[n];
  {body}
}}""")


OVERWRITTEN = {
    "written before it is read": "for i: int in [0, n) step 1 {"
    " for j: int in [0, n) step 1 { S0: A[i][j] = B[i][j]; } }"
    " for k: int in [0, n) step 1 { for l: int in [0, n) step 1 { S1: B[k][l] += A[l][k]; } }",
    "never read": "for i: int in [0, n) step 1 { S0: A[i][0] = B[i][0]; }",
    "set to zero, then added to": "for i: int in [0, n) step 1 { S0: A[i][i] = 0.0;"
    " for j: int in [0, n) step 1 { S1: A[i][i] += B[i][j]; } }",
}
NEEDED = {
    "read first": "for i: int in [0, n) step 1 { S0: B[i][0] = A[i][0]; S1: A[i][0] = 1.0; }",
    "added to": "for i: int in [0, n) step 1 { S0: A[i][0] += B[i][0]; }",
    "a part is not written": "for i: int in [1, n) step 1 { S0: A[i][0] = B[i][0]; }"
    " for k: int in [0, n) step 1 { S1: B[k][1] = A[k][0]; }",
    "a recurrence": "for i: int in [1, n) step 1 { S0: A[i][0] = A[i - 1][0] + B[i][0]; }",
    "written where data say so": "for i: int in [0, n) step 1 { when (q[i] > 0) { S0: A[i][0] = 1.0; } }"
    " for k: int in [0, n) step 1 { S1: B[k][1] = A[k][0]; }",
    "read where data say": "for i: int in [0, n) step 1 { S0: A[i][0] = 1.0; }"
    " for k: int in [0, n) step 1 { S1: B[k][1] = A[opaque(q[k])][0]; }",
}


@pytest.mark.parametrize("case", OVERWRITTEN)
def test_arrays_whose_contents_before_do_not_matter(case: str) -> None:
    found = nest(OVERWRITTEN[case])
    assert Touched(found, VALUES).overwritten(found.array("A"))


@pytest.mark.parametrize("case", NEEDED)
def test_arrays_whose_contents_before_may_matter(case: str) -> None:
    found = nest(NEEDED[case])
    assert not Touched(found, VALUES).overwritten(found.array("A"))


def test_how_far_an_array_is_touched() -> None:
    found = nest("for i: int in [0, 4) step 1 { for j: int in [0, 3) step 1 { S0: A[i][j] = B[j][opaque(q[i])]; } }")
    touched = Touched(found, VALUES)
    assert touched.reach(found.array("A")) == 3 * 20 + 2 + 1
    assert touched.reach(found.array("B")) is None  # data say
    assert touched.reach(found.array("q")) == 4
