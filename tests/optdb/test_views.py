"""The views are the interface: their columns are listed here, and what they say is right."""

from pathlib import Path

import pytest

from optdb.database import Database
from tests.optdb.support import BASE, MACHINE, empty, filled, measurement, one, replace, store

SOURCE, NEST, CONDITIONS, RUN = BASE
CONDITION_COLUMNS = (
    "conditions_id machine cpu_model isa compiler compiler_version flags threads sizes element_type reassociated"
)
VIEWS = {
    "best_schedules": "nest_id name speedup min_s median_s baseline_min_s schedule schedule_id measured algorithm "
    "place " + CONDITION_COLUMNS,
    "conditions": CONDITION_COLUMNS,
    "ingest_problems": "file line byte_offset reason lost",
    "machines": "machine cpu_model vendor isa physical_cores logical_cores caches memory_bytes",
    "measurements": "measurement_id nest_id name kind outcome message min_s median_s samples baseline verified "
    "verified_on verify_seeds tolerance noise other_load schedule schedule_id run_id seed repetition evaluation "
    "measured " + CONDITION_COLUMNS,
    "nests": "nest_id name functions places algorithms normalized_id features schedules measurements verified text "
    "c_text",
    "profiles": "nest_id name source runtime_s counts notes profile_id " + CONDITION_COLUMNS,
    "runs": "run_id seed search budget_s versions command started ended",
    "search_progress": "run_id search seed nest_id name evaluation outcome verified min_s best_s best_speedup "
    "schedule_id " + CONDITION_COLUMNS,
    "sources": "source_id origin place algorithm",
    "speedups": "nest_id name speedup speedup_low speedup_high min_s median_s baseline_min_s verified kind schedule "
    "schedule_id run_id noise other_load " + CONDITION_COLUMNS,
    "transfers": "nest_id name donor_nest_id donor_name donor_distance outcome verified speedup min_s message schedule "
    "schedule_id run_id " + CONDITION_COLUMNS,
}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return filled(tmp_path / "a.db", nests=3, measurements=12)


def test_views_and_columns_are_these(database: Database) -> None:
    rows = database.rows(
        "SELECT view_name, (SELECT string_agg(column_name, ' ' ORDER BY column_index) FROM duckdb_columns() c "
        "WHERE c.table_name = v.view_name AND c.schema_name = 'main'), comment FROM duckdb_views() v WHERE NOT internal"
    )
    assert {name: columns for name, columns, _ in rows} == VIEWS
    assert all(comment for _, _, comment in rows)


def test_counts(database: Database) -> None:
    assert database.rows("SELECT schedules, measurements, verified FROM nests") == [(12, 12, 11)] * 3
    assert database.value("SELECT count(*) FROM measurements") == 36
    assert database.value("SELECT count(*) FROM speedups") == 33
    assert database.rows("SELECT functions, places, algorithms FROM nests WHERE name = 'scale_2'") == [
        (["main"], ["number 1"], ["algorithm-1"])
    ]
    assert database.rows("SELECT outcome, count(*) FROM measurements GROUP BY 1 ORDER BY 1") == [
        ("timed", 33),
        ("crashed", 3),
    ]


def test_times_are_in_utc(database: Database) -> None:
    assert str(database.value("SELECT started FROM runs LIMIT 1")) == "2027-01-15 08:00:00"


def test_search_progress(database: Database) -> None:
    rows = database.rows(
        "SELECT evaluation, outcome, min_s, best_s FROM search_progress WHERE nest_id = ? ORDER BY evaluation",
        [NEST.nest_id],
    )
    assert [row[0] for row in rows] == list(range(12))
    best = float("inf")
    for evaluation, outcome, min_s, best_s in rows:
        assert outcome == ("crashed" if evaluation % 10 == 9 else "timed")
        best = min(best, min_s or best)
        assert best_s == best


def test_transfers(database: Database) -> None:
    donor = database.value("SELECT nest_id FROM nests WHERE name = 'scale_3'")
    record = one(0, kind="transfer", donor_nest_id=donor, donor_distance=0.25, samples=(1.0,), baseline=(3.0,))
    assert database.rows("FROM transfers") == []
    store(database, record)
    assert database.rows("SELECT name, donor_name, donor_distance, speedup FROM transfers") == [
        ("scale_1", "scale_3", 0.25, 3.0)
    ]


def test_rows_whose_machine_never_came_still_show(tmp_path: Path) -> None:
    with empty(tmp_path / "b.db") as database:
        other = replace(CONDITIONS, machine="e" * 16)
        schedule, record = measurement(NEST, other, RUN, 0)
        store(database, MACHINE, *BASE, other, schedule, record)
        assert database.rows("SELECT machine, cpu_model FROM best_schedules") == [("e" * 16, None)]
