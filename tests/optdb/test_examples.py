"""The examples in the documentation of the Python interface are run."""

import doctest
from pathlib import Path
from types import ModuleType

import pytest

from optdb import database, queries, spool
from optdb.database import Database
from optdb.ingest import ingest
from tests.optdb.support import filled, stream


@pytest.mark.parametrize("module", [database, queries, spool], ids=lambda module: module.__name__)
def test_examples(tmp_path: Path, module: ModuleType) -> None:
    with filled(tmp_path / "a.db", nests=3, measurements=8):
        pass
    names = {
        "path": tmp_path / "a.db",
        "new": tmp_path / "new.db",
        "records": list(stream(2, 2)),
        "Database": Database,
        "ingest": ingest,
    }
    result = doctest.testmod(module, extraglobs=names)
    assert result.attempted > 0 and result.failed == 0
