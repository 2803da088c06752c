"""The schemas that ship are those of the records, are valid, and are found by the names people know."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from perfembed import errors
from perfembed.errors import UsageError
from perfembed.report.schema import FOLDER, render_exit_codes, schema_list, schema_names, schema_text
from tests.schemas.catalogue import derived

SOURCES = Path(__file__).resolve().parents[3] / "perfembed"


def test_they_are_up_to_date() -> None:
    shipped = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert shipped == derived(), "python -m tests.schemas"


def test_they_are_valid() -> None:
    for name in schema_names():
        Draft202012Validator.check_schema(json.loads(schema_text(name)))


def test_every_document_has_one() -> None:
    kinds = set()
    for path in SOURCES.rglob("*.py"):
        kinds |= set(re.findall(r'\bdocument\(\s*"([^"]+)"', path.read_text(encoding="utf-8")))
        kinds |= set(re.findall(r'_(?:taken_in|run)\("(db [a-z]+|bench-[a-z]+)"', path.read_text(encoding="utf-8")))
    assert {kind.replace(" ", "-") for kind in kinds} | {"sql"} == set(schema_names())


def test_names() -> None:
    assert schema_text("db info") == schema_text("db-info")
    assert ["tune", "What perfembed tune --json prints"] in schema_list()
    for wrong in ("nothing", "../schemas/tune", ""):
        with pytest.raises(UsageError, match="no schema"):
            schema_text(wrong)


def test_all_are_there_in_order() -> None:
    codes = [value for name, value in vars(errors).items() if name.startswith("EXIT_") and isinstance(value, int)]
    assert list(errors.EXITS) == sorted(codes)
    for kind in errors.PerfembedError.__subclasses__():
        assert kind.exit_code in errors.EXITS


def test_table() -> None:
    lines = render_exit_codes().splitlines()
    assert [int(line.split()[0]) for line in lines] == list(errors.EXITS)
    assert lines[3] == "3    no tunable loop nest" and "`" not in "".join(lines)
