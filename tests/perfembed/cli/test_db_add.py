"""`perfembed db add`: an expert's schedule becomes a donor, and one that is no good does not."""

import os
from pathlib import Path

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_USAGE, EXIT_VERIFICATION
from perfembed.retrieval.donors import read_donors
from tests.perfembed.tuning.test_tune_transfer import SOURCE

SESSION = Session({"PATH": os.environ["PATH"]})


@pytest.fixture
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "product.c"
    path.write_text(SOURCE)
    return path


def add(path: Path, schedule: str) -> int:
    options = ["--function", "product", "--threads", "1", "--db", "a.duckdb", "--budget", "20s", "-q"]
    return main(["db", "add", str(path), "--schedule", schedule, *options], SESSION)


def test_a_donor_from_then_on(product: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(product, "interchange(j, k)") == EXIT_DONE
    assert "faster, a donor in a.duckdb" in capsys.readouterr().out
    assert product.read_text() == SOURCE
    assert main(["db", "donors", "shard.parquet", "--db", "a.duckdb"], SESSION) == EXIT_DONE
    (donor,) = read_donors([Path("shard.parquet")]).values()
    assert donor.schedules == ("interchange(L1, L2)",) and donor.speedups[0] > 1.05


def test_what_is_no_faster_is_none(product: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = SOURCE.replace("N 320", "N 1024").replace("            for (int k = 0; k < N; k++)\n    ", "")
    product.write_text(rows.replace("a[i][k] * b[k][j]", "a[i][j] * b[i][j]"))
    assert add(product, "interchange(i, j)") == EXIT_VERIFICATION  # down the columns: several times slower
    assert "product_0: no donor: " in capsys.readouterr().out


@pytest.mark.parametrize("schedule", ["interchange(j, q)", "other: reverse(j)", "reverse(k)"])
def test_what_does_not_fit(product: Path, schedule: str) -> None:
    assert add(product, schedule) == EXIT_USAGE
    assert not Path("a.duckdb").exists()
