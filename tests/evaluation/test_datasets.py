"""One nest on several data sets, with donors found without and with a profile."""

import os
import shutil
from pathlib import Path

import pytest

from perfembed.retrieval.donor_vectors import seed_donors
from perfembed.retrieval.donors import SEED
from perfembed.retrieval.space_training import usable_space
from tests.evaluation import views
from tests.evaluation.datasets import DataRow, run_datasets, told_apart
from tests.evaluation.methods import MethodsBench
from tests.test_imports import ROOT

SOURCE = ROOT / "tests" / "datasets" / "spmv.c"
ROWS = (
    DataRow("A=1", "f_0", "near", ("aaaaaaaa", "b"), "parallelize(i)", 1e-3, 2e-3),
    DataRow("A=2", "f_0", "near", ("aaaaaaaa", "b"), "", None, None),
    DataRow("A=1", "f_0", "profiled", ("b",), "", 1e-3, 2e-3),
    DataRow("A=2", "f_0", "profiled", ("c",), "", 1e-3, 2e-3),
)


def test_lists_of_donors_that_differ() -> None:
    assert told_apart(ROWS) == {("f_0", "near"): 1, ("f_0", "profiled"): 2}
    text = views.datasets(ROWS, "here")
    assert "aaaaaa b " in text[2] and "2.00x" in text[2] and "as written" in text[3]
    assert text[-1] == "f_0, profiled: 2 different lists of donors on 2 data sets"


@pytest.mark.gcc
def test_a_sparse_product_on_two_matrices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(SEED / "kernels-3.parquet", tmp_path)
    space = usable_space()
    donors = seed_donors(space, tmp_path)
    monkeypatch.setattr("tests.evaluation.transfer.open_sources", lambda database: (space, [donors]))
    flags = ("-O2", "-DSMALL", "-DROUNDS=400")
    bench = MethodsBench((str(SOURCE),), None, 2, (), cflags=flags, budget_s=3.0, environment=tuple(os.environ.items()))
    rows = run_datasets(bench, ("DATA=BANDED", "DATA=SKEWED"), (1,), None, lambda text: None)
    mine = [row for row in rows if row.nest == "spmv_0"]
    assert [row.data for row in mine] == ["DATA=BANDED"] * 2 + ["DATA=SKEWED"] * 2
    assert all(len(row.donors) == 5 and row.seconds and row.original for row in mine)
