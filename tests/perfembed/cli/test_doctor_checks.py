"""What the doctor says of what ships and of the database: a fix wherever something is wrong."""

import os
from pathlib import Path

import pytest

from perfembed.cli.doctor_checks import database_check, shipped_check
from perfembed.learning import cost_models
from tests.optdb.support import filled


def test_what_ships(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = shipped_check()
    assert found.ok and found.fix is None and "models" in found.found
    monkeypatch.setattr(cost_models, "SHIPPED", tmp_path)
    found = shipped_check()
    assert not found.ok and "install perfembed again" in (found.fix or "")


def test_a_database_that_is_there_or_can_be(tmp_path: Path) -> None:
    path = tmp_path / "perfembed" / "perfembed.duckdb"
    assert database_check({"XDG_DATA_HOME": str(tmp_path)}).found == f"{path}, which the first run makes"
    path.parent.mkdir()
    filled(path).close()
    found = database_check({"XDG_DATA_HOME": str(tmp_path)})
    assert found.ok and found.found == str(path)


def test_databases_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database")
    for environment in (
        {},
        {"PERFEMBED_DB": str(tmp_path / "text")},
        {"PERFEMBED_DB": str(tmp_path / "text" / "a.db")},
    ):
        found = database_check(environment)
        assert not found.ok and found.fix, environment


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    found = database_check({"PERFEMBED_DB": str(tmp_path / "a.db")})
    assert not found.ok and "not writable" in found.found
