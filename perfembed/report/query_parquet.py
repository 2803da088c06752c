"""The result of an SQL query as a Parquet file."""

from __future__ import annotations

import re

from optdb.safe_sql import Cell, Column, QueryResult
from perfembed.report.query import cell_text, json_text
from profilers.scratch import scratch_folder

# The types that keep their name; a name that is not in here is never written into SQL.
_KEPT = re.compile(
    r"(?:BOOLEAN|U?(?:TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|VARCHAR|UUID|DATE|INTERVAL|TIME|TIMESTAMP|"
    r"TIMESTAMP_(?:S|MS|NS)|(?:TIME|TIMESTAMP) WITH TIME ZONE|DECIMAL\(\d{1,2},\s?\d{1,2}\))(?P<lists>(?:\[\d*\])*)",
    re.ASCII,
)
_MOST_DIGITS = 10**38


def parquet_bytes(result: QueryResult) -> bytes:
    """The rows as Parquet, zstd-compressed.

    Plain types and lists of them stay what they are. HUGEINT (what `sum` of integers gives) becomes DECIMAL(38, 0)
    where that holds every value; structs, maps, unions and JSON become JSON text, everything else its text.
    """
    import duckdb

    columns = ", ".join(f"'c{k}': '{_read_as(column)}'" for k, column in enumerate(result.columns))
    cells = ", ".join(
        f"{_expression(column, k, result)} AS {_quoted(column.name)}" for k, column in enumerate(result.columns)
    )
    with scratch_folder() as folder:
        rows, target = folder / "rows.jsonl", folder / "rows.parquet"
        with open(rows, "w", encoding="utf-8") as file:
            for row in result.rows:
                pairs = zip(result.columns, row, strict=True)
                file.write("{" + ",".join(f'"c{k}":{_json(c, cell)}' for k, (c, cell) in enumerate(pairs)) + "}\n")
        read = f"read_json({_text(str(rows))}, format='newline_delimited', columns={{{columns}}}, "
        read += f"maximum_object_size={max(1 << 24, rows.stat().st_size + 1)})"
        with duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"}) as connection:
            connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
            connection.execute(
                f"COPY (SELECT {cells} FROM {read}) TO {_text(str(target))} (FORMAT parquet, COMPRESSION zstd)"
            )
        return target.read_bytes()


def _read_as(column: Column) -> str:
    kept = _KEPT.fullmatch(column.type)
    return "VARCHAR" + "[]" * (kept["lists"].count("[") if kept else 0)


def _expression(column: Column, place: int, result: QueryResult) -> str:
    if _KEPT.fullmatch(column.type):
        return f"CAST(c{place} AS {column.type})"
    if column.form == "blob":
        return f"unhex(c{place})"
    if column.form == "int" and all(_fits(row[place]) for row in result.rows):
        return f"CAST(c{place} AS DECIMAL(38, 0))"
    return f"c{place}"


def _fits(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, int) and abs(cell) < _MOST_DIGITS)


def _json(column: Column, cell: Cell) -> str:
    """A cell for `read_json`: text, or for a list that stays one its elements."""
    if cell is None:
        return "null"
    if isinstance(cell, bytes):
        return f'"{cell.hex()}"'
    if isinstance(cell, list) and _KEPT.fullmatch(column.type):
        return json_text(cell)
    return json_text(cell_text(cell))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
