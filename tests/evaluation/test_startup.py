"""`startup`: two runs in alternation, and what is printed of them."""

import os
from pathlib import Path

import pytest

from perfembed.errors import EnvironmentMissing
from tests.evaluation import views
from tests.evaluation.installation import Installation
from tests.evaluation.startup import Startup, StartupBench, StartupResult, run_startup
from tests.test_imports import ROOT


@pytest.mark.slow
@pytest.mark.gcc
def test_this_checkout_against_itself() -> None:
    said: list[str] = []
    result = run_startup(StartupBench(1, ROOT, 300, dict(os.environ)), said.append)
    assert said == ["1 of 1"] and not result.interrupted
    for run in (*result.ours, *result.theirs):
        assert 0 < run.library_s < run.imports_s < run.program_s < run.candidate_s
        assert run.memory_bytes > 20 << 20 and run.processor_s > 0.3


@pytest.mark.gcc
def test_a_checkout_that_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "perfembed").mkdir()
    (tmp_path / "perfembed" / "__init__.py").write_text("raise SystemExit('broken')")
    with pytest.raises(EnvironmentMissing, match="does not run: broken"):
        run_startup(StartupBench(1, tmp_path, 100, dict(os.environ)), lambda text: None)


def test_what_is_shown() -> None:
    ours, theirs = Startup(0.1, 0.4, 0.3, 1.0, 3.5, 4.0, 100 << 20), Startup(0.2, 0.4, 0.6, 2.0, 7.0, 8.0, 200 << 20)
    installed = Installation(30.0, 10 << 20, 1000 << 20), Installation(60.0, 20 << 20, 1000 << 20)
    bench = StartupBench(1, Path("old"), install=True)
    shown = views.startup(StartupResult(bench, (ours,), (theirs,), False, installed))
    lines = {line.split("  ")[1]: line.split() for line in shown[2:]}
    assert lines["pip install, cached"][-2:] == ["s:", "met"] and "2.00" in lines["pip install, cached"]
    assert lines["first candidate measured"][-1] == lines["perfembed --help"][-1] == "missed"
    assert lines["installed: everything"][-3:] == ["1000", "MiB", "1.00"]
