"""No test touches the tester's own database."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_database(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The commands find theirs below this folder, also those that run in processes of their own."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PERFEMBED_DB", str(tmp_path_factory.mktemp("database") / "perfembed.duckdb"))
