"""How a winner is confirmed where its nest was searched on less work."""

from dataclasses import replace
from pathlib import Path

import pytest

import perfembed.measuring.less_work
from perfembed.measuring.ledger import NoLedger
from perfembed.measuring.measurer import Checked, Original
from perfembed.measuring.runner import Processes, Surroundings
from perfembed.measuring.trials import Trials
from perfembed.measuring.tried import TrialLimits
from perfembed.tuning.confirming import Confirmation
from perfembed.tuning.nest_outcome import Effort, NestOutcome
from profilers.build import Built
from profilers.outcome import Timed
from profilers.timing import CompareSettings, Comparison, Round
from scheduler.replay import ScheduledNest
from scheduler.schedule import parse_schedule
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
    confirmation = Confirmation(whole, whole.replayer, trials, effort, outcome, NoLedger(), LONG_S, True)
    checked = Checked(("equal",), seconds=took)
    found = confirmation._compared(built, Candidate(scheduled, took[0]), checked, False)
    if not tuned:
        assert found is not None and not found.faster and not outcome.notes
        return
    assert isinstance(found, Comparison) and found.faster and found.ratio == 4 / 3
    assert found.samples_original == (LONG_S, LONG_S) and found.samples_candidate == (took[0], *took)
    assert outcome.notes == ["compared in turns on less work; the times are of runs of all of it"]
