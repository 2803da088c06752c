"""What is known of a program from its executable."""

import subprocess
from pathlib import Path

import pytest

from perfembed.building.build import Made
from perfembed.capture.program import looks_at_errno

MAIN = """#include <math.h>
#include <stdio.h>
int main(int argc, char **argv) { (void)argv; return printf("%g\\n", sqrt(argc)) < 0; }
"""
READS = """#include <errno.h>
int failed(void) { return errno != 0; }
"""


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("other", "flags", "looks"), [("", (), False), (READS, (), True), ("", ("-static",), True), (READS, ("-s",), True)]
)
def test_who_looks_at_errno(tmp_path: Path, other: str, flags: tuple[str, ...], looks: bool) -> None:
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "other.c").write_text(other)
    program = tmp_path / "program"
    subprocess.run(["gcc", *flags, "main.c", "other.c", "-o", "program", "-lm"], cwd=tmp_path, check=True)
    assert looks_at_errno(Made(program)) is looks


def test_nobody_knows_what_a_script_runs(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_text("#!/bin/sh\n./program\n")
    assert looks_at_errno(Made(script))
