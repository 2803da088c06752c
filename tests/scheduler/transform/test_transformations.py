"""One example of each transformation: schedule in, loop tree out, and what it refuses."""

import pytest

from scheduler.errors import NotApplicable
from scheduler.ir.tree import format_tree
from scheduler.schedule import parse_schedule
from scheduler.transform.initial import initial_tree
from tests.scheduler import nests

MATRIX = """nest m {
  param n: int in [1, ?];
  array A: double[n][n];
  array B: double[n][n];
  for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { S0: A[i][j] = B[j][i]; } }
}"""

TWO = """nest two {
  param n: int in [1, ?];
  array A: double[n];
  array B: double[n];
  for i: int in [0, n) step 1 { S0: A[i] = 1.0; }
  for j: int in [0, n) step 1 { S1: B[j] = A[j]; }
}"""

IMPERFECT = """nest imperfect {
  param n: int in [1, ?];
  array A: double[n][n];
  array s: double[n];
  for i: int in [0, n) step 1 {
    S0: s[i] = 0.0;
    for j: int in [0, n) step 1 { S1: s[i] += A[i][j]; }
  }
}"""


def tree_after(nest: str, schedule: str) -> str:
    tree = initial_tree(nests.nest(nest))
    for step in parse_schedule(schedule):
        tree = step.apply(tree)
    return format_tree(tree)


BOUNDARY = """nest boundary {
  param n: int in [1, ?];
  array A: double[n][n];
  for t: int in [0, n) step 1 {
    for j: int in [0, n) step 1 { S0: A[0][j] = 0.0; }
    for i: int in [1, n) step 1 { for k: int in [0, n) step 1 { S1: A[i][k] += A[i - 1][k]; } }
  }
}"""

EXAMPLES = [
    (MATRIX, "interchange(i, j)", "j (j)\n  i (i)\n    S0"),
    (MATRIX, "skew(i, j, 2)", "i (i)\n  j (2*i + j)\n    S0"),
    (MATRIX, "reverse(j)", "i (i)\n  j (-j)\n    S0"),
    (MATRIX, "shift(i, S0, n - 1)", "i (i + n - 1)\n  j (j)\n    S0"),
    (TWO, "fuse(i, j)", "i (S0: i, S1: j)\n  S0\n  S1"),
    (IMPERFECT, "distribute(i, 1)", "i (i)\n  S0\ni_d (i)\n  j (j)\n    S1"),
    (IMPERFECT, "sink(S0, j, 0)", "i (i)\n  j (S0: 0, S1: j)\n    S0\n    S1"),
    (
        BOUNDARY,
        "sink(S0, i, 0)",
        "t (t)\n  i (S0: 0, S1: i)\n    j (j)\n      S0\n    k (k)\n      S1",
    ),
    (
        MATRIX,
        "tile([i, j], [8, 16])",
        "i_t (8*floor((i)/8))\n  j_t (16*floor((j)/16))\n    i (i)\n      j (j)\n        S0",
    ),
    (MATRIX, "tile([j], [16])", "i (i)\n  j_t (16*floor((j)/16))\n    j (j)\n      S0"),
    (MATRIX, "tile([i], [8]); tile([i_t], [64])", "i_t_t (64*floor((8*floor((i)/8))/64))\n"
     "  i_t (8*floor((i)/8))\n    i (i)\n      j (j)\n        S0"),
    (MATRIX, "unroll(j, 4)", "i (i)\n  j (j) [unroll 4]\n    S0"),
    (MATRIX, "unroll_jam(i, 4)", "i_u (4*floor((i)/4))\n  j (j)\n    i (i) [unroll completely]\n      S0"),
    (MATRIX, "vectorize(j)", "i (i)\n  j (j) [vector]\n    S0"),
    (MATRIX, "parallelize(i)", "i (i) [parallel static]\n  j (j)\n    S0"),
    (MATRIX, "parallelize(i, 1, 8, 2)", "i (i) [parallel dynamic 8 collapse 2]\n  j (j)\n    S0"),
    (
        MATRIX,
        "register_block([i, j], [4, 8])",
        "i_r (4*floor((i)/4))\n  j_r (8*floor((j)/8))\n    i (i) [register 4x8]\n      j (j)\n        S0",
    ),
    (
        MATRIX,
        "register_block([j], [16], 64)",
        "i (i)\n  j_r (16*floor((j)/16))\n    j (j) [register 16 of 64 bytes]\n      S0",
    ),
    (MATRIX, "pack(i, B, [1, 0])", "i (i) [pack B]\n  j (j)\n    S0"),
]  # fmt: skip


@pytest.mark.parametrize(("nest", "schedule", "expected"), EXAMPLES, ids=[schedule for _, schedule, _ in EXAMPLES])
def test_tree_after(nest: str, schedule: str, expected: str) -> None:
    assert tree_after(nest, schedule).rstrip() == expected


REFUSALS = [
    (IMPERFECT, "interchange(i, j)", "not perfectly nested"),
    (MATRIX, "skew(i, j, 0)", "factor other than 0"),
    (MATRIX, "reverse(k)", "there is no loop k"),
    (TWO, "shift(i, S1, 1)", "S1 is not in loop i"),
    (TWO, "fuse(j, i)", "does not follow"),
    (MATRIX, "distribute(i, 1)", "no split at 1"),
    (MATRIX, "sink(S0, i, 0)", "does not stand beside"),
    (MATRIX, "tile([i, j], [8, 1])", "at least 2"),
    (MATRIX, "tile([j, i], [8, 8])", "there is no loop i|not perfectly nested|not nested in this order"),
    (MATRIX, "tile([i, i], [8, 8])", "named twice"),
    (MATRIX, "unroll(j, 1)", "unroll factor"),
    (MATRIX, "unroll_jam(j, 4)", "no loop inside"),
    (MATRIX, "vectorize(i)", "not innermost"),
    (MATRIX, "parallelize(i); parallelize(j)", "parallel already"),
    (MATRIX, "parallelize(j); parallelize(i)", "parallel already"),
    (MATRIX, "parallelize(i, 0, 0, 3)", "to collapse"),
    (MATRIX, "register_block([i, j], [4])", "as many sizes as loops"),
    (MATRIX, "register_block([i, j], [4, 65])", "1 to 64"),
    (MATRIX, "register_block([j], [16], 48)", "a vector register has 16, 32, 64 bytes"),
    (MATRIX, "pack(i, B, [0, 2])", "permutation"),
    (MATRIX, "pack(i, B, [0, 1]); pack(i, B, [0, 1])", "packed at loop i already"),
]


@pytest.mark.parametrize(("nest", "schedule", "words"), REFUSALS, ids=[schedule for _, schedule, _ in REFUSALS])
def test_not_applicable(nest: str, schedule: str, words: str) -> None:
    with pytest.raises(NotApplicable, match=words):
        tree_after(nest, schedule)
