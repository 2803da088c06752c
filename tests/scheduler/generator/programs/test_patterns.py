"""Every pattern on its own: the front end reads all of it, and gcc finds nothing to say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scheduler.generator.programs import PATTERNS, GeneratedProgram, GeneratorSettings, generate
from scheduler.ir.walk import loops
from tests.scheduler.generator.programs.support import sanitized, small_nests

NAMES = [p.name for p in PATTERNS]


def only(name: str, number: int, **bounds: int) -> GeneratedProgram:
    settings = GeneratorSettings(nests=1, weights=tuple((n, 0.0) for n in NAMES if n != name), **bounds)
    return generate(21, number, settings)


@pytest.mark.parametrize("name", NAMES)
def test_many_variants(name: str) -> None:
    programs = [only(name, number) for number in range(30)]
    assert {p.patterns for p in programs} == {(name,)}
    bodies = {p.source.partition("kernel(")[2].partition("hash_bytes")[0] for p in programs}
    assert len(bodies) >= 24
    assert len({p.ctype for p in programs}) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_every_loop_is_read(name: str) -> None:
    program = only(name, 1)
    assert sum(1 for nest in small_nests(program) for _ in loops(nest)) == program.loops


@pytest.mark.gcc
@pytest.mark.parametrize("name", NAMES)
def test_gcc_has_nothing_to_say(name: str) -> None:
    for number in range(2):
        source = only(name, 30 + number).source
        command = ["gcc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c", "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_depth_has_all_patterns(name: str) -> None:
    for depth in (1, 2, 3):
        assert only(name, depth, depth=depth).depth <= depth


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", range(20))
def test_nothing_undefined(name: str, number: int, tmp_path: Path) -> None:
    sanitized(only(name, number), tmp_path)
