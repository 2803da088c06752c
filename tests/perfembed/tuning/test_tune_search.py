"""`tune` by a search that the shipped cost model guides, on a real file."""

import os
from pathlib import Path

import pytest

import perfembed
from tests.perfembed.tuning.test_tune_transfer import SOURCE

pytestmark = pytest.mark.gcc


def test_the_best_predicted_are_measured_and_then_the_neighbours_of_the_best(tmp_path: Path) -> None:
    source = tmp_path / "product.c"
    source.write_text(SOURCE)
    result = perfembed.tune(
        source, search="beam", measure=2, budget_s=20, threads=1, output=tmp_path / "out.c",
        functions=["product"], environment=os.environ,
    )  # fmt: skip
    (nest,) = [n for n in result.nests if n.function == "product"]
    assert nest.predicted > 10
    assert nest.candidates > 2 or nest.status == "kept"
    if nest.status == "tuned":
        assert nest.speedup is not None and nest.speedup > 1.0 and result.program_output_equal
