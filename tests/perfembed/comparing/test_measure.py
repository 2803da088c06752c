"""Rounds of measuring, with programs that only pretend to run."""

import itertools

import pytest

from perfembed.comparing import measure as module
from perfembed.comparing.measure import MeasureSettings, Run, Samples, measure

QUICK = MeasureSettings(least=3, most=8, enough_s=0.0, budget_s=60.0)


class Quiet:
    """A load meter that reads what it is told."""

    loads: "itertools.cycle[float]" = itertools.cycle([0.0])

    def other_load(self) -> float:
        return next(Quiet.loads)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    Quiet.loads = itertools.cycle([0.0])
    monkeypatch.setattr(module, "LoadMeter", Quiet)
    monkeypatch.setattr(module, "other_load", lambda seconds: 0.0)


def program(log: list[str], name: str, *times: float, fails_at: int = -1) -> Run:
    cycle, number = itertools.cycle(times), itertools.count()

    def run(samples: Samples) -> None:
        log.append(name)
        if next(number) == fails_at:
            samples.failure = "crashed"
            return
        samples.kernel_s.append(next(cycle))
        samples.whole_s.append(1.0)

    return run


def test_rounds_are_interleaved_and_turn() -> None:
    log: list[str] = []
    result = measure({n: program(log, n, 0.1) for n in "abc"}, QUICK)
    assert "".join(log) == "abcbcacab"
    assert not result.noisy
    assert all(s.good == [True] * 3 for s in result.samples.values())


def test_varying_times_are_measured_longer_and_called_noisy() -> None:
    log: list[str] = []
    result = measure({"a": program(log, "a", 0.1, 0.2)}, QUICK)
    assert result.noisy
    assert len(log) == 6


def test_rounds_under_load_do_not_count() -> None:
    Quiet.loads = itertools.cycle([1.0, 0.0])
    log: list[str] = []
    result = measure({"a": program(log, "a", 0.5, 0.7, 0.7)}, QUICK)
    samples = result.samples["a"]
    assert samples.good[:2] == [False, True]
    assert samples.best == min(s for s, good in zip(samples.kernel_s, samples.good, strict=True) if good)


def test_always_under_load_ends_and_is_noisy() -> None:
    Quiet.loads = itertools.cycle([2.0])
    log: list[str] = []
    result = measure({"a": program(log, "a", 0.5)}, QUICK)
    assert result.noisy
    assert len(log) == 2 * QUICK.most
    assert result.samples["a"].best == 0.5


def test_a_program_that_fails_is_left_out() -> None:
    log: list[str] = []
    result = measure({"a": program(log, "a", 0.1), "b": program(log, "b", 0.1, fails_at=1)}, QUICK)
    assert log.count("b") == 2
    assert result.samples["b"].failure == "crashed"
    assert len(result.samples["a"].kernel_s) == 3


def test_nothing_runs() -> None:
    log: list[str] = []
    result = measure({"a": program(log, "a", 0.1, fails_at=0)}, QUICK)
    assert result.samples["a"].best is None
    assert log == ["a"]


def test_short_programs_are_repeated() -> None:
    log: list[str] = []
    settings = MeasureSettings(least=3, most=30, enough_s=0.1)
    measure({"a": program(log, "a", 0.01)}, settings)
    assert len(log) in (10, 11)
