"""No test touches the tester's own database, or waits for other measurements of the machine."""

import pytest

from profilers import lock


@pytest.fixture(autouse=True, scope="session")
def _own_database_and_lock(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The commands find theirs below this folder, also those that run in processes of their own."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PERFEMBED_DB", str(tmp_path_factory.mktemp("database") / "perfembed.duckdb"))
    folder = tmp_path_factory.mktemp("lock")
    patch.setattr(lock, "_FOLDERS", (folder,))
    patch.setenv(lock.VARIABLE, str(folder))
