"""Machines and flags as what schedules are made for."""

from dataclasses import replace

import pytest

from perfembed.measuring.target import compiled_target, core_of, last_cache_bytes, target_of
from profilers.build import CompilerConfig
from profilers.calibration import FLAGS
from profilers.isa import VectorUnits
from profilers.machine import Cache, describe_machine
from profilers.rates import StreamRates
from scheduler.machine.target import Rates, Target

HERE = describe_machine()


def test_models_see_the_numbers_they_were_trained_on() -> None:
    target = target_of(HERE, 2, VectorUnits(((64, 32), (32, 16)), True))
    assert target.numbers() == target_of(HERE, 2).numbers()
    assert target.vector_bytes <= 32 and target.threads == 2


def test_rates_are_of_the_core_and_no_numbers_of_the_machine() -> None:
    measured = StreamRates("m", "gcc", FLAGS, "2026-11-24T08:00:00+00:00", 2, 0.0, (20.0, 30.0), (90.0, 180.0), 5e-7)
    target = target_of(HERE, 2, rates=measured)
    assert target.core.rates == Rates((20.0, 30.0), (90.0, 180.0), 5e-7)
    assert target.numbers() == target_of(HERE, 2).numbers() and target_of(HERE, 2).core.rates is None
    assert Target(2).core.rates is None


def test_pipelines_of_known_families() -> None:
    def of(vendor: str, family: int, model: int, flags: tuple[str, ...] = ("avx2",)) -> tuple[int, int]:
        core = core_of(replace(HERE, vendor=vendor, family=family, model=model, flags=flags))
        return core.latency, core.per_cycle

    assert of("AuthenticAMD", 0x19, 0x11) == (4, 2)
    assert of("AuthenticAMD", 0x17, 0x01) == (5, 1)
    assert of("AuthenticAMD", 0x17, 0x31) == (5, 2)
    assert of("GenuineIntel", 6, 0x3C) == (5, 2)
    assert of("GenuineIntel", 6, 0x2A, ("avx",)) == (8, 1)
    assert of("GenuineIntel", 6, 0x8F) == (4, 2)
    assert of("SomebodyElse", 1, 1) == (Target(1).core.latency, Target(1).core.per_cycle)


@pytest.mark.gcc
def test_vectors_are_those_of_the_flags_not_of_the_machine() -> None:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    plain = compiled_target(HERE, 2, CompilerConfig("gcc", ("-O3",)), environment)
    if HERE.architecture == "x86_64":
        assert plain.core.registers == ((16, 16),)
    unknown = compiled_target(HERE, 2, CompilerConfig("no-such-compiler", ()), environment)
    assert unknown.core.registers, "what the machine has, where the compiler cannot be asked"


SMALL = replace(
    describe_machine(), caches=(Cache(1, "Data", 16 << 10, 64, 8, 1), Cache(2, "Unified", 64 << 10, 64, 8, 1))
)


def test_the_last_cache() -> None:
    assert last_cache_bytes(SMALL) == 64 << 10 and last_cache_bytes(replace(SMALL, caches=())) == 0
