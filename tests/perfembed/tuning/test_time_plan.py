"""How the time of a tuning is divided: on a quiet machine, and beside others."""

import time
from types import SimpleNamespace
from typing import cast

import pytest

from perfembed.capture import ProgramProfile
from perfembed.errors import NotRead
from perfembed.measuring.stopwatch import Budget, Stopwatch
from perfembed.tuning import time_plan
from perfembed.tuning.inputs import NestInputs
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.time_plan import TimePlan, in_budget
from profilers.contained.child import Limits
from profilers.run import DEFAULT_ENVIRONMENT, run_contained


class Clock:
    time = 0.0

    def __call__(self) -> float:
        return self.time


def waiting(*gains: float) -> list[NestInputs]:
    return [cast("NestInputs", SimpleNamespace(gain_s=gain)) for gain in gains]


def planned(monkeypatch: pytest.MonkeyPatch, crowding: float, budget_s: float = 60.0) -> tuple[TimePlan, Clock]:
    monkeypatch.setattr(time_plan, "crowding", lambda: crowding)
    clock = Clock()
    return TimePlan(Budget(budget_s, 0.0, Stopwatch(clock))), clock


def test_nests_share_what_is_left_by_what_they_can_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, clock = planned(monkeypatch, 1.3)
    assert plan.of_first(waiting(3, 1)) == pytest.approx(0.75 * 56)
    clock.time = 57.5
    assert plan.of_first(waiting(3, 1)) is None


def test_beside_others_the_first_gets_what_a_nest_needs_then(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, clock = planned(monkeypatch, 6.0)
    clock.time = 30
    alone = plan.of_first(waiting(1, 1, 1, 1))
    assert alone == pytest.approx(18.0)  # a quarter would be 6.75 s, in which nothing is confirmed
    clock.time = 53
    assert plan.of_first(waiting(1, 1)) is None  # 4 s are left, which are less than one on a quiet machine
    assert plan.crowding == 6.0
    quiet, _ = planned(monkeypatch, 1.3)
    assert quiet.crowding == 1.0


def test_a_nest_ends_while_there_is_time_to_build_and_run_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, clock = planned(monkeypatch, 1.0)
    plan.ran(4.0)
    plan.profile = cast("ProgramProfile", SimpleNamespace(wall_s=4.0, built_s=9.0))
    clock.time = 50
    assert plan.budget.at_last() == pytest.approx(66 + 12 - 50)
    assert plan.nest_left() == pytest.approx(28 - 6 - 9.5)


def test_a_budget_that_is_spent_before_anything_is_known_is_an_error_of_its_own() -> None:
    with pytest.raises(NotRead, match="budget"), in_budget(TuneOptions(began_s=time.monotonic() - 100)):
        run_contained(("/bin/true",), limits=Limits(), env=DEFAULT_ENVIRONMENT, cwd="/")


def test_the_budget_begins_with_the_command() -> None:
    with in_budget(TuneOptions(budget_s=60)) as budget:
        now = budget.watch.now()
    with in_budget(TuneOptions(budget_s=60, began_s=now - 20)) as budget:
        assert 39 < budget.left() < 40.1 and 20 <= budget.wall_s() < 21
        assert budget.watch.seconds("starting") >= 20
