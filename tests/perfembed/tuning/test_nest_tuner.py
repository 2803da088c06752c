"""What a tuner decides without measuring."""

from perfembed.tuning.confirming import plainly_faster
from perfembed.tuning.nest_tuner import to_refine
from scheduler.replay import ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.search.explorer import Candidate
from tests.perfembed.transfer_support import GEMM, side


def candidate(schedule: str, seconds: float) -> Candidate:
    scheduled = side(GEMM).replayer.replay(parse_schedule(schedule))
    assert isinstance(scheduled, ScheduledNest)
    return Candidate(scheduled, seconds)


def test_a_schedule_of_another_kind_is_refined_too_where_it_is_nearly_as_fast() -> None:
    best, alike = candidate("tile([i_2, j_2], [32, 64])", 1.0), candidate("tile([i_2, j_2], [64, 64])", 1.01)
    near, far = candidate("interchange(j_2, k)", 1.1), candidate("unroll(k, 4)", 1.5)
    assert to_refine((best,)) == (best,) == to_refine((best, alike, far))
    assert to_refine((best, alike, near, far)) == (best, near)
    assert to_refine((best, near, candidate("unroll(k, 4)", 1.12))) == (best, near)


def test_what_is_plainly_faster_in_every_run_needs_no_turns() -> None:
    found = plainly_faster((1.0, 1.2), (0.4, 0.3), None)
    assert found is not None and found.faster and found.low == 1.0 / 0.4 and found.high == 1.2 / 0.3
    assert plainly_faster((1.0, 1.2), (0.3, 0.7), None) is None  # one run was not
    assert plainly_faster((1.0, 1.2), (0.4, 0.3), 2.0) == found  # in the program its data were cold
    assert plainly_faster((1.0, 1.2), (0.4, 0.3), 0.5) is None  # in the program it is as good as that
