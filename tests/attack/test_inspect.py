"""`perfembed inspect` on malformed and hostile files: a documented exit code, in time, nothing left behind."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.attack import broken_bytes, deep, encodings, forms, names, paths, semantics
from tests.attack.harness import check, known_open, perfembed
from tests.attack.registry import CASES, Case

pytestmark = pytest.mark.gcc

LIMIT_S = 10.0

for family in (broken_bytes, encodings, deep, names, forms, semantics, paths):
    family.register()


def test_there_are_enough() -> None:
    assert len(CASES) >= 200


def parameters() -> list[object]:
    found = []
    for case in CASES.values():
        marks = [pytest.mark.slow] if case.slow else []
        found.append(pytest.param(case, id=case.name, marks=[*marks, *known_open(case.open)]))
    return found


@pytest.mark.parametrize("case", parameters())
def test_inspect(case: Case, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    if case.source is not None:
        (folder / case.file).write_bytes(case.source)
    if case.prepare is not None:
        case.prepare(folder)
    before = contents(folder)

    run = perfembed(("inspect", *case.options, "--", case.file), folder, tmp_path / "scratch", LIMIT_S)

    check(run, case.codes, case.said)
    assert contents(folder) == before
    if "--json" in case.options:
        document = json.loads(run.out)
        assert document["schema_version"] == 1
    elif run.code in (0, 3) and run.out:
        assert " refused" in run.out.splitlines()[0]


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Name, mode and bytes of every file."""
    found = {}
    for path in folder.rglob("*"):
        status = os.lstat(path)
        readable = stat.S_ISREG(status.st_mode) and status.st_size < 100 << 20
        found[str(path)] = (status.st_mode, path.read_bytes() if readable else b"")
    return found
