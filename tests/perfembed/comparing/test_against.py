"""What is read of another version's `tune --json`."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from perfembed.comparing.against import _read
from perfembed.comparing.rows import winner_origin
from perfembed.errors import EnvironmentMissing
from tests.perfembed.report.tuned import RESULT


def test_where_winners_came_from_is_read_and_unknown_fields_do_not_matter() -> None:
    document = {"kind": "tune", "later": 1, **json.loads(json.dumps(asdict(RESULT), default=str))}
    for nest in document["nests"]:
        nest["later"] = 2
        for candidate in (nest["transfer"] or {"candidates": ()})["candidates"]:
            candidate["later"] = 3
    found = _read(Path("there"), json.dumps(document), "")
    assert [winner_origin(nest) for nest in found.nests] == [winner_origin(nest) for nest in RESULT.nests]
    assert any(nest.transfer for nest in found.nests)


def test_what_is_no_document_is_said() -> None:
    with pytest.raises(EnvironmentMissing, match="does not run: went wrong"):
        _read(Path("there"), "not JSON", "first\nwent wrong\n")
