"""The nine numbers: syrk by hand, single numbers on small trees, all in [0, 1] on samples, tiled trees and marks.

The table that the paper prints for syrk could not be had; the values here are worked out from its definitions.
"""

import random

import pytest

from scheduler.matrices.features import Features, ScheduleFeatures
from scheduler.matrices.sample import MatrixSampler, Unsampled
from scheduler.matrices.tree import Simplifier
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer
from scheduler.schedule import parse_schedule
from tests.generator import random_nest
from tests.scheduler import nests

SYRK = """nest syrk {
  param n: int in [1, ?]; param m: int in [1, ?]; array A: double[n][m]; array C: double[n][n];
  for i: int in [0, n) step 1 {
    for j0: int in [0, i + 1) step 1 { S0: C[i][j0] *= 0.5; }
    for k: int in [0, m) step 1 { for j: int in [0, i + 1) step 1 { S1: C[i][j] += A[i][k] * A[j][k]; } }
  }
}"""
SIDE = """nest side {
  param n: int in [1, ?]; array A: double[n]; array B: double[n]; array D: double[n];
  for i: int in [0, n) step 1 { S0: A[i] = 1.0; S1: B[i] = 2.0; S2: D[i] = A[i]; }
}"""


def features(nest: str, schedule: str = "", **parameters: int) -> ScheduleFeatures:
    replayer = Replayer(nests.nest(nest))
    return Features(replayer, parameters).of(replayer.tree(parse_schedule(schedule)))


def test_syrk_as_written() -> None:
    """By volume, for n = 4 and m = 3: C passes 10 cells from S0 to S1 (behind one loop of three: 2 of 4) and 10 along k
    (2 of 4); re-uses of 9 cells each: A[i][k] along j (3 of 4), A[j][k] along i (1 of 4), and between both (1, 3 of 4).
    """
    found = features(SYRK, n=4, m=3)
    assert found == ScheduleFeatures(
        depth=4 / 6,
        sequences=1.0,
        leaves=1.0,
        sparse_iterators=8 / 13,
        sparse_sizes=1.0,
        parallelism=1.0,
        locality=0.5,
        tilability=pytest.approx(1 / 3),
        access_pattern=5 / 6,
    )
    assert found.values == (4 / 6, 1.0, 1.0, 8 / 13, 1.0, 1.0, 0.5, found.tilability, 5 / 6)


def test_syrk_fissioned_and_turned() -> None:
    """k outside carries everything within S1; S1 is one band of three, whose last two loops are parallel."""
    text = "reschedule([S0 -> (0, i, 0, j0, 0), S1 -> (1, k, 0, i, 0, j + n, 0)])"
    found = features(SYRK, text, n=4, m=3)
    assert found.depth == 3 / 6 and found.sequences == 1.0
    assert found.sparse_iterators == (2 + 6) / 13 and found.sparse_sizes == (6 + 3 + 3 + 2) / 15
    assert found.parallelism == pytest.approx((1 + 2 / 3) / 2) and found.tilability == 1.0
    assert found.access_pattern == 5 / 6


def test_what_needs_no_order_is_one_leaf() -> None:
    assert features(SIDE).leaves == 1.0 and features(SIDE).sequences == 0.5
    two = SIDE.replace("S2: D[i] = A[i];", "")
    assert features(two).leaves == 0.5 and features(two).sequences == 0.0


def test_access_pattern_follows_the_innermost_step() -> None:
    skewed = "reschedule([S0 -> (0, j0, 0, i, 0), S1 -> (1, i + k, 0, k, 0, j, 0)])"
    assert features(SYRK, skewed, n=4, m=3).access_pattern == 3 / 6  # C of S1 twice, and A[i][k]
    backwards = "reschedule([S0 -> (0, i, 0, -j0, 0), S1 -> (1, i, 0, -j, 0, k, 0)])"
    assert features(SYRK, backwards, n=4, m=3).access_pattern == 4 / 6


def test_locality_grows_with_the_depth_of_what_carries() -> None:
    sums = """nest sums { param n: int in [1, ?]; array A: double[n][n]; array C: double[n];
      for i: int in [0, n) step 1 { for k: int in [0, n) step 1 { S0: C[i] += A[i][k]; } } }"""
    assert features(sums).locality == 2 / 3
    assert features(sums, "interchange(i, k)").locality == 1 / 3
    assert features(sums, "skew(i, k, 1)").locality == 2 / 3


def test_nothing_to_keep_near_and_data_dependent_bounds() -> None:
    once = "nest once { param n: int in [1, ?]; array A: double[n]; for i: int in [0, n) step 1 { S0: A[i] = 1.0; } }"
    found = features(once)
    assert found.locality == 1.0 and found.parallelism == 1.0 and found.tilability == 0.0
    assert all(0 <= value <= 1 for value in features(nests.SPMM).values)


def test_tiles_and_marks() -> None:
    plain, tiled = features(nests.GEMM), features(nests.GEMM, "tile([j, k], [8, 8]); parallelize(i)")
    assert all(0 <= value <= 1 for value in tiled.values)
    assert plain.sparse_iterators == tiled.sparse_iterators and plain.access_pattern == tiled.access_pattern


@pytest.mark.campaign
@pytest.mark.parametrize("first", [0, 15])
def test_all_in_range_on_samples_of_random_programs(first: int) -> None:
    seen = 0
    for seed in range(first, first + 15):
        rng = random.Random(seed)
        try:
            replayer = Replayer(random_nest(rng))
            drawn = MatrixSampler(replayer.model, replayer.dependences, rng)
            simplifier = Simplifier(replayer.model, drawn.pairs, drawn.space)
            computed = Features(replayer, {"n": 50})
            for _ in range(2):
                tree = replayer.tree((simplifier.tree(drawn.sample()),))
                values = computed.of(tree).values
                assert len(values) == 9 and all(0 <= value <= 1 for value in values), (seed, values)
                assert values == computed.of(tree).values
                seen += 1
        except (Unsampled, QuotaExceeded):
            continue
    assert seen > 10
