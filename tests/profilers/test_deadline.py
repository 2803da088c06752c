"""One deadline for all that runs: what it ends has no outcome, and what it leaves alone runs as ever."""

import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from profilers.contained.child import Command, Limits
from profilers.deadline import OutOfTime, forever, left_s, share_of_time, within
from profilers.run import DEFAULT_ENVIRONMENT, run_contained, run_many
from tests.profilers.conftest import Marked


def until(seconds: float) -> Callable[[], float]:
    """A deadline that is so many seconds away now."""
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


def command(*words: str, wall_s: float = 20.0, env: dict[str, str] | None = None) -> Command:
    return Command(words, Limits(wall_s=wall_s), env or dict(DEFAULT_ENVIRONMENT), "/")


def test_what_runs_at_the_deadline_is_ended_and_so_is_what_runs_beside_it(marked: Marked) -> None:
    began = time.monotonic()
    commands = [command("/bin/sleep", "50", env=marked.env) for _ in range(2)]
    with pytest.raises(OutOfTime), within(until(0.3)):
        run_many(commands, jobs=2)
    assert 0.25 < time.monotonic() - began < 15


def test_nothing_is_started_behind_the_deadline(tmp_path: Path) -> None:
    with pytest.raises(OutOfTime), within(until(-1.0)):
        run_contained(("/bin/touch", str(tmp_path / "made")), limits=Limits(), env=DEFAULT_ENVIRONMENT, cwd="/")
    assert not list(tmp_path.iterdir())


def test_a_limit_of_its_own_is_an_outcome_though_there_is_a_deadline() -> None:
    with within(until(300)):
        [slow, quick] = run_many([command("/bin/sleep", "50", wall_s=0.2), command("/bin/true")], jobs=1)
    assert slow.limit == "wall" and quick.ok


def test_of_two_the_inner_one_counts_and_then_the_outer_one_again() -> None:
    assert left_s() == math.inf
    with within(lambda: 7.0):
        with within(forever):
            assert left_s() == math.inf
        assert left_s() == 7
        with share_of_time(0.25):
            assert left_s() == 1.75
    with within(lambda: -3.0):
        assert left_s() == 0
    with share_of_time(0.5):
        assert left_s() == math.inf


def test_the_deadline_is_asked_for_when_a_program_starts() -> None:
    left = [5.0]
    with within(lambda: left[0]):
        run_many([command("/bin/true")], jobs=1)
        left[0] = -1.0
        with pytest.raises(OutOfTime):
            run_many([command("/bin/true")], jobs=1)
