"""What the compilers here say of the vectors they may use."""

import os

import pytest

from profilers.isa import units_of, vector_units
from tests.compilers import clang

ENVIRONMENT = {"PATH": os.environ["PATH"]}
X86 = os.uname().machine == "x86_64"


@pytest.mark.skipif(not X86, reason="the flags are those of x86")
@pytest.mark.parametrize("cc", [name for name in ("gcc", clang()) if name])
def test_of_the_levels_of_x86(cc: str) -> None:
    def of(level: str) -> object:
        units = vector_units(cc, ("-O3", f"-march={level}"), ENVIRONMENT)
        return units and (units.registers, units.fused)

    assert of("x86-64") == (((16, 16),), False)
    assert of("x86-64-v3") == (((32, 16),), True)
    assert of("x86-64-v4") == (((64, 32), (32, 16)), True)


def test_a_compiler_that_says_nothing() -> None:
    assert vector_units("no-such-compiler", (), ENVIRONMENT) is None
    assert vector_units("gcc", ("-march=no-such-machine",), ENVIRONMENT) is None


def test_other_machines() -> None:
    arm = units_of(frozenset(("__aarch64__", "__ARM_NEON")))
    assert arm is not None and arm.registers == ((16, 32),) and arm.fused
    assert units_of(frozenset(("__m68k__",))) is None
