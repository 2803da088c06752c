"""The C programs in tests/kernels compile cleanly, run cleanly and print the same result at every level."""

import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.c"))
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror"]

pytestmark = [pytest.mark.gcc, pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc not found")]


def gcc(source: Path, *args: str) -> None:
    done = subprocess.run(["gcc", *args, str(source), "-lm"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def output(program: Path) -> str:
    env = os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_corpus_is_there() -> None:
    assert len(KERNELS) >= 47


@pytest.mark.parametrize("source", KERNELS, ids=lambda path: path.stem)
def test_runs_clean_and_same_at_every_level(source: Path, tmp_path: Path) -> None:
    clean = tmp_path / "clean"
    gcc(source, "-O1", "-g", *WARNINGS, "-fsanitize=address,undefined", "-DSMALL", "-o", str(clean))
    printed = output(clean)

    checksum = re.fullmatch(r"([0-9a-f]{16})((?: \S+)+)\n", printed)
    assert checksum, printed
    assert int(checksum[1], 16) != 0
    sums = [float(word) for word in checksum[2].split()]
    assert all(math.isfinite(value) for value in sums)
    assert any(value != 0.0 for value in sums)

    for level in ("-O0", "-O3"):
        program = tmp_path / level.lstrip("-")
        gcc(source, level, "-std=c99", "-ffp-contract=off", "-DSMALL", "-o", str(program))
        assert output(program) == printed


@pytest.mark.parametrize("source", KERNELS, ids=lambda path: path.stem)
def test_large_set_compiles_and_sizes_can_be_given(source: Path) -> None:
    gcc(source, "-O1", "-fsyntax-only", *WARNINGS)
    sizes = re.findall(r"^#ifndef (\w+)$", source.read_text(), re.MULTILINE)
    assert sizes
    gcc(source, "-fsyntax-only", *WARNINGS, *(f"-D{name}=16" for name in sizes))


@pytest.mark.parametrize("source", KERNELS, ids=lambda path: path.stem)
def test_extra_large_set_links(source: Path, tmp_path: Path) -> None:
    sizes = [dict(macros(source, *flag)) for flag in ((), ("-DSMALL",), ("-DXLARGE",))]
    large, small, extra = sizes
    assert large.keys() == small.keys() == extra.keys()
    assert any(int(extra[name]) > int(large[name]) for name in large)
    assert all(int(extra[name]) >= int(large[name]) for name in large)
    gcc(source, "-O1", *WARNINGS, "-DXLARGE", "-o", str(tmp_path / "program"))  # all that is static has to fit


def macros(source: Path, *flags: str) -> list[tuple[str, str]]:
    """The values of the size macros."""
    names = re.findall(r"^#ifndef (\w+)$", source.read_text(), re.MULTILINE)
    text = source.read_text() + "".join(f'\n@"{name}" {name}\n' for name in names)
    done = subprocess.run(["gcc", "-E", "-P", *flags, "-"], input=text, capture_output=True, text=True, check=True)
    return re.findall(r'^@ ?"(\w+)" \(?(\d+)\)?$', done.stdout, re.MULTILINE)
