"""When the machine's rates are measured: once, and only where some nest's data lie in no cache."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfembed.measuring.target import known_rates
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.resources import Resources
from perfembed.tuning.result import Event, Message
from profilers.build import CompilerConfig
from profilers.calibration import FLAGS
from profilers.machine import Cache, describe_machine
from profilers.rates import RatesCache, StreamRates
from profilers.run import DEFAULT_ENVIRONMENT

SMALL = replace(
    describe_machine(), caches=(Cache(1, "Data", 16 << 10, 64, 8, 1), Cache(2, "Unified", 64 << 10, 64, 8, 1))
)
RATES = StreamRates(
    SMALL.fingerprint, "gcc 1", FLAGS, "2026-11-24T08:00:00+00:00", 2, 0.0, (20.0, 30.0), (90.0, 180.0), 5e-7
)


@pytest.fixture
def told() -> list[Event]:
    return []


def resources(folder: Path, told: list[Event], cache: Path | None = None) -> Resources:
    environment = tuple(DEFAULT_ENVIRONMENT.items())
    options = TuneOptions(threads=2, environment=environment, cache=str(cache) if cache is not None else None)
    compiler = CompilerConfig(options.cc, options.cflags)
    return Resources(options, SMALL, compiler, dict(environment), folder / "scratch", told.append)


def nests(total_bytes: int) -> list:  # of captured data only the size is asked for
    return [SimpleNamespace(captured=SimpleNamespace(total_bytes=total_bytes))]


@pytest.mark.gcc
def test_data_beyond_the_caches_have_them_measured(tmp_path: Path, told: list[Event]) -> None:
    made = resources(tmp_path, told, cache=tmp_path / "cache")
    made.learn_rates(nests(1 << 20), "gcc 1", 60.0)
    assert [event for event in told if isinstance(event, Message) and "measuring once" in event.text]
    kept = list((tmp_path / "cache").glob("streams-*"))
    assert bool(kept) == (made.rates is not None)  # what others blurred is measured again another time
    assert (made.target().core.rates is not None) == bool(kept)


def test_what_is_kept_is_not_measured_again(tmp_path: Path, told: list[Event]) -> None:
    RatesCache(tmp_path).store(RATES)
    made = resources(tmp_path, told, cache=tmp_path)
    made.learn_rates(nests(1 << 20), "gcc 1", 60.0)
    assert made.rates == RATES == known_rates(str(tmp_path), SMALL, "gcc 1", 2) and told == []


@pytest.mark.parametrize(
    ("total", "budget_s", "keep"), [(1 << 10, 60.0, True), (1 << 20, 5.0, True), (1 << 20, 60.0, False)]
)
def test_small_data_short_budgets_and_no_folder_have_none(
    tmp_path: Path, told: list[Event], total: int, budget_s: float, keep: bool
) -> None:
    made = resources(tmp_path, told, tmp_path / "cache" if keep else None)
    made.learn_rates(nests(total), "gcc 1", budget_s)
    assert made.rates is None and told == [] and not (tmp_path / "cache").exists()


@pytest.mark.gcc
def test_where_they_cannot_be_measured_nothing_is_lost(tmp_path: Path, told: list[Event]) -> None:
    made = resources(tmp_path, told, cache=tmp_path / "cache")
    made.machine = replace(SMALL, memory_bytes=1 << 10)
    made.learn_rates(nests(1 << 20), "gcc 1", 60.0)
    assert made.rates is None and isinstance(told[-1], Message) and "not known" in told[-1].text
