"""Each pass against golden files, C with what it becomes in comments: `/* after PASS` and the text, to `*/`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scheduler.frontend.child import parse
from scheduler.frontend.model import Request, SourceFile
from scheduler.frontend.parsing import parser_arguments
from scheduler.frontend.pipeline import NAMES

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.c"))
EXPECTED = re.compile(r"^/\* after (\w+)\n(.*?)^\*/$", re.MULTILINE | re.DOTALL)


def printed(path: Path, after: str) -> str:
    """All functions of the file after a pass."""
    arguments = parser_arguments((), "gcc")
    found = parse(Request("/golden.c", path.read_bytes(), arguments, 1 << 32, 10, print_after=after))
    assert isinstance(found, SourceFile), found
    return "\n".join(text.rstrip("\n") for _, text in found.printed) + "\n"


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    expected = EXPECTED.findall(path.read_text())
    assert expected
    for after, text in expected:
        assert printed(path, after) == text, after


def test_every_pass_has_a_golden_file() -> None:
    assert {after for path in GOLDEN for after, _ in EXPECTED.findall(path.read_text())} == set(NAMES)
