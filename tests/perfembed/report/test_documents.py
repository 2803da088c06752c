"""Documents: what records become, and that those no other test makes are as their schemas say."""

import json
import math
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

import pytest

from optdb.safe_sql import Column, QueryResult
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import SourceRejected
from perfembed.populating.populate import Plan, PopulateResult
from perfembed.populating.programs import Program
from perfembed.report.documents import document, error_document, plain
from perfembed.report.population import plan_document, population_document
from perfembed.report.query import render
from perfembed.report.style import Style
from perfembed.tuning.result import MatchReport
from tests.perfembed.documents_support import check_document

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
