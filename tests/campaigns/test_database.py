"""The campaigns against the database, at small sizes."""

import pytest

from tests.campaigns.database.damage import TARGETS, damage
from tests.campaigns.database.kills import kills
from tests.campaigns.database.scale import scale
from tests.campaigns.database.writers import writers


def test_kills() -> None:
    result = kills(3, seed=3)
    assert result.passed, result.failures
    assert sum(count for _, count in result.killed) == 3 <= result.trials
    assert result.acknowledged > 0 and result.lost == 0


def test_damage() -> None:
    result = damage(3, seed=2)
    assert result.passed, result.failures
    assert result.tried == 6 == sum(count for *_, count in result.verdicts)
    assert {target for _, target, _, _ in result.verdicts} == set(TARGETS)
    assert {"refused", "reported"} <= {verdict for _, _, verdict, _ in result.verdicts}


def test_writers() -> None:
    result = writers(4, 30)
    assert result.passed, result.failures
    assert result.stored == 120 and result.reads > 0 and 0 < result.longest_wait_s < 60


@pytest.mark.slow
def test_many_writers() -> None:
    assert writers(64, 500).passed


def test_scale() -> None:
    result = scale(10, 100, merged_nests=5)
    assert (result.measurements, result.records, result.merged_records) == (100, 241, 120)
    assert result.bytes > 0 and result.ingest_per_s > 0 and result.best_of_nest_s > 0
