"""Intervals from a handful of runs cover what they say they do, whatever the times are distributed like."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from profilers.outcome import Timed
from profilers.pairs import Interval, both, median_interval
from profilers.specification import TimingSettings
from profilers.timing import CompareSettings, Comparison, Round, _summary

Rng = np.random.Generator


def test_order_statistics() -> None:
    assert median_interval([3.0]) == Interval(3.0, 3.0, 0.0)
    assert median_interval([2.0, 1.0]) == Interval(1.0, 2.0, 0.5)
    assert median_interval([4.0, 1.0, 3.0, 2.0]) == Interval(1.0, 4.0, 0.875)
    assert median_interval(range(1, 7)) == Interval(1, 6, 1 - 2 / 64)
    assert median_interval(range(1, 13)) == Interval(3, 10, 1 - 2 * (1 + 12 + 66) / 4096)
    with pytest.raises(ValueError):
        median_interval([])


def test_probabilities_of_being_wrong_add_up() -> None:
    found = both(Interval(1.0, 4.0, 0.98), Interval(2.0, 5.0, 0.9))
    assert (found.low, found.high) == (2.0, 4.0) and math.isclose(found.coverage, 0.88)
    assert both(Interval(1, 2, 0.3), Interval(1, 2, 0.5)).coverage == 0.0


def symmetric(rng: Rng, count: int) -> list[float]:
    return rng.normal(0.0, 0.05, count).tolist()


def skewed(rng: Rng, count: int) -> list[float]:
    """Mostly quiet, sometimes much slower; the median of a quotient of two of these is 1."""
    times = 1 + 0.01 * rng.exponential(size=(2, count)) + (rng.random((2, count)) < 0.15) * rng.random((2, count))
    return np.log(times[0] / times[1]).tolist()


@pytest.mark.parametrize("draw", [symmetric, skewed])
@pytest.mark.parametrize("rounds", [2, 3, 6, 12])
def test_coverage(draw: Callable[[Rng, int], list[float]], rounds: int) -> None:
    """Of what is told, with the interval that decides around the mean of the rounds, against the true ratio 1."""
    rng = np.random.default_rng(rounds)
    trials, missed, promised = 400, 0, 0.0
    for _ in range(trials):
        logs = draw(rng, 2 * rounds)
        found = comparison([(math.exp(a), math.exp(b)) for a, b in zip(logs[::2], logs[1::2], strict=True)]).told
        missed += not found.low <= 1.0 <= found.high
        promised += 1 - found.coverage
    deviation = math.sqrt(max(promised, 1.0))
    assert missed <= promised + 3 * deviation


def timed(seconds: float) -> Timed:
    return Timed((seconds,))


def comparison(ratios: list[tuple[float, float]], base: float = 0.04) -> Comparison:
    """Of rounds whose two pairs have these ratios; the candidate always takes as long."""
    rounds = [Round((timed(a * base), timed(b * base)), (timed(base), timed(base)), 0.0, True) for a, b in ratios]
    return _summary(rounds, CompareSettings(run=TimingSettings()), 0)


def test_a_slow_original_that_was_run_a_few_times() -> None:
    found = comparison([(11.0, 11.3), (12.1, 12.4), (10.4, 10.6)])
    assert found.faster and found.runs == 6
    assert found.low >= 10 and found.high <= 13, "by the order of its runs, where their spread says little"
    assert math.isclose(found.told.low, 10.4) and math.isclose(found.told.high, 12.4)
    assert math.isclose(found.told.coverage, 1 - 0.02 - 2 / 64)


def test_what_is_told_never_contradicts_the_decision() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        rounds = int(rng.integers(1, 13))
        drift = np.exp(rng.normal(0, 0.1, (rounds, 1)))
        ratios = [(float(a), float(b)) for a, b in drift * np.exp(rng.normal(0.02, 0.03, (rounds, 2)))]
        found = comparison(ratios)
        told = found.told
        assert found.low <= told.low <= found.ratio <= told.high <= found.high
        assert 0.0 <= told.coverage <= found.confidence
        assert not found.faster or told.low > 1.0
        assert not found.slower or told.high < 1.0


def test_what_was_disturbed_does_not_count() -> None:
    good = comparison([(2.0, 2.1), (2.1, 2.2), (2.0, 2.2)])
    bad = Round((timed(9.0), timed(9.0)), (timed(1.0), timed(1.0)), 1.0, False)
    found = _summary([*good.rounds, bad], CompareSettings(), 0)
    assert found.told == good.told and found.runs == 6
