"""Any SQL query on a database, by anyone, without harm: one query, read-only, in a child that can only compute.

The child (`safe_sql_child`) opens the database, locks DuckDB's settings and then lets the kernel take files,
network and processes from it (`profilers.contained.confine`); this side limits time and size, and believes nothing it
reads.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from optdb.errors import Locked, MissingDatabase, NotADatabase, OptdbError, is_damage, translate
from optdb.locks import waiting_to_read
from optdb.safe_sql_failures import DEFAULT_LIMITS, START_S, QueryFailed, QueryLimits, death, failure, position_of
from optdb.safe_sql_process import Child, Ended

_PAUSE_S = 0.05  # between two looks whether a database is still locked
_GRACE_S = 0.3  # how long after the limit the child is given to say that it was interrupted
_MAX_SQL_BYTES = 1 << 20
_OF_THE_FILE = ("Data Corruption", "IO", "Serialization", "FATAL")  # errors that may be those of a damaged file
_DEEPEST = 100  # deeper JSON stays text: whoever walks it may recurse
_MAX_PARAMETERS_BYTES = 16 << 20

__all__ = ["Cell", "Column", "QueryFailed", "QueryLimits", "QueryResult", "describe_database", "run_query"]

Cell = None | bool | int | float | Decimal | str | bytes | list[Any] | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result. `form` says what its cells are: bool, int, float, float32, decimal, text, blob, json.

    Dates, times, intervals, UUIDs, enumerations, bit strings and BIGNUM are `text` in DuckDB's own notation (time zones
    in UTC). Lists, arrays, structs, maps, unions, VARIANT and JSON are `json`: Python lists and dicts.
    """

    name: str
    type: str
    form: str


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The first rows of a query's result; `truncated` where there were more. Columns have distinct names."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool
    seconds: float


def run_query(
    database: Path,
    sql: str,
    *,
    parameters: Sequence[object] | Mapping[str, object] = (),
    limits: QueryLimits = DEFAULT_LIMITS,
    wait_s: float = 10.0,
) -> QueryResult:
    """Runs one query on a database file and returns its first rows; waits so long while others write the file.

    A parameter (`?`, `$1` or `$name`) is None, a bool, int, float, Decimal, str, bytes, a date, time or datetime, or a
    list of those. Raises QueryFailed, and MissingDatabase, NotADatabase, Locked or another OptdbError where the
    database cannot be opened.
    """
    _check_limits(limits)
    request = _request(database, sql, parameters, limits)
    deadline = time.monotonic() + wait_s
    try:
        return _run(database, sql, request, limits)
    except Locked:
        if wait_s <= 0:
            raise
    with waiting_to_read(database):
        while True:
            try:
                return _run(database, sql, request, limits)
            except Locked:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE_S)


def _run(database: Path, sql: str, request: bytes, limits: QueryLimits) -> QueryResult:
    """Raises as `run_query`."""
    try:
        child = Child(request, limits.result_bytes + (1 << 20))
    except Ended as problem:
        raise QueryFailed("system", str(problem)) from None
    with child:
        ready = child.document(time.monotonic() + START_S)
        if ready is None:
            raise death(child, limits, None)
        if "failed" in ready:
            said = ready["failed"]
            raise translate(OptdbError(str(said.get("message", "")) if isinstance(said, dict) else ""), database)
        if not ready.get("ready"):
            advice = "it needs Linux 5.13 with Landlock, or seccomp on x86-64 or arm64"
            raise QueryFailed("system", "this system offers no way to contain a query", advice=advice)
        started = time.monotonic()
        try:
            columns, rows, truncated = _result(child, started + limits.seconds + _GRACE_S)
        except _Failure as problem:
            if problem.failed.get("type") in _OF_THE_FILE and is_damage(message := str(problem.failed.get("message"))):
                raise translate(OptdbError(message), database) from None
            raise failure(problem.failed, sql, limits, time.monotonic() - started) from None
        except (Ended, ValueError, KeyError, TypeError, IndexError, InvalidOperation, RecursionError, EOFError):
            raise death(child, limits, time.monotonic() - started) from None
        return QueryResult(columns, rows, truncated, time.monotonic() - started)


def describe_database(database: Path, limits: QueryLimits = DEFAULT_LIMITS) -> QueryResult:
    """The views of a database and their columns: view, column, type, what the view is (its comment).

    Tables of the main schema count, too: a database that is not ours may have no views. Raises like `run_query`.
    """
    sql = """
        SELECT r.name AS "view", c.column_name AS "column", c.data_type AS "type", r.comment AS "comment"
        FROM (SELECT database_name, schema_name, view_name AS name, comment FROM duckdb_views() WHERE NOT internal
              UNION ALL
              SELECT database_name, schema_name, table_name, comment FROM duckdb_tables() WHERE NOT internal) AS r
        JOIN duckdb_columns() AS c USING (database_name, schema_name)
        WHERE c.table_name = r.name AND database_name = current_database() AND schema_name = 'main'
        ORDER BY r.name, c.column_index"""
    return run_query(database, sql, limits=limits)


class _Failure(Exception):
    """The child said that the query failed."""

    def __init__(self, failed: dict[str, Any]) -> None:
        super().__init__()
        self.failed = failed


def _check_limits(limits: QueryLimits) -> None:
    if not 0 <= limits.rows <= 1_000_000_000:
        raise QueryFailed("parameter", f"a limit of {limits.rows} rows")
    if not 0 < limits.seconds <= 86_400:
        raise QueryFailed("parameter", f"a limit of {limits.seconds} seconds")
    if not 16 << 20 <= limits.memory_bytes <= 1 << 50:
        raise QueryFailed("parameter", f"a limit of {limits.memory_bytes} bytes of memory; at least 16 MiB are needed")


def _request(
    database: Path, sql: str, parameters: Sequence[object] | Mapping[str, object], limits: QueryLimits
) -> bytes:
    """What the child reads. Raises QueryFailed, MissingDatabase, NotADatabase."""
    path = Path(database).absolute()  # never a URL or one of DuckDB's special names
    if not path.exists():
        raise MissingDatabase(f"{database}: there is no such database")
    if not path.is_file():
        raise NotADatabase(f"{database}: not a DuckDB database")
    try:
        if len(sql.encode()) > _MAX_SQL_BYTES:
            raise QueryFailed("statement", f"the query is longer than {_MAX_SQL_BYTES >> 20} MiB")
        str(path).encode()
    except UnicodeEncodeError:
        raise QueryFailed("statement", "the query or the database's name is not valid UTF-8") from None
    if "\0" in sql:
        raise QueryFailed("syntax", "a NUL character in the query", position_of(sql, sql.index("\0")))
    values: object
    if isinstance(parameters, Mapping):
        values = {str(name): _parameter(value, str(name)) for name, value in parameters.items()}
    else:
        values = [_parameter(value, str(place)) for place, value in enumerate(parameters, 1)]
    request = {
        "parent": os.getpid(),
        "database": str(path),
        "sql": sql,
        "parameters": values,
        "rows": limits.rows,
        "seconds": limits.seconds,
        "memory_bytes": limits.memory_bytes,
        "result_bytes": limits.result_bytes,
    }
    text = json.dumps(request).encode()
    if len(text) > _MAX_PARAMETERS_BYTES + _MAX_SQL_BYTES:
        raise QueryFailed("parameter", f"the parameters are larger than {_MAX_PARAMETERS_BYTES >> 20} MiB")
    return text


def _parameter(value: object, name: str) -> list[object]:
    """A value as the child's JSON: what it is, and its text. Raises QueryFailed."""
    if value is None:
        return ["null", None]
    if isinstance(value, bool | float):
        return ["bool" if isinstance(value, bool) else "float", value]
    if isinstance(value, int):
        if not -(1 << 127) <= value < 1 << 128:
            raise QueryFailed("parameter", f"parameter {name}: an integer of more than 128 bits")
        return ["int", str(value)]
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise QueryFailed("parameter", f"parameter {name}: not valid Unicode") from None
        return ["text", value]
    if isinstance(value, bytes):
        return ["blob", base64.b64encode(value).decode()]
    if isinstance(value, Decimal):
        return ["decimal", str(value)]
    for kind, tag in ((datetime, "datetime"), (date, "date"), (time_of_day, "time")):
        if isinstance(value, kind):
            return [tag, value.isoformat()]
    if isinstance(value, list | tuple):
        return ["list", [_parameter(item, name) for item in value]]
    raise QueryFailed("parameter", f"parameter {name}: values of type {type(value).__name__} cannot be passed")


def _result(child: Child, deadline: float) -> tuple[tuple[Column, ...], tuple[tuple[Cell, ...], ...], bool]:
    """Reads the answer. Raises _Failure (the child's own word), Ended, and ValueError and the like for nonsense."""
    head = json.loads(child.line(deadline))
    if "failed" in head:
        raise _Failure(dict(head["failed"]))
    columns = tuple(Column(str(c["name"]), str(c["type"]), str(c["form"])) for c in head["columns"])
    readers = [_READERS[column.form] for column in columns]
    rows: list[tuple[Cell, ...]] = []
    while True:
        found = json.loads(child.line(deadline))
        if isinstance(found, dict):
            if "failed" in found:
                raise _Failure(dict(found["failed"]))
            return columns, tuple(rows), found["truncated"] is True
        cells = zip(readers, found, strict=True)
        rows.append(tuple(None if cell is None else reader(cell) for reader, cell in cells))


def _exactly(kind: type[bool] | type[int] | type[float] | type[str]) -> Callable[[Any], Cell]:
    def reader(cell: Any) -> Cell:
        if type(cell) is not kind:
            raise ValueError(f"{kind.__name__} expected")
        found: bool | int | float | str = cell
        return found

    return reader


def _json_value(text: Any) -> Cell:
    """Numbers with a fraction become Decimals: their digits stay. What is too large or too deep stays text."""
    try:
        found: Cell = json.loads(text, parse_float=Decimal)
    except (ValueError, InvalidOperation, RecursionError):
        return str(text)
    return found if text.count("[") + text.count("{") <= _DEEPEST or _depth(found) <= _DEEPEST else str(text)


def _depth(value: Cell) -> int:
    """How many lists and dicts are inside each other."""
    level: list[Cell] = [value]
    for depth in itertools.count():
        inner = [item for item in level if isinstance(item, list | dict)]
        if not inner:
            return depth
        level = [child for item in inner for child in (item.values() if isinstance(item, dict) else item)]
    raise AssertionError


_READERS: Mapping[str, Callable[[Any], Cell]] = {
    "bool": _exactly(bool),
    "int": _exactly(int),
    "float": _exactly(float),
    "float32": float,  # from its shortest text: 0.1, not 0.10000000149011612
    "decimal": lambda text: Decimal(str(text)),
    "text": _exactly(str),
    "blob": lambda text: base64.b64decode(text, validate=True),
    "json": _json_value,
}
