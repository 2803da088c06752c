"""The check finds every inconsistency that is planted, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from optdb.check import check
from optdb.database import Database
from optdb.errors import Damaged
from tests.optdb.support import filled

PLANTED = [
    ("DELETE FROM _store.machines", "machine is not in _store.machines"),
    ("DELETE FROM _store.sources", "source_id is not in _store.sources"),
    ("DELETE FROM _store.runs WHERE seed = 1", "run_id is not in _store.runs"),
    ("DELETE FROM _store.schedules WHERE text LIKE '%[17]%'", "schedule_id is not in _store.schedules"),
    ("DELETE FROM _store.conditions WHERE sizes LIKE '%1001%'", "conditions_id is not in _store.conditions"),
    ("DELETE FROM _store.nests WHERE name = 'scale_2'", "nest_id is not in _store.nests"),
    ("UPDATE _store.nests SET text = replace(text, '* 2.0', '* 3.0')", "the id is not that of the text"),
    ("UPDATE _store.nests SET text = 'nest {'", "the text is no nest"),
    ("UPDATE _store.schedules SET text = 'parallelize(j)' WHERE text LIKE '%[17]%'", "does not belong"),
    ("UPDATE _store.schedules SET text = 'system(1)' WHERE text LIKE '%[17]%'", "not a schedule"),
    ("UPDATE _store.conditions SET threads = 64", "does not belong"),
    ("UPDATE _store.measurements SET samples = [1e-9] WHERE evaluation = 1", "derived times differ"),
    ("UPDATE _store.measurements SET min_s = 1e-9 WHERE evaluation = 1", "derived times differ"),
    ("UPDATE _store.measurements SET seed = 5 WHERE evaluation = 1", "does not belong"),
    ("UPDATE _store.runs SET versions = '{'", "versions"),
    ("DELETE FROM _store.best WHERE measured = 5", "differs from the measurements"),
    ("UPDATE _store.best SET speedup = 99", "differs from the measurements"),
    ("UPDATE _store.best SET measured = 4", "differs from the measurements"),
    ("UPDATE _store.measurements SET verified = false WHERE evaluation = 4", "differs from the measurements"),
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with filled(tmp_path_factory.mktemp("check") / "a.db") as found:
        yield found


def test_a_good_database(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db"):
        pass
    with Database.open(tmp_path / "a.db", read_only=True) as database:
        report = check(database)
        assert report.consistent and report.problems == 0
        assert dict(report.rows)["_store.measurements"] == 15 and dict(report.rows)["_store.nests"] == 3


@pytest.mark.parametrize(("statement", "problem"), PLANTED, ids=[problem[:30] for _, problem in PLANTED])
def test_what_is_planted_is_found(database: Database, statement: str, problem: str) -> None:
    database.connection.begin()
    try:
        database.execute(statement)
        findings = check(database).findings
        assert any(problem in finding.problem and finding.count and finding.examples for finding in findings), findings
    finally:
        database.connection.rollback()


def test_a_nest_of_another_schedule(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db") as database:
        database.execute(
            "UPDATE _store.measurements SET nest_id = (SELECT nest_id FROM _store.nests WHERE name = 'scale_2') "
            "WHERE evaluation = 1 AND seed = 0"
        )
        assert [(f.problem, f.count) for f in check(database).findings] == [
            ("nest is not its schedule's", 1),
            ("differs from the measurements", 2),
        ]


def test_a_flipped_bit_in_a_block(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with filled(path, nests=5, measurements=10):
        pass
    content = path.read_bytes()
    refused = 0
    for place in range(12288 + 100, len(content), len(content) // 8):
        changed = bytearray(content)
        changed[place] ^= 16
        path.write_bytes(changed)
        try:
            with Database.open(path, read_only=True) as database:
                assert check(database).consistent  # a block that is not in use
        except Damaged:
            refused += 1
    assert refused >= 2
