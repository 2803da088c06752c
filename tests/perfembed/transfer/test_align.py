"""Alignment: each step of a donor applied, done already, substituted, inserted for, or skipped with the reason."""

from perfembed.transfer.align import align
from scheduler.replay import ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.transform import Distribute, Parallelize, Skew, Vectorize
from tests.perfembed.transfer_support import (
    BICG,
    GEMM,
    GEMM_SCHEDULE,
    JACOBI,
    JACOBI_SCHEDULE,
    LINE,
    MVT,
    MVT_SCHEDULE,
    SEIDEL,
    TRANSPOSED,
    TWO,
    donor,
    side,
)


def best(nest, schedule, target, **more):
    given = donor(nest, schedule)
    found = align(given.side, given.schedule, side(target), **more)
    return found[0] if found else None


def actions(alignment):
    return [entry.action for entry in alignment.log]


def test_an_equal_nest_gets_the_very_schedule():
    for text, schedule in ((GEMM, GEMM_SCHEDULE), (MVT, MVT_SCHEDULE), (JACOBI, JACOBI_SCHEDULE)):
        found = best(text, schedule, text)
        assert found.cost < 0.005  # adapted sizes may differ by a few
        assert found.literal == parse_schedule(schedule)
        assert actions(found) == ["applied"] * len(parse_schedule(schedule))
        # Step by step the same again, as the paper's recipe too.
        assert best(text, schedule, text, repair=False).literal == parse_schedule(schedule)


def test_bodies_are_split_where_a_step_needs_perfect_loops():
    found = best(GEMM, GEMM_SCHEDULE, TWO)
    inserted = [step for entry in found.log if entry.action == "inserted" for step in entry.steps]
    assert inserted and all(isinstance(step, Distribute) for step in inserted)
    assert all(entry.reason for entry in found.log if entry.action == "inserted")
    assert isinstance(side(TWO).replayer.replay(found.schedule), ScheduledNest)
    assert best(GEMM, GEMM_SCHEDULE, TWO, repair=False) is None


def test_a_step_that_is_done_already_costs_nothing_much():
    schedule = "interchange(j_2, k); parallelize(i_2)"
    found = best(GEMM, schedule, TRANSPOSED)
    assert actions(found)[0] == "already" and "c is outside b" in found.log[0].reason
    assert found.schedule == (Parallelize("a"),) and found.cost < 0.15


def test_what_a_donor_has_beyond_the_target_counts_nothing():
    half = "nest h { array A: double[5900][5900]; array x: double[5900]; array y: double[5900];"
    half += "for a: int in [0, 5900) step 1 { for b: int in [0, 5900) step 1 { S0: x[a] += A[b][a] * y[b]; } } }"
    found = best(MVT, "interchange(i_2, j_2); parallelize(i); vectorize(i_2)", half)
    assert "skipped" in actions(found) and "applied" in actions(found)
    assert found.cost < 0.15
    # The other way round the second half gets the donor's schedule again.
    assert best(half, "interchange(a, b)", MVT).cost < 0.15


def test_a_loop_that_must_run_in_order_is_not_parallelized_but_the_next_one_is():
    # The donor has the outermost loop parallel; a recurrence along the target's outermost loop forbids it.
    carried = "nest c { array A: double[100][90000]; for i: int in [1, 100) step 1 { for j: int in [0, 90000) step 1 "
    carried += "{ S0: A[i][j] = A[i - 1][j] * 2.0; } } }"
    free = carried.replace("A[i - 1][j]", "A[i][j]")
    found = best(free, "parallelize(i)", carried)
    assert actions(found) == ["substituted"] and found.schedule == (Parallelize("j"),)
    assert "not legal" in found.log[0].reason and "j is the outermost" in found.log[0].reason
    # Where there is too little to do in each of its runs, starting threads would cost more than they save.
    short = best(free.replace("90000", "90"), "parallelize(i)", carried.replace("90000", "90"))
    assert actions(short) == ["skipped"] and short.schedule == ()


def test_what_cannot_be_legal_is_skipped_with_the_broken_dependence():
    found = best(MVT, "interchange(i_2, j_2); vectorize(i_2)", SEIDEL)
    skipped = [entry for entry in found.log if entry.action == "skipped"]
    assert any("not legal: " in entry.reason and "S0" in entry.reason for entry in skipped)
    assert not any(isinstance(step, Vectorize) for step in found.schedule)


def test_a_band_is_skewed_for_the_targets_own_dependences():
    given = "skew(t, i, 1); skew(t, j, 1); tile([t, i, j], [16, 32, 64])"
    two_far = SEIDEL.replace("A[i - 1][j]", "A[i - 1][j + 1]").replace("[1, 999)", "[2, 998)")
    assert isinstance(side(SEIDEL).replayer.replay(parse_schedule(given)), ScheduledNest)
    found = best(SEIDEL, given, two_far)
    tiled = next(entry for entry in found.log if entry.donor is not None and entry.donor.keyword == "tile")
    assert tiled.action == "substituted"
    assert isinstance(side(two_far).replayer.replay(found.schedule), ScheduledNest)
    assert sum(isinstance(step, Skew) for step in found.schedule) == 3


def test_time_loops_are_fused_and_skewed_in_another_dimension():
    found = best(JACOBI, JACOBI_SCHEDULE, LINE)
    assert "skipped" not in actions(found)
    assert isinstance(side(LINE).replayer.replay(found.schedule), ScheduledNest)
    assert isinstance(side(LINE).replayer.replay(found.literal), ScheduledNest)


def test_a_delay_without_a_fusion_is_not_made():
    found = best(JACOBI, JACOBI_SCHEDULE, SEIDEL)
    assert [entry.donor.keyword for entry in found.log if entry.action == "skipped"][:2] == ["shift", "fuse"]
    assert found.schedule[0].keyword == "skew"


def test_steps_that_the_donor_itself_cannot_take_are_skipped():
    found = best(GEMM, "tile([i_9], [4]); interchange(k, i_2); parallelize(i_2)", GEMM)
    assert actions(found) == ["skipped", "skipped", "applied"]
    assert "there is no loop i_9" in found.log[0].reason


def test_nothing_in_common_leaves_the_target_as_it_is():
    scan = "nest scan { array A: double[100]; for i: int in [1, 100) step 1 { S0: A[i] = A[i - 1] + 1.0; } }"
    found = best(GEMM, "tile([i_2, j_2], [32, 32]); parallelize(i_2_t)", scan)
    assert found.cost > 0.3 or found.schedule == ()
    assert isinstance(side(scan).replayer.replay(found.schedule), ScheduledNest)


def test_alignments_come_cheapest_first_and_no_two_alike():
    given = donor(MVT, MVT_SCHEDULE)
    target = side(BICG)
    found = align(given.side, given.schedule, target, width=3)
    assert [a.cost for a in found] == sorted(a.cost for a in found)
    assert len({target.replayer.tree(a.schedule) for a in found}) == len(found)
