"""Machines and flags as what schedules are made for."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from perfembed.measuring.target import (
    VectorUnits,
    compiled_target,
    core_of,
    last_cache_bytes,
    target_of,
    units_of,
    vector_units,
)
from profilers.build import CompilerConfig
from profilers.calibration import FLAGS
from profilers.machine import Cache, describe_machine
from profilers.rates import StreamRates
from scheduler.machine.target import Rates, Target
from tests.compilers import clang

ENVIRONMENT = {"PATH": os.environ["PATH"]}
X86 = os.uname().machine == "x86_64"


@pytest.mark.gcc
@pytest.mark.skipif(not X86, reason="the flags are those of x86")
@pytest.mark.parametrize("cc", [name for name in ("gcc", clang()) if name])
def test_of_the_levels_of_x86(cc: str) -> None:
    def of(level: str) -> object:
        units = vector_units(cc, ("-O3", f"-march={level}"), ENVIRONMENT)
        return units and (units.registers, units.fused)

    assert of("x86-64") == (((16, 16),), False)
    assert of("x86-64-v3") == (((32, 16),), True)
    assert of("x86-64-v4") == (((64, 32), (32, 16)), True)


@pytest.mark.gcc
def test_a_compiler_that_says_nothing() -> None:
    assert vector_units("no-such-compiler", (), ENVIRONMENT) is None
    assert vector_units("gcc", ("-march=no-such-machine",), ENVIRONMENT) is None


def test_other_machines() -> None:
    arm = units_of(frozenset(("__aarch64__", "__ARM_NEON")))
    assert arm is not None and arm.registers == ((16, 32),) and arm.fused
    assert units_of(frozenset(("__m68k__",))) is None


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
