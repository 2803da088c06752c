"""Rows solved from distances: the smallest ones, and none where there is none."""

import pytest

from scheduler.ir.tree import TreeLoop
from scheduler.normalize.stride import chains
from scheduler.polyhedral.distances import Distances, Wanted
from scheduler.replay import Replayer
from tests.scheduler import nests


def along(reads: str) -> str:
    return f"""nest one {{
  param n: int in [30, ?];
  array A: double[n][n];
  for i: int in [9, n - 9) step 1 {{ for j: int in [9, n - 9) step 1 {{ S0: A[i][j] = {reads}; }} }}
}}"""


def distances(text: str) -> Distances:
    replayer = Replayer(nests.nest(text))
    chain: tuple[TreeLoop, ...] = chains(replayer.tree(()))[0]
    return Distances(replayer.checker, replayer.tree(()), chain[0].name, [dict(loop.rows) for loop in chain])


@pytest.mark.parametrize(
    ("reads", "wanted", "row"),
    [
        ("A[i - 1][j - 1] + 1.0", "parallel", (1, -1)),  # distance (1, 1): along the diagonal
        ("A[i - 2][j + 1] + 1.0", "parallel", (1, 2)),
        ("A[i - 1][j] + A[i][j - 1]", "parallel", None),
        ("A[i - 1][j] + A[i][j - 1]", "carries", (1, 1)),
        ("A[i - 1][j + 3] + A[i][j - 1]", "carries", (4, 1)),
        ("A[i - 1][j + 7] + A[i - 2][j + 9] + A[i][j - 1]", "carries", (8, 1)),
        ("A[i - 1][j + 3] + A[i][j - 1]", "keeps", (1, 0)),
    ],
)
def test_the_smallest_row(reads: str, wanted: Wanted, row: tuple[int, ...] | None) -> None:
    assert distances(along(reads)).row(wanted) == row


def test_a_row_that_ends_with_a_loop_makes_it_permutable() -> None:
    assert distances(along("A[i - 1][j + 3] + A[i][j - 1]")).row("keeps", ends=True) == (3, 1)
    assert distances(along("A[i - 1][j + 3] + A[i - 1][j + 1]")).row("keeps", ends=True) == (0, -1)  # reversed


def test_three_loops_at_once() -> None:
    assert distances(nests.SEIDEL).row("carries") == (4, 2, 1)


def test_distances_without_bound_have_no_row() -> None:
    """Every iteration needs the whole row before it: no factor is large enough."""
    text = """nest all {
      param n: int in [2, ?];
      array A: double[n][n];
      for i: int in [1, n) step 1 { for j: int in [0, n) step 1 { S0: A[i][j] = A[i - 1][n - 1 - j] + 1.0; } }
    }"""
    assert distances(text).row("carries") == (1, 0)
    assert distances(text).row("keeps", ends=True) is None
