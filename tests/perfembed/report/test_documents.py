"""Documents: what records become, and that those no other test makes are as their schemas say."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

import pytest
from jsonschema import Draft202012Validator

from optdb.safe_sql import Column, QueryResult
from perfembed import errors
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import SourceRejected, UsageError
from perfembed.populating.populate import Plan, PopulateResult
from perfembed.populating.programs import Program
from perfembed.report.documents import (
    FOLDER,
    document,
    error_document,
    plain,
    render_exit_codes,
    schema_list,
    schema_names,
    schema_text,
)
from perfembed.report.population import plan_document, population_document
from perfembed.report.query import render
from perfembed.report.style import Style
from perfembed.tuning.result import MatchReport
from tests.perfembed.documents_support import check_document
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


KERNELS = Path(__file__).resolve().parents[2] / "kernels"


def test_plain() -> None:
    match = MatchReport("loop", "x", "i", math.nan)
    assert plain({"found": (match, [1, True, None]), "counts": MappingProxyType({"a": math.inf, "b": 2.5})}) == {
        "found": [{"kind": "loop", "donor": "x", "target": "i", "distance": None}, [1, True, None]],
        "counts": {"a": None, "b": 2.5},
    }


def test_nothing_steers_a_terminal() -> None:
    problem = SourceRejected("\x1b[31m über", "\u202eback")
    text = error_document(problem)
    assert "\x1b" not in text and "\u202e" not in text and "über" in text
    assert json.loads(text)["error"]["message"] == problem.message


def test_a_document_without_a_schema_is_noticed() -> None:
    with pytest.raises(Exception, match="no schema"):
        document("frobnicated", {})


def test_populate() -> None:
    population_document(PopulateResult(3, 1, 4, 120, seconds=61.5, complete=True))
    plan_document(Plan((Program("gemm.c", "gemm"),), 5))


def test_sql() -> None:
    columns = (Column("a", "INTEGER", "int"), Column("b", "DECIMAL", "decimal"), Column("c", "VARCHAR[]", "list"))
    rows = ((1, Decimal("1.50"), ["x"]), (None, Decimal("NaN"), None))
    result = QueryResult(columns, rows, False, 0.1)
    found = json.loads("".join(render(result, "json", Style())))
    check_document(found, "sql")
    assert len(found) == 2


@pytest.mark.gcc
def test_inspect(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(KERNELS / "spmv.c"), "-DSMALL", "--json"], Session({})) == 0
    found = json.loads(capsys.readouterr().out)
    check_document(found)
    assert found["nests"] and found["refused"]
