"""Labels of cost models: exported once, read as problems, without what says nothing."""

from pathlib import Path

import pytest

from optdb.records import Record
from perfembed.errors import UsageError
from perfembed.learning.training_data import LabelQuality, export_labels, read_problems
from perfembed.retrieval.donors import export_donors
from tests.optdb.support import BASE, MACHINE, empty, measurement, replace, store

BASELINE = (1e-3, 1.1e-3)


def label(number: int, seconds: float | None, after: float = 0.0, **fields: object) -> tuple[Record, Record]:
    """A schedule and what a search measured of it; without seconds it was given up `after` some."""
    _, nest, conditions, run = BASE
    schedule, found = measurement(nest, conditions, run, number)
    outcome = "timed" if seconds else "stopped"
    changed = replace(
        found,
        kind="search",
        evaluation=number,
        outcome=outcome,
        message="" if seconds else f"given up after {after} s",
        samples=(seconds,) if seconds else (),
        baseline=BASELINE,
        speedup_low=None,
        speedup_high=None,
        verified=False,
        verified_on=(),
        verify_seeds=(),
        **{"noise": 0.01, "other_load": 0.0, **fields},  # type: ignore[arg-type]
    )
    return schedule, changed


def database(path: Path, *labels: tuple[Record, Record]) -> Path:
    with empty(path) as opened:
        store(opened, MACHINE, *BASE, *(record for pair in labels for record in pair))
    return path


def test_labels_are_speedups_over_the_fastest_original(tmp_path: Path) -> None:
    export_labels(database(tmp_path / "a.db", label(0, 5e-4), label(1, 2e-3)), tmp_path / "a.parquet")
    (problem,) = read_problems([tmp_path / "a.parquet"])
    assert problem.speedups == pytest.approx((2.0, 0.5)) and not problem.given_up
    assert len(problem.schedules) == 2 and problem.parameters


def test_what_a_shard_has_is_not_exported_again(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", label(0, 5e-4))
    assert export_labels(path, tmp_path / "a.parquet") == 1
    database(path, label(1, 2e-3))
    assert export_labels(path, tmp_path / "b.parquet") == 1
    assert export_labels(path, tmp_path / "c.parquet") == 0
    (problem,) = read_problems(sorted(tmp_path.glob("*.parquet")))
    assert sorted(problem.speedups) == pytest.approx([0.5, 2.0])
    with pytest.raises(UsageError, match="exists already"):
        export_labels(path, tmp_path / "a.parquet")
    (tmp_path / "d.parquet").write_text("no Parquet")
    with pytest.raises(UsageError, match=r"d\.parquet"):
        export_labels(path, tmp_path / "e.parquet")


def test_shards_of_another_kind_lie_in_the_same_folder(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", label(0, 5e-4))
    assert export_donors(path, tmp_path / "donors.parquet") == 0
    assert export_labels(path, tmp_path / "labels.parquet") == 1


def test_a_run_that_was_given_up_is_a_limit_unless_only_its_first_call_was_slow(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", label(0, 5e-4), label(1, None, 9e-3), label(2, None, 34e-3), label(3, None, 0.1))
    assert export_labels(path, tmp_path / "a.parquet") == 4
    (problem,) = read_problems([tmp_path / "a.parquet"])
    assert problem.speedups == pytest.approx((2.0, 1 / 9, 1 / 100)) and problem.given_up == {1, 2}
    (every,) = read_problems([tmp_path / "a.parquet"], LabelQuality(least_s=0.0))
    assert every.given_up == {1, 2, 3}


def test_disturbed_and_unsteady_labels_are_left_out(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", label(0, 5e-4), label(1, 5e-4, other_load=0.9), label(2, 5e-4, noise=0.6))
    export_labels(path, tmp_path / "a.parquet")
    (problem,) = read_problems([tmp_path / "a.parquet"])
    assert len(problem.speedups) == 1
