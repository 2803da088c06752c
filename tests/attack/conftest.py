"""Tuning hostile programs takes minutes: those tests are `slow` and run with `-m slow`."""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == _HERE and item.path.name not in ("test_inspect.py", "test_sql.py", "test_busy.py"):
            item.add_marker(pytest.mark.slow)
