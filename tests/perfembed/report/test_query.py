"""Results of queries as text: every format can be read back, and none steers a terminal."""

import csv
import io
import json
import math
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from rich.cells import cell_len

from optdb.safe_sql import Cell, Column, QueryResult
from perfembed.report.query import FORMATS, parquet_bytes, render
from perfembed.report.style import Style

EVIL = '\x1b[31mred\x1b]0;owned\x07 \u202e \x9b2J | <b> "q", \n`x`\\ \0'


def result(*columns: tuple[str, str, str, tuple[Cell, ...]], truncated: bool = False) -> QueryResult:
    heads = tuple(Column(name, kind, form) for name, kind, form, _ in columns)
    return QueryResult(heads, tuple(zip(*(cells for *_, cells in columns), strict=True)), truncated, 0.1)


MIXED = result(
    ("n", "HUGEINT", "int", (2**100, -1, None)),
    ("f", "DOUBLE", "float", (math.nan, -math.inf, 1e-300)),
    ("d", "DECIMAL(20,10)", "decimal", (Decimal("1.5000000000"), Decimal("0E-10"), None)),
    ("s", "VARCHAR", "text", (EVIL, "", None)),
    ("x", "BLOB", "blob", (b"\x00\xff", b"", None)),
    ("b", "BOOLEAN", "bool", (True, False, None)),
    ("j", "STRUCT(a DOUBLE[])", "json", ({"a": [math.inf, Decimal("0.10")]}, {EVIL: EVIL}, None)),
    ("l", "FLOAT[2]", "json", ([Decimal("1.5"), Decimal("NaN")], [None, 2], None)),
)


def text(of: QueryResult, format_: str, **more: bool) -> str:
    return "".join(render(of, format_, Style(width=60), **more))


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("format_", ["json", "jsonl"])
def test_json_is_json_and_exact(format_: str) -> None:
    written = text(MIXED, format_)
    parts = [written] if format_ == "json" else written.splitlines()
    documents = [json.loads(part, parse_constant=refuse, parse_float=Decimal) for part in parts]
    rows = documents[0] if format_ == "json" else documents
    assert [row["n"] for row in rows] == [2**100, -1, None]
    assert [row["f"] for row in rows] == ["NaN", "-Infinity", Decimal("1e-300")]
    assert str(rows[0]["d"]) == "1.5000000000" and rows[1]["d"] == 0
    assert [row["s"] for row in rows] == [EVIL, "", None]
    assert [row["x"] for row in rows] == ["\\x00ff", "\\x", None]
    assert [row["j"] for row in rows] == [{"a": ["Infinity", Decimal("0.10")]}, {EVIL: EVIL}, None]
    assert rows[0]["l"] == [Decimal("1.5"), "NaN"]


def test_large_exponents_stay_exponents() -> None:
    of = result(("j", "JSON", "json", (Decimal("1e999999999"), [Decimal("1e-999999999")])))
    assert text(of, "csv") == "j\n1E+999999999\n[1E-999999999]\n"
    assert text(of, "jsonl") == '{"j": 1E+999999999}\n{"j": [1E-999999999]}\n'


def test_csv_is_csv() -> None:
    header, *rows = csv.reader(io.StringIO(text(MIXED, "csv"), newline=""))
    assert header == ["n", "f", "d", "s", "x", "b", "j", "l"]
    assert rows[0][:6] == [str(2**100), "NaN", "1.5000000000", EVIL, "\\x00ff", "true"]
    assert rows[1][2] == "0.0000000000"
    assert json.loads(rows[0][6]) == {"a": ["Infinity", 0.10]}
    assert rows[2] == ["", "1e-300", "", "", "", "", "", ""]
    last_but_one = text(result(("s", "VARCHAR", "text", ("", None))), "csv")
    assert last_but_one == 's\n""\n\n'  # an empty string is not NULL


@pytest.mark.parametrize("format_", FORMATS)
def test_no_format_steers_a_terminal(format_: str) -> None:
    named = QueryResult((Column(EVIL, "VARCHAR", "text"),), ((EVIL,),), False, 0.0)
    for of in (MIXED, named):
        written = text(of, format_, visible=True)
        assert all(c.isprintable() or c == "\n" for c in written)
    assert "owned" in text(named, format_)


def test_markdown_keeps_its_cells() -> None:
    lines = text(MIXED, "markdown").splitlines()
    assert len(lines) == 5
    assert lines[1] == "| ---: | ---: | ---: | --- | --- | --- | --- | --- |"
    bare = lines[2].replace("\\\\", "").replace("\\|", "")
    assert bare.count("|") == 9 and "\\<b\\>" in lines[2]


def test_a_table_fits_the_terminal() -> None:
    wide = result(
        ("id", "INTEGER", "int", (1, 22)),
        ("name", "VARCHAR", "text", ("short", "宽" * 50)),
        ("more", "VARCHAR", "text", ("x" * 90, None)),
    )
    lines = text(wide, "table", fit=True).splitlines()
    assert max(map(cell_len, lines)) <= 60
    assert lines[0].split() == ["id", "name", "more"]
    assert lines[2].startswith(" 1  short ") and lines[2].endswith("x…")
    assert "…" in lines[3] and lines[3].endswith("NULL")
    full = text(wide, "table")
    assert "x" * 90 in full and "宽" * 50 in full and "…" not in full


def test_a_table_leaves_out_what_does_not_fit() -> None:
    many = result(*((f"column{k}", "INTEGER", "int", (k,)) for k in range(20)))
    lines = text(many, "table", fit=True).splitlines()
    assert max(map(cell_len, lines)) <= 60
    assert lines[0].split() == [f"column{k}" for k in range(len(lines[0].split()))]
    assert lines[3].startswith(f"not shown: column{len(lines[0].split())}, ")


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_to_show(format_: str) -> None:
    empty = QueryResult((Column("a", "INTEGER", "int"),), (), False, 0.0)
    written = text(empty, format_)
    expected = {"table": "a\n─\n", "csv": "a\n", "json": "[]\n", "jsonl": "", "markdown": "| a |\n| ---: |\n"}
    assert written == expected[format_]


def test_parquet_keeps_types_and_values(tmp_path: Path) -> None:
    of = result(
        ("n", "HUGEINT", "int", (10**30, None)),
        ("big", "HUGEINT", "int", (2**127 - 1, -1)),
        ("f", "FLOAT", "float32", (0.1, math.nan)),
        ("d", "DECIMAL(20,10)", "decimal", (Decimal("0E-10"), None)),
        ('s"; --', "VARCHAR", "text", (EVIL.replace("\0", ""), "")),
        ("x", "BLOB", "blob", (b"\x00\xff", b"")),
        ("b", "BOOLEAN", "bool", (True, None)),
        ("t", "TIMESTAMP_NS", "text", ("2024-02-29 12:00:00.123456789", None)),
        ("l", "FLOAT[2]", "json", ([Decimal("1.5"), math.nan], None)),
        ("ll", "VARCHAR[][]", "json", ([["a,b", 'q"'], [], [None]], [])),
        ("j", "STRUCT(a DOUBLE)", "json", ({"a": math.inf}, None)),
        ("e", "ENUM('x', '''); DROP')", "text", ("x", None)),
    )
    path = tmp_path / "r.parquet"
    path.write_bytes(parquet_bytes(of))
    with duckdb.connect() as connection:
        kinds = dict(connection.execute(f"SELECT column_name, column_type FROM (DESCRIBE FROM '{path}')").fetchall())
        rows = connection.execute(f"SELECT * REPLACE (t::VARCHAR AS t) FROM '{path}'").fetchall()
    assert list(kinds.values()) == [
        *("DECIMAL(38,0)", "VARCHAR", "FLOAT", "DECIMAL(20,10)", "VARCHAR", "BLOB", "BOOLEAN"),
        *("TIMESTAMP_NS", "FLOAT[]", "VARCHAR[][]", "VARCHAR", "VARCHAR"),
    ]
    assert list(kinds)[4] == 's"; --'
    first, second = rows
    assert first[:2] == (10**30, str(2**127 - 1))
    assert first[2] == pytest.approx(0.1) and math.isnan(second[2])
    assert first[3:8] == (0, EVIL.replace("\0", ""), b"\x00\xff", True, "2024-02-29 12:00:00.123456789")
    assert first[8][0] == 1.5 and math.isnan(first[8][1])
    assert first[9:] == ([["a,b", 'q"'], [], [None]], '{"a": "Infinity"}', "x")
    assert second[4:] == ("", b"", None, None, None, [], None, None)


def test_parquet_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    path.write_bytes(parquet_bytes(QueryResult((Column("a", "INTEGER", "int"),), (), False, 0.0)))
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT count(*), count(a) FROM '{path}'").fetchall() == [(0, 0)]
