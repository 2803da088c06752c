"""The result of an SQL query as text: table, CSV, JSON, JSON lines, Markdown.

One notation for all of them: NaN, Infinity and -Infinity for such floats (in JSON as strings: JSON has no such
numbers), bytes as \\x and hexadecimal digits, lists and structs as JSON, dates and times as DuckDB writes them,
integers and decimals with all their digits. NULL is empty in CSV (an empty string is ""), null in JSON, else NULL.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from optdb.safe_sql import Cell, Column, QueryResult
from perfembed.report.style import Style
from profilers.contained.scratch import scratch_folder

FORMATS = ("table", "csv", "json", "jsonl", "markdown")
_NUMBERS = frozenset(("int", "float", "float32", "decimal"))
_GAP = 2
_NARROWEST = 8  # a column is not cut below this, but left out
_QUOTED_IN_CSV = re.compile(r'[",\r\n]|^\s|\s$|^$')


def render(
    result: QueryResult, format_: str, style: Style, *, fit: bool = False, visible: bool = False
) -> Iterator[str]:
    """The pieces of the text.

    `fit`: a table gets no wider than `style.width`. `visible`: for a terminal: CSV, too, escapes control characters.
    """
    if format_ == "table":
        yield from _table(result, style, fit)
    elif format_ == "csv":
        yield from _csv(result, terminal_safe if visible else str)
    elif format_ == "markdown":
        yield from _markdown(result)
    elif format_ == "jsonl":
        yield from (f"{_object(result, row)}\n" for row in result.rows)
    else:
        yield "["
        for place, row in enumerate(result.rows):
            yield f"{',' if place else ''}\n  {_object(result, row)}"
        yield "\n]\n" if result.rows else "]\n"


def cell_text(cell: Cell) -> str:
    """A cell in the notation above; NULL for None."""
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return _float_text(cell)
    if isinstance(cell, Decimal):
        return _decimal_text(cell)
    if isinstance(cell, bytes):
        return f"\\x{cell.hex()}"
    if isinstance(cell, list | dict):
        return json_text(cell)
    return str(cell)


def json_text(cell: Cell) -> str:
    """A cell as valid JSON; characters that could steer a terminal are escaped, everything else stays as it is."""
    if isinstance(cell, float) and not math.isfinite(cell):
        return f'"{_float_text(cell)}"'
    if isinstance(cell, Decimal):
        return _decimal_text(cell) if cell.is_finite() else f'"{_decimal_text(cell)}"'
    if isinstance(cell, str | bytes):
        return _json_string(cell if isinstance(cell, str) else cell_text(cell))
    if isinstance(cell, list):
        return f"[{', '.join(map(json_text, cell))}]"
    if isinstance(cell, dict):
        return "{" + ", ".join(f"{_json_string(str(name))}: {json_text(value)}" for name, value in cell.items()) + "}"
    return json.dumps(cell)


def terminal_safe(text: str) -> str:
    """Without what could steer a terminal: escape sequences, bidirectional marks, line ends become visible escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _ESCAPES.get(c) or _escape(c) for c in text)


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _decimal_text(value: Decimal) -> str:
    """With all its digits; with an exponent where they would be many: JSON may hold 1e999999999."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        return _float_text(float(value))
    return format(value, "f") if -40 <= exponent <= 0 else str(value)


def _json_string(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    if written.isprintable():
        return written
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in written)


def _object(result: QueryResult, row: Sequence[Cell]) -> str:
    names = (_json_string(column.name) for column in result.columns)
    return "{" + ", ".join(f"{name}: {json_text(cell)}" for name, cell in zip(names, row, strict=True)) + "}"


def _csv(result: QueryResult, shown: Callable[[str], str]) -> Iterator[str]:
    def field(text: str) -> str:
        text = shown(text)
        return '"' + text.replace('"', '""') + '"' if _QUOTED_IN_CSV.search(text) else text

    yield ",".join(field(column.name) for column in result.columns) + "\n"
    for row in result.rows:
        yield ",".join("" if cell is None else field(cell_text(cell)) for cell in row) + "\n"


def _markdown(result: QueryResult) -> Iterator[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |\n"

    def safe(text: str) -> str:
        return re.sub(r"([\\|<>`*_\[\]&~#])", r"\\\1", terminal_safe(text))

    yield line([safe(column.name) for column in result.columns])
    yield line(["---:" if column.form in _NUMBERS else "---" for column in result.columns])
    yield from (line([safe(cell_text(cell)) for cell in row]) for row in result.rows)


def _table(result: QueryResult, style: Style, fit: bool) -> Iterator[str]:
    from rich.cells import cell_len, set_cell_size

    heads = [terminal_safe(column.name) for column in result.columns]
    rows = [[terminal_safe(cell_text(cell)) for cell in row] for row in result.rows]
    widths = [max(1, *map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    if fit:
        widths = _fitted(widths, style.width)
    right = [column.form in _NUMBERS for column in result.columns]

    def cut(text: str, width: int, to_the_right: bool) -> str:
        size = cell_len(text)
        if size > width:
            return set_cell_size(text, width - 1) + "…"
        return " " * (width - size) + text if to_the_right else text + " " * (width - size)

    def line(cells: Sequence[str]) -> str:
        shown = [cut(text, width, side) for text, width, side in zip(cells, widths, right, strict=False)]
        return (" " * _GAP).join(shown).rstrip()

    yield style.paint(line(heads), "bold") + "\n"
    yield style.paint((" " * _GAP).join("─" * width for width in widths), "dim") + "\n"
    for row in rows:
        yield line(row) + "\n"
    if len(widths) < len(heads):
        left_out = ", ".join(heads[len(widths) :])
        yield style.paint(cut(f"not shown: {left_out}", max(20, style.width), False).rstrip(), "dim") + "\n"


def _fitted(widths: list[int], available: int) -> list[int]:
    """The widest columns are cut to a common width; where that is too narrow, columns at the end are left out."""
    for shown in range(len(widths), 0, -1):
        room = available - _GAP * (shown - 1)
        some = widths[:shown]
        if sum(min(width, _NARROWEST) for width in some) > room and shown > 1:
            continue
        widest = max(some)
        while sum(min(width, widest) for width in some) > room and widest > _NARROWEST:
            widest -= 1
        return [min(width, widest) for width in some]
    return widths


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
