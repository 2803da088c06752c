"""Pooling and ranking."""

import pytest

from perfembed.transfer.compose import wavefronts
from perfembed.transfer.recommend import by_donor, recommend
from scheduler.schedule import format_schedule
from scheduler.transform import Skew
from tests.perfembed.transfer_support import (
    BICG,
    GEMM,
    GEMM_SCHEDULE,
    JACOBI,
    MVT,
    MVT_SCHEDULE,
    TWO,
    donor,
    side,
)


@pytest.mark.gcc
def test_every_tree_is_recommended_once_and_no_more_than_asked():
    target = side(TWO)
    given = [donor(GEMM, GEMM_SCHEDULE, "a"), donor(GEMM, GEMM_SCHEDULE, "b"), donor(GEMM, "parallelize(i_2)", "c")]
    found = recommend(given, target, measure=4)
    assert len(found.chosen) == 4 and len(found.pool) == len(found.scores) > 4
    assert len({c.scheduled.tree for c in found.pool}) == len(found.pool)
    assert set(found.chosen) <= set(found.pool)


@pytest.mark.gcc
def test_what_no_code_can_be_made_for_takes_no_ones_place():
    target = side(TWO)
    given = [donor(GEMM, GEMM_SCHEDULE, "a"), donor(GEMM, "parallelize(i_2)", "b")]
    every, asked = recommend(given, target, measure=4), []

    def writable(scheduled):
        asked.append(scheduled)
        return scheduled != every.chosen[0].scheduled

    found = recommend(given, target, measure=4, writable=writable)
    assert len(found.chosen) == 4 and every.chosen[0] not in found.chosen
    assert set(found.chosen) >= set(every.chosen[1:]) and every.chosen[0] in found.pool
    assert len(asked) == 5


@pytest.mark.gcc
def test_the_scorer_decides_by_turns_with_what_donors_gained():
    target = side(TWO)
    given = [donor(GEMM, GEMM_SCHEDULE, "far"), donor(GEMM, "interchange(j_2, k); parallelize(i_2)", "near")]

    def shortest(pool):
        return [float(len(c.scheduled.schedule)) for c in pool]

    found = recommend(given, target, scorer=shortest, measure=3)
    assert {c.donor.name for c in found.chosen} == {"far", "near"}
    lengths = [len(c.scheduled.schedule) for c in found.chosen]
    assert lengths == sorted(lengths) and lengths[0] == min(len(c.scheduled.schedule) for c in found.pool)


@pytest.mark.gcc
def test_a_way_to_share_loops_that_no_order_favours_is_tried_too():
    target = side(MVT)
    fused = "interchange(i_2, j_2); fuse(i, j_2); fuse(j, i_2); vectorize(j)"
    apart = (MVT_SCHEDULE, "unroll_jam(i, 8)", "unroll_jam(i, 2)", "tile([i, j], [32, 32]); parallelize(i_t)")
    given = [donor(MVT, s, s, speedup=1.1 if s is fused else 9.0) for s in (fused, *apart)]

    def fusion_is_bad(pool):
        return [float("fuse(" in format_schedule(c.scheduled.schedule)) for c in pool]

    found = recommend(given, target, scorer=fusion_is_bad, measure=6)
    assert found.scores.count(0.0) > 6  # enough to fill the list
    fused_ones = ["fuse(" in format_schedule(c.scheduled.schedule) for c in found.chosen]
    assert sum(fused_ones) == 1 and len(found.chosen) == 6


@pytest.mark.gcc
def test_what_was_derived_from_the_target_has_its_share():
    target = side(JACOBI)

    def waves_are_bad(pool):
        return [float(any(isinstance(s, Skew) for s in c.scheduled.schedule)) for c in pool]

    def tried(measure):
        given = [donor(GEMM, GEMM_SCHEDULE, "gemm"), donor(MVT, MVT_SCHEDULE, "mvt")]
        found = recommend(
            given, target, scorer=waves_are_bad, measure=measure, more=lambda pool: wavefronts(target, pool)
        )
        assert sum(score == 0 for score in found.scores) >= measure  # enough to fill the list
        return sum(not c.donated for c in found.chosen)

    assert tried(5) == 1 and tried(4) == 0


@pytest.mark.gcc
def test_without_a_model_gain_nearness_and_fit_count():
    target = side(TWO)
    quick, slow, far = (
        donor(GEMM, GEMM_SCHEDULE, name, distance=d, speedup=s)
        for name, d, s in (("quick", 0.1, 8.0), ("slow", 0.1, 1.1), ("far", 3.0, 8.0))
    )
    scores = [min(by_donor(recommend([d], target).pool)) for d in (quick, slow, far)]
    assert scores[0] < scores[1] and scores[0] < scores[2]
    pool = recommend([quick], target).pool
    fits = [s for _, s in sorted(zip((c.cost for c in pool), by_donor(pool), strict=True))]
    assert fits[0] == min(fits)


@pytest.mark.gcc
def test_a_donor_that_is_no_good_is_named():
    scan = "nest scan { array A: double[100]; for i: int in [1, 100) step 1 { S0: A[i] = A[i - 1] + 1.0; } }"
    found = recommend([donor(GEMM, GEMM_SCHEDULE, "gemm"), donor(MVT, MVT_SCHEDULE, "mvt")], side(scan))
    assert {name for name, _ in found.failed} | {c.donor.name for c in found.pool} == {"gemm", "mvt"}
    assert all(reason for _, reason in found.failed)


def test_no_donors_no_candidates():
    found = recommend([], side(BICG))
    assert found.chosen == found.pool == found.scores == found.failed == ()


@pytest.mark.gcc
@pytest.mark.parametrize("measure", [0, 1])
def test_little_may_be_measured(measure):
    assert len(recommend([donor(MVT, MVT_SCHEDULE)], side(BICG), measure=measure).chosen) == measure
