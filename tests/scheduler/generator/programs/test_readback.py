"""What the front end reads in generated programs, and that it computes what gcc makes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scheduler.generator.programs import GeneratedProgram, GeneratorSettings, generate
from scheduler.generator.programs.generate import draft
from scheduler.ir.walk import loops
from tests.doubles.interpret import interpret
from tests.generator import NotReadBack, read_back
from tests.scheduler.generator.programs.support import inputs, parameters, small_nests, snapshots

LIBRARY = ("exp", "tanh")  # the interpreter's may differ from gcc's in the last digit
SETTINGS = GeneratorSettings(nests=2, depth=5)


def check(seed: int, number: int, folder: Path, settings: GeneratorSettings) -> GeneratedProgram:
    """Every nest of the small program, interpreted on what gcc hands it, gives what gcc's code gives."""
    program, kernel = generate(seed, number, settings), draft(seed, number, settings).kernel
    nests = small_nests(program)
    assert sum(1 for nest in nests for _ in loops(nest)) == program.loops
    exact = not any(f"{name}{f}(" in program.source for name in LIBRARY for f in ("", "f"))
    changed = 0
    for nest, (before, after) in zip(nests, snapshots(program, kernel, nests, folder), strict=True):
        values = parameters(kernel, nest)
        result = interpret(nest, values, inputs(nest, values, before))
        for name, expected in after.items():
            actual = np.asarray(result.get(name, before[name])).reshape(-1)
            assert np.isfinite(expected.astype(float)).all(), name
            changed += not np.array_equal(expected, before[name])
            if exact:
                np.testing.assert_array_equal(actual, expected, f"{program.name} {name}")
            else:
                tolerance = 1e-12 if expected.dtype == np.float64 else 1e-5
                np.testing.assert_allclose(actual, expected, tolerance, tolerance * np.abs(expected).max(), True, name)
    assert changed, "the kernel computes something"
    return program


@pytest.mark.gcc
@pytest.mark.parametrize("number", range(6))
def test_interpreted_as_compiled(number: int, tmp_path: Path) -> None:
    check(11, number, tmp_path, SETTINGS)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(200))
def test_more_interpreted_as_compiled(number: int, tmp_path: Path) -> None:
    check(12, number, tmp_path, replace(SETTINGS, depth=6, nests=3))


def test_every_loop_is_read_at_both_sizes() -> None:
    program = generate(13, 1)
    for small in (False, True):
        nests = read_back(program, small)
        assert sum(1 for nest in nests for _ in loops(nest)) == program.loops
        assert {nest.function for nest in nests} == {program.function}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(100))
def test_every_loop_of_many_programs_is_read(number: int) -> None:
    read_back(generate(14, number))


def test_what_is_not_read_is_said() -> None:
    program = generate(13, 1)
    head = f"static void {program.function}("
    begin = program.source.index("{\n", program.source.index(head)) + 2
    printing = '    for (int q = 0; q < 3; q++)\n        printf("%d\\n", q);\n'
    spoilt = replace(program, source=program.source[:begin] + printing + program.source[begin:])
    with pytest.raises(NotReadBack, match=r"gen_13_1\.c:\d+: calls 'printf'"):
        read_back(spoilt)
    with pytest.raises(NotReadBack, match="loops were read of"):
        read_back(replace(program, loops=program.loops + 1))
