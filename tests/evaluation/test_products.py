"""Products against OpenBLAS: what counts as one, a row that is measured, and what the command takes."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfembed.errors import UsageError
from perfembed.retrieval.donors import donor_shards, read_donors
from tests.evaluation import views
from tests.evaluation.commands import app
from tests.evaluation.products import ProductsBench, bench_products, products_among


def test_products_among_what_ships() -> None:
    donors = [
        d for d in read_donors(donor_shards()).values() if d.algorithm in ("gemm", "syrk", "jacobi-2d", "softmax")
    ]
    assert set(products_among(donors)) == {"gemm", "syrk"}


@pytest.mark.gcc
def test_a_row_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [shard for shard in donor_shards() if shard.name == "kernels-3.parquet"]
    monkeypatch.setattr("tests.evaluation.products.donor_shards", lambda: few)
    out = tmp_path / "rows.jsonl"
    environment = (("PATH", os.environ["PATH"]),)
    bench = ProductsBench((200,), out, 1, ("float",), ("scaled",), ("x86-64-v3",), budget_s=6, environment=environment)
    (row,) = bench_products(bench, lambda text: None)
    assert not row.problem and row.ours and row.openblas and row.tuning_s > 0
    assert bench_products(bench, lambda text: None) == (row,)
    assert [json.loads(line)["size"] for line in out.read_text().splitlines()] == [200]
    assert "of OpenBLAS" in views.products([row])[-1]


@pytest.mark.parametrize("wrong", [["--spellings", "kji"], ["--types", "int"], ["--sizes", "1"]])
def test_wrong_uses(wrong: list[str]) -> None:
    done = CliRunner().invoke(app, ["products", *wrong])
    assert isinstance(done.exception, UsageError) and wrong[1] in done.exception.message
