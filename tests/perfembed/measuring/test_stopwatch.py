"""Where time goes, with a clock of our own."""

import pytest

from perfembed.measuring.stopwatch import Budget, Stopwatch


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_time_counts_for_the_innermost_phase() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    clock.time += 1
    with watch.phase("compiling"):
        clock.time += 2
        with watch.phase("legality"):
            clock.time += 4
        clock.time += 8
    clock.time += 16
    assert watch.spent() == {"other": 17, "compiling": 10, "legality": 4}
    assert sum(watch.spent().values()) == clock.time - 100


def test_a_phase_ends_with_what_ends_it() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    with pytest.raises(KeyboardInterrupt), watch.phase("candidates"):
        clock.time += 3
        raise KeyboardInterrupt
    clock.time += 1
    assert (watch.seconds("candidates"), watch.seconds("other")) == (3, 1)


def test_seconds_are_shifted_but_no_more_than_there_are() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    with watch.phase("capture"):
        clock.time += 5
        watch.shift(2, "capture", "original")
        watch.shift(9, "capture", "original")
        clock.time += 1
    assert (watch.seconds("capture"), watch.seconds("original")) == (1, 5)


def test_a_budget_gives_back_up_to_three_runs_of_the_original() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    budget = Budget(60, clock(), watch)
    with watch.phase("original"):
        clock.time += 10
    assert budget.left() == 50  # nobody knows yet what one run takes
    budget.original_s = 10
    assert budget.left() == 60
    with watch.phase("capture"):
        clock.time += 25  # up to one run of it
    assert budget.left() == 45
    with watch.phase("original"):
        clock.time += 40
    assert budget.left() == 60 - 75 + 30
    with watch.phase("candidates"):
        clock.time += 100
    assert budget.left() == 0


def test_nothing_runs_longer_than_a_fifth_beyond_the_budget_and_three_runs() -> None:
    clock = Clock()
    watch = Stopwatch(clock, began=90.0)
    budget = Budget(60, 90.0, watch)
    assert watch.spent()["starting"] == 10 and budget.at_last() == 66 - 10
    budget.original_s = 5
    with watch.phase("waiting"):
        clock.time += 40
    budget.began += watch.seconds("waiting")
    assert budget.at_last() == 66 + 15 - 10  # what was waited for others does not count
    assert budget.wall_s() == 50  # but it is told
    clock.time += 100
    assert budget.at_last() < 0
    assert Budget(1, clock(), watch).at_last() == 10  # less would do for nothing
