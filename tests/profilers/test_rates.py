"""What streams are limited by: measured by the real program, taken from a calibration, kept and read again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from profilers.build import compiler_version
from profilers.calibrate import calibrate_streams
from profilers.calibration import FLAGS, MEMORY, CalibrationCache
from profilers.contained.errors import ProfilersError
from profilers.errors import HarnessError
from profilers.machine import describe_machine
from profilers.rates import RatesCache, StreamRates, rates_of
from profilers.run import DEFAULT_ENVIRONMENT
from tests.profilers.test_calibration import DATE, invented

HERE = describe_machine()
GOOD = StreamRates(HERE.fingerprint, "gcc 1", FLAGS, DATE, 2, 0.01, (20.0, 30.0), (90.0, 180.0), 5e-7)


def test_the_program_measures_them(tmp_path: Path) -> None:
    threads = HERE.physical_cores
    found = calibrate_streams(HERE, "gcc", DEFAULT_ENVIRONMENT, tmp_path, threads, date=DATE, seconds=0.002)
    assert (found.machine, found.compiler, found.flags) == (HERE.fingerprint, compiler_version("gcc"), FLAGS)
    assert (found.date, found.threads) == (DATE, threads)
    assert all(0.05 < rate < 5e3 * threads for rate in (*found.memory_gbs, *found.cache_gbs))
    assert found.region_s > 1e-10
    assert StreamRates.from_json(found.to_json()) == found


def test_what_does_not_fit_into_memory_is_said(tmp_path: Path) -> None:
    small = replace(HERE, memory_bytes=4 << 20)
    with pytest.raises(HarnessError, match="more than half"):
        calibrate_streams(small, "gcc", DEFAULT_ENVIRONMENT, tmp_path, 1, date=DATE)


def test_a_full_calibration_has_them() -> None:
    full = invented(4, ("L1", "L2", MEMORY))
    found = rates_of(full)
    assert (found.machine, found.threads, found.date) == (full.machine, 4, DATE)
    assert found.memory_gbs == (full.bandwidth(MEMORY, "copy", 1), full.bandwidth(MEMORY, "copy", 4))
    assert found.cache_gbs == (full.bandwidth("L2", "copy", 1), full.bandwidth("L2", "copy", 4))
    assert found.region_s == full.figure("fork_join", threads=4).value


def test_they_are_kept_for_a_machine_a_compiler_and_a_number_of_threads(tmp_path: Path) -> None:
    cache = RatesCache(tmp_path / "new")
    assert cache.load(HERE, "gcc 1", 2) is None
    cache.store(GOOD)
    assert cache.load(HERE, "gcc 1", 2) == GOOD
    assert cache.load(HERE, "gcc 1", 3) is None and cache.load(HERE, "gcc 2", 2) is None
    assert cache.load(replace(HERE, cpu_model="another"), "gcc 1", 2) is None


def test_a_full_calibration_goes_first(tmp_path: Path) -> None:
    full = replace(invented(2, ("L1", MEMORY)), machine=HERE.fingerprint)
    CalibrationCache(tmp_path).store(full)
    RatesCache(tmp_path).store(GOOD)
    assert RatesCache(tmp_path).load(HERE, "gcc 1", 2) == rates_of(full)


def test_damaged_files_are_none(tmp_path: Path) -> None:
    cache = RatesCache(tmp_path)
    path = cache.store(GOOD)
    good = path.read_text()
    document = json.loads(good)
    for text in (
        "",
        "{",
        "[]",
        good[:-9],
        json.dumps({**document, "region_s": -1.0}),
        json.dumps({**document, "x": 1}),
    ):
        path.write_text(text)
        assert cache.load(HERE, "gcc 1", 2) is None, text
    path.write_bytes(b"\xff\xfe")
    assert cache.load(HERE, "gcc 1", 2) is None
    other = tmp_path / "file"
    other.write_text("")
    with pytest.raises(ProfilersError, match="cannot keep"):
        RatesCache(other).store(GOOD)


def test_rates_that_are_none_are_refused() -> None:
    for wrong in ({"memory_gbs": (0.0, 1.0)}, {"cache_gbs": (1.0,)}, {"region_s": float("nan")}, {"threads": 0}):
        with pytest.raises(ProfilersError):
            replace(GOOD, **wrong)


def test_noise_is_told() -> None:
    assert not GOOD.noisy and replace(GOOD, other_load=0.5).noisy
