"""What the ledger of a nest leaves in a real database."""

import time
from pathlib import Path

import pytest

from optdb.database import Database
from optdb.records import RunRecord, SourceRecord
from perfembed.measuring.database_ledger import DatabaseLedger, Origin
from perfembed.measuring.measurer import Checked
from perfembed.measuring.store import Store, conditions_record, installed_versions, settle
from profilers.machine import describe_machine
from profilers.outcome import Timed
from profilers.timing import compare_apart
from scheduler.ir.text import parse_nest
from scheduler.replay import Replayer
from scheduler.schedule import parse_schedule
from tests.perfembed.measuring.test_less_work import PRODUCT


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_a_confirmation_says_how_exactly_it_was_checked(tmp_path: Path, tolerance: float) -> None:
    nest, machine, path = parse_nest(PRODUCT), describe_machine(), tmp_path / "a.duckdb"
    run = RunRecord("1" * 32, 0, "transfer", 60.0, installed_versions(), "tune", time.time())
    source = SourceRecord.of("int main(void);", "file", "a.c", "a")
    store = Store(path, run, machine)
    store.begin()
    store.append([source])
    conditions = conditions_record(machine, "gcc", "gcc 12", ("-O3",), 2, nest, {"n": 100}, False)
    ledger = DatabaseLedger(store, Origin(nest, source.source_id, conditions), resume=False)
    ledger.begin(Replayer(nest), Timed((1.0, 1.1)))
    checked = Checked(("equal",), inputs=(None, 1), tolerance=tolerance)
    ledger.confirmed(parse_schedule("parallelize(i)"), compare_apart(Timed((1.0, 1.1)), Timed((0.5, 0.6))), checked)
    store.end(time.time())
    settle(path)
    with Database.open(path, read_only=True) as database:
        found = database.rows("SELECT verified, tolerance, min_s, baseline_min_s FROM _store.measurements")
        assert found == [(True, tolerance, 0.5, 1.0)]
