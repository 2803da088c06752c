"""A donor's time maps on other nests: over the loops and statements that were matched, or what isl computes instead."""

import pytest

from perfembed.transfer.align import align
from perfembed.transfer.candidates import bases, candidates
from scheduler.replay import ScheduledNest
from scheduler.schedule import format_schedule, parse_schedule
from scheduler.transform import Reschedule
from tests.perfembed.transfer_support import GEMM, GEMM_SCHEDULE, JACOBI, LINE, MVT, SEIDEL, TRANSPOSED, donor, side

WAVEFRONT = (
    "reschedule([S0 -> (0, t, 0, i + 2*t, 0, j + 2*t, 0)]); tile([t, i, j], [16, 32, 128]); skew(t_t, i_t, 2); "
    "interchange(t_t, i_t); parallelize(t_t)"
)
TWO_STATEMENTS = """nest gs {
  array X: double[900][900];
  for s: int in [0, 400) step 1 {
    for p: int in [1, 899) step 1 {
      for q: int in [1, 899) step 1 {
        S0: X[p][q] += X[p - 1][q] + X[p + 1][q] + X[p][q - 1] + X[p][q + 1];
        S1: X[p][q] *= 0.2;
      }
    }
  }
}"""
BACKWARDS = """nest back {
  array X: double[900][900];
  for s: int in [0, 400) step 1 {
    for p: int in [898, 0) step -1 {
      for q: int in [1, 899) step 1 {
        S0: X[p][q] += X[p - 1][q] + X[p + 1][q] + X[p][q - 1] + X[p][q + 1];
      }
    }
  }
}"""


def aligned(nest: str, schedule: str, target: str):
    given = donor(nest, schedule)
    return align(given.side, given.schedule, side(target))[0]


def test_a_wavefront_goes_to_another_stencil() -> None:
    found = aligned(SEIDEL, WAVEFRONT, TWO_STATEMENTS)
    assert [entry.action for entry in found.log] == ["applied"] * 5
    rows = "reschedule([S0 -> (0, s, 0, p + 2*s, 0, q + 2*s, 0), S1 -> (0, s, 0, p + 2*s, 0, q + 2*s, 1)])"
    assert found.schedule[:1] == parse_schedule(rows)  # S1 goes with S0
    assert "beside" in found.log[0].reason
    assert isinstance(side(TWO_STATEMENTS).replayer.replay(found.schedule), ScheduledNest)


def test_a_loop_that_runs_backwards_gets_the_time_of_its_partner() -> None:
    found = aligned(SEIDEL, WAVEFRONT, BACKWARDS)
    assert found.schedule[:1] == parse_schedule("reschedule([S0 -> (0, s, 0, -p + 2*s, 0, q + 2*s, 0)])")
    assert isinstance(side(BACKWARDS).replayer.replay(found.schedule), ScheduledNest)


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("target", "why"),
    [(JACOBI, "no statement of the donor stands for S1"), (MVT, "no loop of the target"), (GEMM, "no statement")],
)
def test_what_does_not_match_gets_what_isl_computes(target: str, why: str) -> None:
    found = aligned(SEIDEL, WAVEFRONT, target)
    assert found.log[0].action in ("substituted", "skipped") and why in found.log[0].reason
    assert isinstance(side(target).replayer.replay(found.schedule), ScheduledNest)


@pytest.mark.gcc
def test_other_dimensions_are_not_forced() -> None:
    found = aligned(SEIDEL, WAVEFRONT, LINE)
    assert found.log[0].action in ("substituted", "skipped")
    assert not any(e.action == "applied" and isinstance(e.donor, Reschedule) for e in found.log)


@pytest.mark.gcc
def test_rows_with_sizes_are_not_carried_over() -> None:
    with_size = SEIDEL.replace("nest seidel {", "nest seidel { param n: int in [1, ?];")
    found = aligned(with_size, "reschedule([S0 -> (0, t, 0, i + 2*t + n, 0, j, 0)])", TWO_STATEMENTS)
    assert found.log[0].action != "applied" and "nothing of the target stands for n" in found.log[0].reason


@pytest.mark.gcc
def test_computed_structures_are_what_other_donors_begin_with() -> None:
    target = side(TRANSPOSED)
    begun = [schedule for schedule, _ in bases(target)]
    assert begun[0] == () and any(isinstance(step, Reschedule) for schedule in begun for step in schedule)
    own = bases(target, parse_schedule("reschedule([S0 -> (0, i, 0)])"))
    assert not any(isinstance(step, Reschedule) for schedule, _ in own for step in schedule)
    found = candidates(donor(GEMM, GEMM_SCHEDULE), target)
    assert any(isinstance(step, Reschedule) for c in found for step in c.scheduled.schedule)
    for candidate in found:
        steps = [step for entry in candidate.log for step in entry.steps]
        assert steps == list(candidate.scheduled.schedule), format_schedule(candidate.scheduled.schedule)


@pytest.mark.gcc
def test_loops_that_are_marked_already_are_not_made_anew() -> None:
    given = donor(SEIDEL, WAVEFRONT)
    found = align(given.side, given.schedule, side(TWO_STATEMENTS), base=parse_schedule("parallelize(p)"))
    assert found[0].log[0].action == "skipped" and "before loop p is marked" in found[0].log[0].reason
