"""The campaign that counts false alarms and misses, at a small size."""

import os
from dataclasses import replace

import pytest

from profilers.specification import TimingSettings
from profilers.timing import CompareSettings
from tests.evaluation import views
from tests.evaluation.timing import TimingBench, TimingResult, run_timing

QUICK = CompareSettings(
    run=TimingSettings(min_samples=1, max_samples=2, target_seconds=0.01), looks=(2, 3), budget_s=1.0
)


@pytest.mark.gcc
def test_a_program_twice_as_slow_is_found() -> None:
    bench = TimingBench(2, slowdown=1.0, rounds=40, settings=QUICK, environment=dict(os.environ))
    result = run_timing(bench, lambda done, alarms: None, print)
    assert (result.equal, result.planted) == (2, 2)
    assert result.found + result.reversed <= 2 and result.reversed == 0
    assert len(result.ratios) == 2 and all(0.5 < ratio < 2 for ratio in result.ratios)


RESULT = TimingResult(TimingBench(200), 200, 1, 2, 200, 150, 0, (0.99, 1.0, 1.02), 3, 90.0, False, 0.95, 8)


def test_report() -> None:
    text = "\n".join(views.timing(RESULT))
    assert "1 declared faster (0.5%, aim at most 1 %: met)" in text
    assert "150 found (75.0%, aim at least 90 %: missed)" in text
    assert "median 1.0000" in text
    assert "8 of their intervals as they are printed leave 1 out (4.0%, promised at most 5.0%: met)" in text
    assert "ratios none" in views.timing(replace(RESULT, equal=0, ratios=()))[0]
