"""What starts the command starts the compiler wrapper with as little as it can."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.gcc

ROOT = Path(__file__).parents[3]
RUN = "import sys; from perfembed.cli.entry import run; sys.argv = ['perfembed', *{arguments!r}]; run()"


def started(*arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-c", RUN.format(arguments=arguments)]
    environment = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)


def test_the_compiler_is_called_at_once(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("void f(int *a) { for (int i = 0; i < 9; i++) a[i] = i; }\n")
    done = started("cc", "-O2", "-c", str(source), "-o", str(tmp_path / "a.o"), options=("-X", "importtime"))
    assert done.returncode == 0 and (tmp_path / "a.o").exists()
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "perfembed.building.arguments" in loaded
    assert not loaded & {"typer", "dataclasses", "subprocess", "json", "scheduler", "profilers"}


def test_other_commands_are_as_ever() -> None:
    assert "perfembed " in started("--version").stdout
    assert "Compile like gcc" in started("--help").stdout
    done = started("cc", "--help")
    assert done.returncode == 0 and "Usage: gcc" in done.stdout


def test_a_command_began_when_its_process_was_started() -> None:
    line = "import time; time.sleep(0.5); from perfembed.cli.session import process_began as b; "
    line += "print(time.monotonic() - b())"
    began = time.monotonic()
    age = float(subprocess.run([sys.executable, "-c", line], capture_output=True, check=True, text=True).stdout)
    assert 0.5 <= age <= time.monotonic() - began + 0.02  # the kernel notes it in steps of 10 ms
