"""How a winner is confirmed where its nest was searched on less work."""

from dataclasses import replace
from pathlib import Path

import pytest

import perfembed.measuring.less_work
from perfembed.measuring.ledger import NoLedger, TrialLimits
from perfembed.measuring.measurer import Checked, Original
from perfembed.measuring.runner import Processes, Surroundings
from perfembed.measuring.trials import Trials
from perfembed.tuning.confirming import Confirmation, loses_threads, plainly_faster
from perfembed.tuning.nest_outcome import Effort, NestOutcome
from profilers.build import Built
from profilers.outcome import Timed
from profilers.timing import CompareSettings, Comparison, Round
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.errors import CodegenUnsupported
from scheduler.frontend import Sharing
from scheduler.frontend.model import Shared
from scheduler.ir.nest import LoopNest, Span
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.model import Model, QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, parse_schedule
from scheduler.search.explorer import Candidate
from tests.perfembed.measuring.test_less_work import PRODUCT, measurer

LONG_S = 5.0
PART = Round((Timed((0.4,)), Timed((0.4,))), (Timed((0.3,)), Timed((0.3,))), 0.0, True)


class Turns(Processes):
    """A machine on which a part of the nest is a third faster, in every turn."""

    def compare(
        self, original: Built, candidate: Built, settings: CompareSettings, seed: int, where: Surroundings
    ) -> Comparison:
        return Comparison(4 / 3, 1.2, 1.5, (0.4, 0.4), (0.3, 0.3), False, (PART,) * 3, 0.98)


TWO_PARTS = """nest parts {
  param n: int; array A: double[n][n]; array s: double[n];
  for i: int in [0, n) step 1 { S0: s[i] = 0.0; for j: int in [0, n) step 1 { S1: s[i] += A[i][j]; } }
}"""


@pytest.mark.parametrize(
    ("schedule", "lost"),
    [
        ("", True),
        ("parallelize(i)", False),
        ("distribute(i, 1); parallelize(i)", True),
        ("distribute(i, 1); parallelize(i); parallelize(i_d)", False),
        ("tile([i], [8]); parallelize(i_t)", False),
    ],
)
def test_what_the_user_shares_among_threads(schedule: str, lost: bool) -> None:
    replayer = Replayer(parse_nest(TWO_PARTS))
    scheduled = replayer.replay(parse_schedule(schedule))
    assert isinstance(scheduled, ScheduledNest)
    span = Span("a.c", 0, 1, 1, 1)
    assert loses_threads(replayer, Sharing((Shared("i", span, "parallel for"),)), scheduled) is lost
    assert not loses_threads(replayer, Sharing((Shared("i", span, "simd"),)), scheduled)
    assert not loses_threads(replayer, None, scheduled)


class Told(NoLedger):
    """Remembers what it is told was confirmed."""

    def __init__(self) -> None:
        self.schedules: list[Schedule] = []

    def confirmed(self, schedule: Schedule, comparison: Comparison, checked: Checked) -> None:
        self.schedules.append(schedule)


@pytest.mark.gcc
@pytest.mark.parametrize("load", [0.0, 1.2])
def test_what_only_looks_faster_is_not_kept(tmp_path: Path, load: float) -> None:
    """Neither as the winner nor in the database, where it would be a donor."""

    class Busy(Turns):
        def compare(self, *_: object) -> Comparison:
            return Comparison(4 / 3, 1.2, 1.5, (0.4,), (0.3,), load > 0, (replace(PART, other_load=load),) * 3, 0.98)

    whole = replace(measurer(tmp_path, PRODUCT, n=40), sharing=Sharing((Shared("i", Span("a.c", 0, 1, 1, 1), "for"),)))
    whole = replace(whole, conditions=replace(whole.conditions, runner=Busy()))
    scheduled = whole.replayer.replay(parse_schedule("interchange(j, k)"))
    assert isinstance(scheduled, ScheduledNest)
    outcome, ledger = NestOutcome(), Told()
    trials = Trials(whole, TrialLimits(60.0, 1.5, 8.0, 4), outcome, lambda event: None, ledger, None)
    original = whole.original(None)
    assert isinstance(original, Original)
    trials.known_original(Original(original.built, Timed((1.0,))), 1.0)
    confirmation = Confirmation(trials, Effort(), outcome, None, False)
    confirmation.confirm((Candidate(scheduled, 0.8),), False)
    assert (outcome.winner is None) is (load > 0), outcome.reason
    assert ledger.schedules == ([] if load else [scheduled.schedule])
    assert not load or "1.2 cores busy" in outcome.reason


@pytest.mark.gcc
@pytest.mark.parametrize("beyond", [True, False])
def test_what_no_code_can_be_written_for_makes_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beyond: bool
) -> None:
    """A run-time test may be beyond the limits where the schedule itself was not.

    Other tests that fail here may be possible where it is known what arrays are called: that is seen at the end.
    """
    whole = measurer(tmp_path, PRODUCT, n=40)
    whole = replace(whole, conditions=replace(whole.conditions, runner=Turns()))
    deep, plain = (whole.replayer.replay(parse_schedule(text)) for text in ("interchange(j, k)", "interchange(i, j)"))
    assert isinstance(deep, ScheduledNest) and isinstance(plain, ScheduledNest)

    def condition(nest: LoopNest, model: Model, scheduled: PolyTree) -> None:
        if scheduled.tree == deep.tree:
            cause = QuotaExceeded("so many") if beyond else None
            raise CodegenUnsupported("no run-time test within the limits") from cause

    monkeypatch.setattr("perfembed.tuning.confirming.runtime_condition", condition)
    outcome, ledger = NestOutcome(), Told()
    trials = Trials(whole, TrialLimits(60.0, 1.5, 8.0, 4), outcome, lambda event: None, ledger, None)
    original = whole.original(None)
    assert isinstance(original, Original)
    trials.known_original(Original(original.built, Timed((1.0,))), 1.0)
    confirmation = Confirmation(trials, Effort(), outcome, None, False)
    confirmation.confirm((Candidate(deep, 0.7), Candidate(plain, 0.8)), False)
    if not beyond:
        assert ledger.schedules == [deep.schedule] and outcome.winner is not None
        return
    assert ledger.schedules == [plain.schedule] and outcome.failed == 1 and outcome.winner is not None
    confirmation.confirm((Candidate(deep, 0.7),), False)
    assert outcome.reason == "no code: no run-time test within the limits"


@pytest.mark.parametrize("load", [0.0, 1.2])
def test_one_thread_is_not_confirmed_beside_others(tmp_path: Path, load: float) -> None:
    """It may look faster than the user's threads, which have to wait for theirs."""
    whole = replace(measurer(tmp_path, PRODUCT, n=40), sharing=Sharing((Shared("i", Span("a.c", 0, 1, 1, 1), "for"),)))
    scheduled = whole.replayer.replay(parse_schedule("interchange(j, k)"))
    assert isinstance(scheduled, ScheduledNest)
    outcome = NestOutcome()
    trials = Trials(whole, TrialLimits(60.0, 1.5, 8.0, 4), outcome, lambda event: None, NoLedger(), LONG_S)
    effort = Effort(search="transfer")
    confirmation = Confirmation(trials, effort, outcome, LONG_S, False)
    turns = Comparison(4 / 3, 1.2, 1.5, (0.4,), (0.3,), load > 0, (replace(PART, other_load=load),) * 3, 0.98)
    assert bool(confirmation._unfair(turns, scheduled)) is (load > 0)
    if load:
        assert "1.2 cores" in confirmation._unfair(turns, scheduled)


@pytest.mark.gcc
@pytest.mark.parametrize(("took", "tuned"), [((4.4, 4.6), True), ((5.4, 5.6), False)])
def test_after_turns_on_less_work_the_times_are_of_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, took: tuple[float, float], tuned: bool
) -> None:
    """In a report and in the database nothing looks as fast as a part of it is; what is slower at full size stays."""
    monkeypatch.setattr(perfembed.measuring.less_work, "_LEAST_S", 0.0)
    whole = measurer(tmp_path, PRODUCT, n=600)
    whole = replace(whole, conditions=replace(whole.conditions, runner=Turns()))
    scheduled = whole.replayer.replay(parse_schedule("interchange(j, k)"))
    assert isinstance(scheduled, ScheduledNest)
    outcome = NestOutcome()
    trials = Trials(whole, TrialLimits(60.0, 1.5, 8.0, 4), outcome, lambda event: None, NoLedger(), LONG_S)
    trials.around_s = 10.0
    assert trials.begin_short()
    built = whole.build(["C[0][0] = 0;"])[0]
    assert isinstance(built, Built)
    trials.known_original(Original(built, Timed((LONG_S,))), LONG_S)
    effort = Effort(search="transfer")
    confirmation = Confirmation(trials, effort, outcome, LONG_S, True)
    checked = Checked(("equal",), seconds=took)
    found = confirmation._compared(built, Candidate(scheduled, took[0]), checked, False)
    if not tuned:
        assert found is not None and not found.faster and not outcome.notes
        return
    assert isinstance(found, Comparison) and found.faster and found.ratio == 4 / 3
    assert found.samples_original == (LONG_S, LONG_S) and found.samples_candidate == (took[0], *took)
    assert outcome.notes == ["compared in turns on less work; the times are of runs of all of it"]


def test_what_is_plainly_faster_in_every_run_needs_no_turns() -> None:
    found = plainly_faster((1.0, 1.2), (0.4, 0.3), None)
    assert found is not None and found.faster and found.low == 1.0 / 0.4 and found.high == 1.2 / 0.3
    assert plainly_faster((1.0, 1.2), (0.3, 0.7), None) is None  # one run was not
    assert plainly_faster((1.0, 1.2), (0.4, 0.3), 2.0) == found  # in the program its data were cold
    assert plainly_faster((1.0, 1.2), (0.4, 0.3), 0.5) is None  # in the program it is as good as that
