"""Shells complete commands and options: the script there is, where it goes, and what it is answered."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gcc

ROOT = Path(__file__).resolve().parents[3]
RUN = "import sys; sys.argv[0] = 'perfembed'; from perfembed.cli.main import run; run()"


def perfembed(*arguments: str, **environment: str) -> str:
    """What it prints."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def completed(words: str) -> list[str]:
    """How bash is told the last of the words goes on."""
    position = str(len(words.split(" ")) - 1)
    return perfembed(_PERFEMBED_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=position).split()


def test_commands_and_options() -> None:
    assert completed("perfembed tu") == ["tune"]
    assert completed("perfembed db pr") == ["prune"]
    assert "--function" in completed("perfembed tune --f")


def test_script() -> None:
    script = perfembed("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_PERFEMBED_COMPLETE=complete_bash" in script and "-F _perfembed_completion perfembed" in script


def test_installation(tmp_path: Path) -> None:
    said = perfembed(
        "--install-completion", "bash", HOME=str(tmp_path), _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    assert "bash completion installed" in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("_PERFEMBED_COMPLETE" in path.read_text() for path in files)
