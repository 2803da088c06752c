"""The three forms of a loop run, and what a region costs is told."""

import os

import pytest

from tests.evaluation import views
from tests.evaluation.regions import run_regions

pytestmark = pytest.mark.gcc


def test_regions() -> None:
    result = run_regions(64, 20, 3, 2, "gcc", dict(os.environ))
    assert set(result.seconds) == {"no threads", "plain region", "written region"}
    assert all(0 < result.least[name] <= result.seconds[name] <= result.most[name] for name in result.seconds)
    text = "\n".join(views.regions(result))
    assert "written region" in text and "3 rounds of 20 calls" in text
