"""The table of the best: what the measurements say, in whatever order and how often they come."""

import random
from pathlib import Path

import pytest

from optdb.best import different, renew
from optdb.ingest import ingest
from optdb.maintenance import prune
from optdb.records import MeasurementRecord
from optdb.spool import SpoolWriter, spool_directory
from tests.optdb.support import BASE, MACHINE, dump, empty, filled, one, store


def several(count: int = 60) -> list[MeasurementRecord]:
    """Measurements of one nest under three conditions, with equal times, failures and missing originals among them."""
    rng = random.Random(5)
    found = []
    for number in range(count):
        seconds = rng.choice((1.0, 1.5, 2.0))
        failed = rng.random() < 0.2
        found.append(
            one(
                number,
                conditions_id=f"{number % 3:016x}",
                outcome="crashed" if failed else "timed",
                samples=() if failed else (seconds, rng.choice((2.0, 3.0))),
                baseline=() if rng.random() < 0.3 else (4.0, 5.0),
                verified=not failed and rng.random() < 0.8,
                verified_on=("captured",),
            )
        )
    return found


def expected(records: list[MeasurementRecord]) -> list[tuple[object, ...]]:
    """The rows, worked out without the database."""
    rows: list[tuple[object, ...]] = []
    for conditions in sorted({r.conditions_id for r in records}):
        kept = [r for r in records if r.verified and r.conditions_id == conditions]
        best = min(kept, key=lambda r: (min(r.samples), r.measurement_id))
        original = min(best.baseline, default=None)
        speedup = None if original is None else original / min(best.samples)
        rows.append(
            (conditions, min(best.samples), best.measurement_id, best.schedule_id, original, speedup, len(kept))
        )
    return rows


COLUMNS = "conditions_id, min_s, measurement_id, schedule_id, baseline_min_s, speedup, measured"
BEST = f"SELECT {COLUMNS} FROM _store.best ORDER BY conditions_id"


@pytest.mark.parametrize("seed", [0, 1])
def test_any_order_any_number_of_times(tmp_path: Path, seed: int) -> None:
    records = several()
    rng = random.Random(seed)
    with empty(tmp_path / "a.db") as database:
        for _ in range(6):
            store(database, *rng.choices(records, k=20))
            assert different(database) == []
        rng.shuffle(records)
        with SpoolWriter(spool_directory(database.path)) as writer:
            writer.append(records + records)
        ingest(database, spool_directory(database.path))
        assert database.rows(BEST) == expected(records) and different(database) == []
        before = database.rows(BEST)
        with database.transaction():
            database.execute("UPDATE _store.best SET min_s = 0.5, measured = 1 WHERE conditions_id LIKE '%1'")
            database.execute("INSERT INTO _store.best VALUES ('x', 'y', 1, 'z', 'z', 1, 1, 1, 1)")
            assert len(different(database)) == 2
        with database.transaction():
            renew(database)
        assert database.rows(BEST) == before


def test_a_transaction_that_fails_leaves_it(tmp_path: Path) -> None:
    with empty(tmp_path / "a.db") as database:
        store(database, *several(10))
        before = dump(database)
        with pytest.raises(ValueError, match="now"), database.transaction():
            database.execute("UPDATE _store.measurements SET verified = false, min_s = 9")
            renew(database)
            assert database.value("SELECT count(*) FROM _store.best") == 0
            raise ValueError("now")
        assert dump(database) == before


def test_pruning_gives_the_next_best(tmp_path: Path) -> None:
    records = [one(i, samples=(1.0 + i,), measured_at=float(i), run_id=f"{i % 2:016x}") for i in range(6)]
    with empty(tmp_path / "a.db") as database:
        store(database, MACHINE, *BASE, *records)
        assert prune(database, before=2.0) == 2
        assert database.rows(BEST) == expected(records[2:])
        assert prune(database, run_id="0" * 16) == 2
        assert database.rows(BEST) == expected([records[3], records[5]])
        store(database, records[0])
        assert database.rows(BEST) == expected([records[0], records[3], records[5]]) and different(database) == []
        assert prune(database, before=99.0) == 3 and database.rows(BEST) == []


def test_pruning_touches_no_other_nest(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db") as database:
        before = database.rows("SELECT nest_id, min_s FROM _store.best ORDER BY 1")
        run = database.value("SELECT run_id FROM runs WHERE seed = 2")
        prune(database, run_id=run)
        after = database.rows("SELECT nest_id, min_s FROM _store.best ORDER BY 1")
        assert len(after) == 2 and set(after) < set(before) and different(database) == []
