"""Which candidates are run, on what, and how often."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

import perfembed.measuring.less_work
import perfembed.measuring.trials
from perfembed.measuring.ledger import DonorOf, NoLedger, TrialLimits, Tried
from perfembed.measuring.measurer import Measured, Measurer
from perfembed.measuring.remeasure import remeasure
from perfembed.measuring.trials import Trials
from scheduler.replay import ScheduledNest
from scheduler.schedule import Schedule, parse_schedule
from scheduler.search.explorer import Candidate
from tests.perfembed.measuring.test_less_work import PRODUCT, measurer

GOOD = "interchange(j, k); parallelize(i)"
TILED = "tile([i, j], [16, 8]); parallelize(i_t)"


@dataclass
class Told(NoLedger):
    """Keeps what it is told was measured."""

    schedules: list[Schedule] = field(default_factory=list)

    def searched(self, schedule: Schedule, measured: Measured, donor: DonorOf | None = None) -> None:
        self.schedules.append(schedule)


@pytest.fixture
def whole(tmp_path: Path) -> Measurer:
    return measurer(tmp_path, PRODUCT, n=600)


def trials(measurer: Measurer, ledger: NoLedger, spared_s: float | None) -> Trials:
    return Trials(measurer, TrialLimits(60.0, 1.5, 8.0, 4), Tried(), lambda event: None, ledger, spared_s)


def scheduled(measurer: Measurer, *texts: str) -> list[ScheduledNest]:
    found = [measurer.replayer.replay(parse_schedule(text)) for text in texts]
    return [one for one in found if isinstance(one, ScheduledNest)]


@pytest.mark.gcc
def test_where_reading_takes_long_candidates_run_on_less_and_the_best_then_on_all(whole: Measurer) -> None:
    told = Told()
    tried = trials(whole, told, 5.0)
    tried.around_s = 2.0
    assert tried.begin_short() and tried.tried.less_work == "128 of 600 iterations of i"
    chosen = scheduled(whole, GOOD, TILED)
    seconds = tried.measure(chosen)
    assert None not in seconds and tried.tried.candidates == 2 and not told.schedules
    first_s, second_s = (tried.tried.at_s[one.schedule] for one in chosen)
    assert 0 < first_s < second_s
    assert tried.tried.estimated == {one.schedule for one in chosen}
    ranked = tuple(sorted((Candidate(c, 1.0) for c in chosen), key=lambda c: c.seconds))
    final = remeasure(tried, ranked)
    assert told.schedules and not tried.tried.estimated & set(told.schedules)
    assert all(tried.tried.at_s[schedule] > second_s for schedule in told.schedules), "they were measured again"
    assert {c.scheduled.schedule for c in final} == {one.schedule for one in chosen}
    assert final[0].seconds != 1.0 and final[0].seconds == tried.tried.seconds[final[0].scheduled.schedule]


@pytest.mark.gcc
def test_where_candidates_take_long_those_after_the_first_run_on_less(
    whole: Measurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perfembed.measuring.less_work, "_LEAST_S", 0.0)
    told = Told()
    tried = trials(whole, told, 5.0)
    tried.around_s = 0.0
    first, *others = scheduled(whole, GOOD, TILED, "parallelize(i)")
    assert tried.measure([first])[0] and not tried.tried.less_work
    tried.around_s = 10.0  # as if it had taken that to read its data
    found = tried.measure([*others, first])
    assert tried.tried.less_work and None not in found
    assert set(tried.tried.at_s) == {one.schedule for one in (first, *others)}
    assert others[0].schedule not in tried.tried.estimated and others[1].schedule in tried.tried.estimated
    assert told.schedules == [first.schedule, others[0].schedule]


def test_short_nests_and_those_without_a_spared_original_run_whole(whole: Measurer) -> None:
    tried = trials(whole, Told(), None)
    tried.around_s = 2.0
    assert not tried.begin_short()
    tried = trials(whole, Told(), 5.0)
    tried.around_s = 0.1
    assert not tried.begin_short() and not tried.tried.less_work


@pytest.mark.gcc
def test_one_candidate_is_measured_however_late_it_is(whole: Measurer) -> None:
    """Where finding candidates took all of a small budget, the first of them is still worth a run."""
    tried = Trials(whole, TrialLimits(0.0, 1.5, 8.0, 4), Tried(), lambda event: None, NoLedger(), 5.0)
    assert not tried.expired()
    found = tried.measure(scheduled(whole, GOOD, TILED))
    assert found[0] and found[1] is None and tried.tried.candidates == 1
    assert tried.expired()


@pytest.mark.gcc
def test_beside_others_more_of_a_slow_nests_budget_is_left_to_confirm_the_best(
    whole: Measurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perfembed.measuring.less_work, "_LEAST_S", 0.0)
    monkeypatch.setattr(perfembed.measuring.trials, "_SLOW_RUN_S", 0.0)
    monkeypatch.setattr(perfembed.measuring.trials, "_WANTED", 1_000_000)  # no candidate is fast enough for them
    quiet, busy = (
        Trials(whole, TrialLimits(200.0, 1.5, 8.0, 4, crowding), Tried(), lambda event: None, NoLedger(), 50.0)
        for crowding in (1.0, 60.0)
    )
    for tried in (quiet, busy):
        tried.measure(scheduled(whole, GOOD))
    assert not quiet.expired() and quiet.tried.less_work
    assert busy.expired(), "what takes 4 s on a quiet machine takes 240 here"
    assert not busy.tried.less_work, "nobody has time for further candidates"
