"""A wheel of this checkout, installed; what pip cannot build is said."""

import os
import subprocess
from pathlib import Path

import pytest

from perfembed.errors import EnvironmentMissing
from tests.evaluation.installation import install
from tests.test_imports import ROOT

ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}


@pytest.mark.slow
def test_installs_what_runs(tmp_path: Path) -> None:
    done, python = install(ROOT, tmp_path / "ours", ENVIRONMENT)
    assert 1 << 20 < done.own_bytes < 100 << 20 and done.all_bytes > 5 * done.own_bytes and done.install_s > 1.0
    where = "import perfembed; print(perfembed.__file__)"
    said = subprocess.run(
        [python, "-c", where], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith(str(tmp_path / "ours"))


@pytest.mark.gcc
def test_what_cannot_be_built(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for name in ("perfembed", "optdb", "profilers", "scheduler"):
        (checkout / name).mkdir(parents=True)
    for name, text in (("pyproject.toml", "[build-system]\nrequires = 1\n"), ("README.md", ""), ("LICENSE", "")):
        (checkout / name).write_text(text)
    with pytest.raises(EnvironmentMissing, match=r"pip failed .*source.*.*pyproject.toml"):
        install(checkout, tmp_path / "ours", ENVIRONMENT)
