"""`python -m perfembed` is the command."""

import subprocess
import sys

import pytest

from tests.test_imports import ROOT

pytestmark = pytest.mark.gcc


def test_is_the_command() -> None:
    for argument, shown in (("--version", "perfembed "), ("--help", "Usage: perfembed ")):
        done = subprocess.run([sys.executable, "-m", "perfembed", argument], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0 and shown in done.stdout
