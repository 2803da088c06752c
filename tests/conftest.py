"""No test touches the tester's own database, or waits for other measurements of the machine; documents are checked."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from perfembed.report import documents
from profilers import lock
from scheduler.frontend import parsing
from tests.needs import FOLDERS, NEEDS, ROOT, Watch, is_unit, parsed_here, parses_here
from tests.perfembed.documents_support import check_document


@pytest.fixture(autouse=True, scope="session")
def _own_database_and_lock(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The commands find theirs below this folder, also those that run in processes of their own."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PERFEMBED_DB", str(tmp_path_factory.mktemp("database") / "perfembed.duckdb"))
    folder = tmp_path_factory.mktemp("lock")
    patch.setattr(lock, "_FOLDERS", (folder,))
    patch.setenv(lock.VARIABLE, str(folder))


@pytest.fixture(autouse=True, scope="session")
def _documents_are_as_their_schemas_say() -> Iterator[None]:
    """Whatever document a test makes in this process."""
    patch = pytest.MonkeyPatch()
    written = documents._text

    def checked(content: dict[str, Any]) -> str:
        text = written(content)
        check_document(json.loads(text))
        return text

    patch.setattr(documents, "_text", checked)
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def _parser_in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if parses_here(request.node):
        parsing.compiler_headers("gcc")  # which asks gcc, once
        monkeypatch.setattr(parsing, "_asked", parsed_here)


@pytest.fixture
def own_parser() -> None:
    """Files are parsed as users' are, in a process of its own (`tests.needs.parses_here`)."""


_watch = Watch()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole folders need the same."""
    for item in items:
        if (name := FOLDERS.get(item.path.relative_to(ROOT).parts[0])) is not None:
            item.add_marker(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test that says of itself that it is a unit test, by having no mark of what it needs, is one."""
    _watch.begin(is_unit(item))
    try:
        yield
    finally:
        seen = _watch.seen
        _watch.begin(False)
    if seen:
        pytest.fail(f"a unit test {'; '.join(seen[:3])}: mark it {', '.join(NEEDS[:-1])} or {NEEDS[-1]}", pytrace=False)
