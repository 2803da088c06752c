"""What a donor offers real nests: legal, complete, from whole nests and from what is inside sequential loops."""

import pytest

from perfembed.transfer.candidates import candidates, prove, read_donor
from perfembed.transfer.view import outer_sequential
from scheduler.codegen import emit
from scheduler.computed.stencils import suited
from scheduler.errors import SchedulerError
from scheduler.ir.tree import tree_loops
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.transform import Pack, RegisterBlock, Tile
from tests.perfembed.transfer_support import (
    EMBEDDER,
    GEMM,
    GEMM_SCHEDULE,
    JACOBI,
    JACOBI_SCHEDULE,
    LINE,
    MACHINE,
    MVT,
    MVT_SCHEDULE,
    SEIDEL,
    TRANSPOSED,
    TWO,
    donor,
    kernel,
    side,
)

SIZES = {"heat-3d": {"n": 120, "steps": 100}}


def count(schedule, kind):
    return sum(isinstance(step, kind) for step in schedule)


def offered(given, target):
    """The candidates, each proved again by a replayer that has seen nothing of the search, the first emitted as C."""
    found = candidates(given, target)
    fresh = Replayer(target.replayer.nest)
    for candidate in found:
        again = fresh.replay(candidate.scheduled.schedule)
        assert isinstance(again, ScheduledNest) and again.tree == candidate.scheduled.tree
        assert candidate.log and candidate.cost >= 0
    assert not found or emit(found[0].scheduled, target.replayer.model)
    assert len({c.scheduled.tree for c in found}) == len(found)
    assert [c.cost for c in found] == sorted(c.cost for c in found)
    return found


@pytest.mark.gcc
def test_one_product_teaches_both_of_two():
    best = offered(donor(GEMM, GEMM_SCHEDULE), side(TWO))[0].scheduled
    assert count(best.schedule, RegisterBlock) == 2 and count(best.schedule, Tile) == 2
    assert {s.array for s in best.schedule if isinstance(s, Pack)} == {"A", "B", "T", "D"}
    assert sum(loop.parallel is not None for loop in tree_loops(best.tree)) >= 2


@pytest.mark.gcc
def test_candidates_have_adapted_and_the_donors_own_parameters_and_a_version_without_buffers():
    found = offered(donor(GEMM, GEMM_SCHEDULE), side(TRANSPOSED))
    assert {c.parameters for c in found} == {"adapted", "literal"}
    blocks = {(c.parameters, s.sizes) for c in found for s in c.scheduled.schedule if isinstance(s, RegisterBlock)}
    # Of float twice as many fit a vector.
    assert ("adapted", (6, 16)) in blocks and ("literal", (6, 8)) in blocks and ("adapted", (6, 8)) not in blocks
    assert any(not count(c.scheduled.schedule, Pack) for c in found)


@pytest.mark.gcc
def test_the_log_has_the_steps_of_the_candidate_itself():
    found = offered(donor(GEMM, GEMM_SCHEDULE), side(TRANSPOSED))
    assert {c.parameters for c in found} == {"adapted", "literal"}
    for candidate in found:
        assert [step for entry in candidate.log for step in entry.steps] == list(candidate.scheduled.schedule)


@pytest.mark.gcc
def test_wavefronts_come_in_the_sizes_of_the_machine_too():
    target = side(JACOBI)
    found = offered(donor(JACOBI, JACOBI_SCHEDULE), target)
    sizes = {s.sizes for c in found for s in c.scheduled.schedule if isinstance(s, Tile)}
    own = suited(target.space, parse_schedule(JACOBI_SCHEDULE))
    assert {s.sizes for s in own if isinstance(s, Tile)} < sizes and (16, 32) in sizes
    for candidate in found:
        assert [step for entry in candidate.log for step in entry.steps] == list(candidate.scheduled.schedule)


@pytest.mark.gcc
def test_the_kernels_of_real_programs():
    """Read by the front end: gemm's schedule on 2mm, a stencil's on heat-3d."""
    given = donor(kernel("gemm", "gemm"), GEMM_SCHEDULE)
    two = offered(given, side(kernel("2mm", "two_mm"), {"ni": 800, "nj": 900, "nk": 1100, "nl": 1200}))
    assert count(two[0].scheduled.schedule, RegisterBlock) == 2
    given = donor(JACOBI, JACOBI_SCHEDULE)
    heat = offered(given, side(kernel("heat-3d", "heat_3d"), SIZES["heat-3d"]))[0]
    assert {entry.action for entry in heat.log} == {"applied"}


@pytest.mark.gcc
def test_inside_a_time_loop_the_nests_are_targets_of_their_own():
    smooth = "nest smooth { array A: double[900][900]; array B: double[900][900]; "
    smooth += "for i: int in [1, 899) step 1 { for j: int in [1, 899) step 1 "
    smooth += "{ S0: B[i][j] = A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]; } } }"
    target = side(JACOBI)
    assert outer_sequential(target) == {"t"}
    found = offered(donor(smooth, "tile([i, j], [32, 256]); parallelize(i_t); vectorize(j)"), target)
    best = found[0].scheduled
    marked = [loop.name for loop in tree_loops(best.tree) if loop.parallel]
    assert count(best.schedule, Tile) == 2 and len(marked) == 2 and "t" not in marked
    # The other way round: what a time-tiled donor does inside its time loop reaches a nest without one.
    assert offered(donor(JACOBI, JACOBI_SCHEDULE), side(smooth))
    inside = [c.inside for c in offered(donor(JACOBI, JACOBI_SCHEDULE), side(JACOBI.replace("500", "400")))]
    assert any(inside) and not inside[0]


def test_stale_marks_are_dropped_and_said():
    target = side(MVT)
    schedule = parse_schedule("parallelize(j); parallelize(i_2)")
    proved, dropped = prove(target, schedule)
    assert proved is not None and proved.schedule == schedule[1:]
    assert [entry.donor for entry in dropped] == [schedule[0]] and "not legal" in dropped[0].reason
    assert prove(target, parse_schedule("interchange(i, q)")) == (None, ())


def test_the_papers_recipe_is_all_or_nothing():
    given = donor(MVT, MVT_SCHEDULE)
    assert len(candidates(given, side(MVT.replace("5900", "4000")), repair=False)) >= 1
    assert candidates(donor(GEMM, GEMM_SCHEDULE), side(SEIDEL), repair=False) == ()
    assert candidates(donor(GEMM, GEMM_SCHEDULE), side(TWO), repair=False) == ()


@pytest.mark.gcc
def test_a_donor_that_does_nothing_offers_what_is_usual_or_nothing():
    for c in offered(donor(GEMM, ""), side(TWO)):
        assert c.completed


@pytest.mark.gcc
def test_a_transfer_is_the_same_every_time():
    def once():
        found = candidates(donor(JACOBI, JACOBI_SCHEDULE), side(LINE))
        return [(c.scheduled.schedule, c.cost, c.parameters) for c in found]

    assert once() == once()


@pytest.mark.parametrize(
    ("nest", "schedule"),
    [("nest", ""), ("nest x {", ""), (GEMM, "tile(i, 3)"), (GEMM, "system(i)"), (GEMM, "tile([i], [3]); \0")],
)
def test_stored_text_that_is_none_is_refused(nest, schedule):
    with pytest.raises(SchedulerError):
        read_donor(nest, schedule, {}, MACHINE, EMBEDDER, name="bad")


def test_of_a_donor_what_was_done_and_undone_again_is_left_out():
    undone = "interchange(i_2, j_2); interchange(j_2, i_2); interchange(j_2, k); parallelize(i); parallelize(i_2)"
    assert donor(GEMM, undone).schedule == parse_schedule("interchange(j_2, k); parallelize(i); parallelize(i_2)")
    unfit = parse_schedule("interchange(i, k); interchange(k, i)")
    assert donor(GEMM, "interchange(i, k); interchange(k, i)").schedule == unfit
