"""Typed queries: the right rows, never mixed across conditions."""

from pathlib import Path

import numpy as np
import pytest

from optdb import queries, record_queries
from optdb.database import Database
from optdb.errors import OptdbError
from optdb.records import EmbeddingRecord, NestRecord, ProfileRecord, RunRecord, SourceRecord
from profilers.profile import Profile
from tests.optdb.support import BASE, MACHINE, empty, filled, measurement, one, replace, store

SOURCE, NEST, CONDITIONS, RUN = BASE


def with_times(number: int, seconds: float, **changes: object) -> object:
    """A measurement whose samples are `seconds` and a little more, next to an original of 8 s."""
    return one(number, samples=(seconds, seconds * 1.5), baseline=(8.0, 9.0), **changes)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty(tmp_path / "a.db")


def test_the_fastest_verified_schedule(database: Database) -> None:
    schedules = [measurement(NEST, CONDITIONS, RUN, i)[0] for i in range(4)]
    store(
        database,
        MACHINE,
        *BASE,
        *schedules,
        with_times(0, 4.0),
        with_times(1, 2.0),
        with_times(2, 1.0, verified=False, verified_on=()),
        one(3, outcome="wrong_result", samples=(), verified=False, verified_on=()),
    )
    (best,) = queries.best_schedules(database)
    assert (best.schedule, best.schedule_id) == (schedules[1].text, schedules[1].schedule_id)
    assert (best.min_s, best.median_s, best.baseline_min_s, best.speedup, best.measured) == (2.0, 2.5, 8.0, 4.0, 2)
    assert (best.name, best.algorithm, best.place) == (NEST.name, SOURCE.algorithm, SOURCE.place)
    assert (best.cpu_model, best.isa) == (MACHINE.cpu_model, "x86_64 avx2 fma")
    assert (best.compiler, best.flags, best.threads) == ("gcc", "-O3 -march=native", 2)
    assert queries.exact_hit(database, NEST.nest_id, CONDITIONS) == best


def test_no_baseline_is_no_speedup(database: Database) -> None:
    store(database, MACHINE, *BASE, *measurement(NEST, CONDITIONS, RUN, 0)[:1], one(0, baseline=()))
    (best,) = queries.best_schedules(database)
    assert best.speedup is None and best.baseline_min_s is None


@pytest.mark.parametrize(
    "changes",
    [
        {"compiler": "clang"},
        {"compiler_version": "13"},
        {"flags": ("-O2",)},
        {"threads": 1},
        {"sizes": '{"n":5}'},
        {"element_type": "float"},
        {"reassociated": True},
        {"machine": "f" * 16},
    ],
)
def test_conditions_never_mix(database: Database, changes: dict[str, object]) -> None:
    other = replace(CONDITIONS, **changes)
    store(
        database,
        MACHINE,
        replace(MACHINE, machine="f" * 16, cpu_model="Another CPU"),
        *BASE,
        other,
        *(measurement(NEST, CONDITIONS, RUN, i)[0] for i in range(2)),
        with_times(0, 4.0),
        with_times(1, 1.0, conditions_id=other.conditions_id),
    )
    assert {b.min_s for b in queries.best_schedules(database)} == {4.0, 1.0}
    hit, foreign = (queries.exact_hit(database, NEST.nest_id, c) for c in (CONDITIONS, other))
    assert hit and foreign and (hit.min_s, foreign.min_s) == (4.0, 1.0)
    assert queries.exact_hit(database, NEST.nest_id, replace(other, threads=77)) is None
    assert queries.exact_hit(database, "0" * 16, CONDITIONS) is None
    here = queries.best_schedules(database, machine=MACHINE.machine)
    assert len(here) == (1 if "machine" in changes else 2)


def test_order_and_limit(tmp_path: Path) -> None:
    with filled(tmp_path / "b.db", nests=6, measurements=8) as database:
        every = queries.best_schedules(database)
        assert len(every) == 6
        speedups = [b.speedup or 0.0 for b in every]
        assert speedups == sorted(speedups, reverse=True)
        assert queries.best_schedules(database, limit=2) == every[:2]
        assert queries.best_schedules(database, limit=6, machine=MACHINE.machine) == every
        assert queries.best_schedules(database, limit=99) == every
        assert queries.best_schedules(database, limit=2, machine="0" * 16) == ()
        assert queries.best_schedules(database, nest_id=every[3].nest_id) == (every[3],)
        database.execute("DELETE FROM _store.schedules WHERE schedule_id = ?", [every[0].schedule_id])
        assert queries.best_schedules(database, limit=2) == every[1:3]


def test_what_need_not_be_measured_again(tmp_path: Path) -> None:
    with filled(tmp_path / "b.db", nests=2, measurements=12) as database:
        found = queries.measured(database, NEST.nest_id, CONDITIONS.conditions_id)
        assert list(found.values()) == [measurement(NEST, CONDITIONS, RUN, i)[1] for i in range(12)]
        assert all(key == record.measurement_id for key, record in found.items())
        assert "crashed" in {record.outcome for record in found.values()}
        assert queries.measured(database, NEST.nest_id, CONDITIONS.conditions_id, seed=RUN.seed) == found
        assert queries.measured(database, NEST.nest_id, CONDITIONS.conditions_id, seed=5) == {}
        assert queries.measured(database, NEST.nest_id, "0" * 16) == {}
        texts = queries.schedule_texts(database, NEST.nest_id)
        assert {texts[r.schedule_id] for r in found.values()} == set(texts.values()) and len(texts) == 12


def test_nests_and_algorithms(database: Database) -> None:
    elsewhere = SourceRecord.of("int y;", "file", "y.c", "other")
    again = replace(NEST, source_id=elsewhere.source_id, name="again")
    alone = NestRecord("a" * 16, "b" * 16, SOURCE.source_id, "alone", None, "text", "", "{}")
    report = store(database, SOURCE, elsewhere, NEST, again)
    assert dict(report.stored) == {"source": 2, "nest": 1}
    (nest,) = queries.nests(database)
    assert (nest.nest_id, nest.name, nest.text) == (NEST.nest_id, NEST.name, NEST.text)
    assert nest.algorithms == ("algorithm-0", "other") and nest.places == ("number 0", "y.c")
    assert queries.nests(database, not_algorithms=["other"]) == ()
    assert queries.nests(database, not_algorithms=["nobody's"]) == (nest,)
    assert queries.nests(database, ids=[NEST.nest_id, "0" * 16], normalized_id=NEST.normalized_id) == (nest,)
    assert queries.nests(database, ids=[]) == () == queries.nests(database, normalized_id="c" * 16)
    assert "id is not that" in store(database, replace(alone, text=NEST.text)).reasons[0]


def test_machines_conditions_runs_profiles(database: Database) -> None:
    document = Profile("perf", MACHINE.machine, 2, 0.5, 64, (("instructions", (1.0, 2.0)),)).to_json()
    profile = ProfileRecord(NEST.nest_id, CONDITIONS.conditions_id, "perf", document)
    later = RunRecord("9" * 16, 3, "mcts", 5.0, "{}", "populate", RUN.started_at + 1, RUN.started_at + 2)
    store(database, MACHINE, *BASE, profile, later)
    assert (
        record_queries.machine(database, MACHINE.machine) == MACHINE
        and record_queries.machine(database, "0" * 16) is None
    )
    assert record_queries.conditions(database, CONDITIONS.conditions_id) == CONDITIONS
    assert record_queries.conditions(database, "0" * 16) is None
    assert record_queries.runs(database) == (RUN, later)
    assert record_queries.profiles(database, NEST.nest_id) == (profile,)
    assert record_queries.profiles(database, NEST.nest_id, machine="0" * 16) == ()
    assert record_queries.records(database, "profile") == (profile,)


def test_embeddings(database: Database) -> None:
    rng = np.random.default_rng(0)
    rows = {f"{i:016x}": rng.standard_normal(128).astype(np.float32) for i in range(5)}
    records = [EmbeddingRecord(i, "m", None, tuple(map(float, v))) for i, v in rows.items()]
    profiled = EmbeddingRecord("0" * 16, "m", "f" * 16, tuple([0.5] * 128))
    store(database, *records, profiled, EmbeddingRecord("0" * 16, "odd", None, (1.0,)))
    store(database, EmbeddingRecord("1" * 16, "odd", None, (1.0, 2.0)))
    found = record_queries.embeddings(database, "m", static_only=True)
    assert found.nest_ids == tuple(rows) and found.vectors.dtype == np.float32
    assert np.array_equal(found.vectors, np.stack(list(rows.values())))
    assert np.array_equal(record_queries.embeddings(database, "m").vectors[0], np.full(128, 0.5, np.float32))
    assert record_queries.embeddings(database, "nobody").vectors.shape == (0, 0)
    with pytest.raises(OptdbError, match="differ in length"):
        record_queries.embeddings(database, "odd")
