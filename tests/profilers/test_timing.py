"""Interleaved comparisons: no difference where there is none, a planted one is found, noise is told."""

import math
import multiprocessing
import os
import random
import time
from dataclasses import replace

import numpy as np
import pytest

from profilers.contained.child import Limits
from profilers.errors import HarnessError
from profilers.outcome import Crashed, Timed
from profilers.specification import TimingSettings
from profilers.timing import (
    CompareSettings,
    Comparison,
    ComparisonFailed,
    Round,
    _clear,
    _summary,
    bootstrap_interval,
    coefficient_of_variation,
    compare_interleaved,
    other_load,
)
from profilers.workload import Argument, ConstantFill

TRIALS = int(os.environ.get("PERFEMBED_COMPARE_TRIALS", "4"))
SETTINGS = CompareSettings(
    run=TimingSettings(min_samples=3, max_samples=8, target_seconds=0.005), budget_s=1.5, max_repeats=2
)
SPIN = "volatile double *x = args[0]; for (long i = 0; i < *(long *)args[1]; i++) *x = *x * 0.5 + 1;"


def spinner(build, length: int):
    arguments = (
        Argument("x", "double", (), ConstantFill(1.0), True),
        Argument("n", "long", (), ConstantFill(length), False),
    )
    return build(SPIN, arguments)


def test_equal_builds_are_not_declared_different(build):
    one = spinner(build, 100_000)
    verdicts = [compare_interleaved(one, one, settings=SETTINGS, seed=seed) for seed in range(TRIALS)]
    for verdict in verdicts:
        assert isinstance(verdict, Comparison)
        assert verdict.low <= verdict.ratio <= verdict.high
    assert sum(verdict.faster for verdict in verdicts) <= 1
    assert sum(verdict.slower for verdict in verdicts) <= 1


def test_a_comparison_ends_where_no_gain_is_left_to_be_found(build):
    one = spinner(build, 200_000)
    patient = CompareSettings(run=SETTINGS.run, budget_s=20.0, max_repeats=2, least_gain=1.5)
    verdict = compare_interleaved(one, one, settings=patient, seed=1)
    assert isinstance(verdict, Comparison)
    assert verdict.noisy or sum(one.used for one in verdict.rounds) < patient.looks[-1]


def test_noise_gets_more_time_where_much_seems_to_be_gained(build):
    slow, fast = spinner(build, 200_000), spinner(build, 100_000)
    hasty = CompareSettings(run=SETTINGS.run, budget_s=0.01, max_repeats=2, patience=1.0)
    verdict = compare_interleaved(slow, fast, settings=hasty, seed=1)
    assert isinstance(verdict, Comparison) and len(verdict.rounds) == 1 and not verdict.faster
    verdict = compare_interleaved(slow, fast, settings=replace(hasty, patience=6000.0), seed=1)
    assert isinstance(verdict, Comparison) and len(verdict.rounds) > 1 and verdict.faster


def test_a_planted_difference_is_found_both_ways(build):
    slow, fast = spinner(build, 200_000), spinner(build, 100_000)
    settings = replace(SETTINGS, budget_s=60.0)  # both end when they are clear; a crowded machine takes longer
    verdict = compare_interleaved(slow, fast, settings=settings, seed=1)
    assert isinstance(verdict, Comparison) and verdict.faster and not verdict.slower
    assert min(verdict.samples_original) / min(verdict.samples_candidate) == pytest.approx(2, rel=0.2)
    assert 1.3 < verdict.ratio < 3 and verdict.low <= verdict.ratio <= verdict.high  # others may disturb some rounds
    runs = 2 * len(verdict.rounds)
    assert runs * 3 <= len(verdict.samples_original) <= runs * 8
    assert min(verdict.samples_original) > min(verdict.samples_candidate)
    assert compare_interleaved(fast, slow, settings=settings, seed=1).slower


def test_failures_name_the_side(build):
    good = spinner(build, 1000)
    bad = build("*(volatile int *)8 = 1;", good.workload.arguments)
    failed = compare_interleaved(good, bad, settings=SETTINGS, seed=1, limits=Limits(wall_s=60))
    assert isinstance(failed, ComparisonFailed) and failed.which == "candidate"
    assert isinstance(failed.outcome, Crashed)
    failed = compare_interleaved(bad, good, settings=SETTINGS, seed=1)
    assert isinstance(failed, ComparisonFailed) and failed.which == "original"


def test_the_budget_ends_it_with_an_open_interval(build):
    one = spinner(build, 100_000)
    settings = CompareSettings(run=SETTINGS.run, budget_s=0.0)
    verdict = compare_interleaved(one, one, settings=settings, seed=1)
    assert isinstance(verdict, Comparison) and len(verdict.rounds) == 1
    assert (verdict.low, verdict.high) == (0.0, math.inf) and not verdict.faster


def test_interval_covers_the_truth_even_for_few_values():
    generator = np.random.default_rng(5)
    for count in (3, 6, 12):
        outside = 0
        for seed in range(200):
            values = tuple(generator.normal(0.02, 0.05, count).tolist())
            low, high = bootstrap_interval(values, 0.95, seed)
            outside += not low <= 0.02 <= high
            assert (low, high) == bootstrap_interval(values, 0.95, seed)
        assert outside <= 20  # 10 are expected


def test_false_alarms_are_rare_in_simulated_comparisons():
    """The looks together keep the promised confidence: the interval is looked at four times."""
    generator = np.random.default_rng(6)
    settings = CompareSettings()
    per_look = 1 - (1 - settings.confidence) / len(settings.looks)
    alarms = 0
    for seed in range(200):
        values = generator.normal(0.0, 0.02, settings.looks[-1])
        intervals = [bootstrap_interval(tuple(values[:look].tolist()), per_look, seed) for look in settings.looks]
        alarms += any(low > 0 or high < 0 for low, high in intervals)
    assert alarms <= 9  # 4 are expected


def burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_load_of_others_is_seen_and_our_own_is_not():
    quiet = other_load(0.3)
    process = multiprocessing.get_context("spawn").Process(target=burn, args=(1.5,))
    process.start()
    time.sleep(0.5)  # its start
    busy = other_load(0.4)
    process.join()
    assert busy > min(quiet, 1.0) + 0.3 or busy > 1.0  # a child that still runs counts as other
    assert 0 <= quiet <= (os.cpu_count() or 1) + 0.5


def test_noise_is_told(build, monkeypatch):
    import profilers.timing as timing

    one = spinner(build, 20_000)
    monkeypatch.setattr(timing.LoadMeter, "other_load", lambda self: 1.0)
    settings = CompareSettings(run=SETTINGS.run, looks=(2,), max_repeats=3)
    verdict = compare_interleaved(one, one, settings=settings, seed=1)
    assert isinstance(verdict, Comparison) and verdict.noisy
    assert [r.used for r in verdict.rounds] == [False] * 3 + [True] * 2
    assert len(verdict.samples_original) == sum(len(run.samples_s) for r in verdict.rounds for run in r.original)


@pytest.mark.parametrize(("longer", "rounds"), [(1, 5), (30, 3)])
def test_what_is_clear_is_not_measured_again_for_a_disturbance(build, monkeypatch, longer, rounds):
    import profilers.timing as timing

    monkeypatch.setattr(timing.LoadMeter, "other_load", lambda self: 1.0)
    settings = CompareSettings(run=SETTINGS.run, looks=(3,), max_repeats=2, budget_s=60.0)
    verdict = compare_interleaved(spinner(build, longer * 100_000), spinner(build, 100_000), settings=settings, seed=1)
    assert isinstance(verdict, Comparison) and verdict.noisy
    assert len(verdict.rounds) == rounds and sum(one.used for one in verdict.rounds) == 3
    assert verdict.faster or longer == 1


def test_small_helpers():
    assert coefficient_of_variation((1.0,)) == 0.0
    assert coefficient_of_variation((1.0, 3.0)) == pytest.approx(2**0.5 / 2)
    for change in ({"looks": ()}, {"looks": (1, 2)}, {"looks": (4, 2)}, {"confidence": 1.0}):
        with pytest.raises(HarnessError):
            CompareSettings(**change)


def _round(original: tuple[float, float], candidate: tuple[float, float]) -> Round:
    first, second = (Timed((s,)) for s in original)
    third, fourth = (Timed((s,)) for s in candidate)
    return Round((first, second), (third, fourth), 0.0, True)


def test_runs_that_lie_apart_are_clear_however_they_scatter():
    """Under load times scatter by a factor of four: Student's t says nothing of three rounds then, their order does."""
    settings = CompareSettings()
    wild = [_round((4.0, 1.0), (0.1, 0.05)), _round((1.2, 3.9), (0.04, 0.2)), _round((2.0, 1.1), (0.15, 0.05))]
    verdict = _summary(wild, settings, 0)
    logs = tuple(one.log_ratio for one in wild)
    assert bootstrap_interval(logs, 0.995, 0)[0] < 0 < math.log(verdict.low)
    assert verdict.faster and verdict.low == pytest.approx(1.0 / 0.2)
    assert not _summary(wild[:2], settings, 0).faster  # too few to tell


def test_the_order_of_runs_hardly_ever_misleads():
    """Equal programs: the interval has 1 in it at least as often as is promised, with the look at disturbed rounds."""
    rng = random.Random(3)
    missed = 0
    for _ in range(400):
        draw = lambda: math.exp(rng.gauss(0, 0.5))  # noqa: E731
        rounds = [_round((draw(), draw()), (draw(), draw())) for _ in range(4)]
        disturbed = [replace(rounds[0], used=False), *rounds[1:]]
        verdict = _summary(rounds[:3], CompareSettings(), 0)
        first, second = _clear(disturbed[:3], CompareSettings(), 0), _summary(disturbed, CompareSettings(), 0)
        missed += verdict.faster or verdict.slower or first is not None or second.faster or second.slower
    assert missed <= 400 * 0.02
