"""The child process of `optdb.safe_sql`: opens the database, gives up everything else, answers one query.

Standard input holds one JSON document (see `safe_sql._request`). Standard output gets one JSON document a line:
`{"ready": [...]}` once nothing but computing is left to do; then `{"failed": {...}}`, or `{"columns": [...]}`,
one array a row, and `{"truncated": ...}`. What a cell is, its column's `form` says: see `_FORMS`.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from typing import Any

from profilers.contained.confine import confine, hide, limit_memory, limit_resources
from profilers.contained.limits import die_with_parent

_BATCH = 64  # rows fetched at once
_OUTSIDE = "perfembed_result"  # a database of its own, in memory: SHOW TABLES does not list it
_TABLE = f"{_OUTSIDE}.main.rows"
_PREFIX = f"CREATE TABLE {_TABLE} AS SELECT * FROM (\n"
_ENGINE = 2 << 30  # address space an engine reserves without using it
_OVERHEAD = 256 << 20  # address space beyond DuckDB's own limit: its results in Python, allocator slack
# form -> how DuckDB hands a column out. Text is DuckDB's own; Python's datetime holds neither nanoseconds nor infinity.
_FORMS = {"bool": "{}", "int": "{}", "float": "{}", "text": "CAST({} AS VARCHAR)", "decimal": "CAST({} AS VARCHAR)"}
_FORMS |= {"float32": "CAST({} AS VARCHAR)", "blob": "{}", "json": "CAST(to_json({}) AS VARCHAR)"}
_INTEGERS = {f"{sign}{size}" for sign in ("", "u") for size in ("tinyint", "smallint", "integer", "bigint", "hugeint")}
_SIMPLE = {"boolean": "bool", "double": "float", "float": "float32", "blob": "blob", "decimal": "decimal"}
_NESTED = {"list", "array", "struct", "map", "union", "variant"}
_PARAMETERS: dict[str, Callable[[Any], object]] = {
    "null": lambda _: None,
    "bool": bool,
    "int": int,
    "float": float,
    "text": str,
    "blob": base64.b64decode,
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "list": lambda items: [_parameter(item) for item in items],
}


class _Refused(Exception):
    """A query this child does not run: kind, message, hint."""


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    hide()
    die_with_parent(request["parent"])
    try:
        connection = _open(request)
    except Exception as error:
        _say({"failed": {"stage": "open", **_described(error)}})
        _leave()
    start, over = threading.Event(), threading.Event()

    def interrupt() -> None:
        start.wait()
        if not over.wait(request["seconds"]):
            while not over.wait(0.05):  # one interrupt is lost where it falls between two statements
                connection.interrupt()

    threading.Thread(target=interrupt, daemon=True).start()
    limit_memory(request["memory_bytes"] + _OVERHEAD)
    limit_resources()
    means = confine()
    _say({"ready": means})
    if not means:
        _leave()
    start.set()
    try:
        _answer(connection, request)
    except _Refused as error:
        kind, message, hint = error.args
        _say({"failed": {"stage": "query", "type": kind, "message": message, "hint": hint}})
    except MemoryError:
        _say({"failed": {"stage": "query", "type": "Out of Memory", "message": "out of memory"}})
    except Exception as error:
        failed = _described(error, request.get("prefix", 0))
        over.set()
        _say({"failed": {"stage": "query", **failed, "relations": _relations(connection, failed)}})
    over.set()
    _leave()


def _open(request: dict[str, Any]) -> Any:
    """A connection that reads this one file, with every setting that opens a door shut and locked."""
    import duckdb

    limit_memory(request["memory_bytes"] + _ENGINE)  # a file may be hostile, too
    # No thread may exist that the kernel's limits were not laid on; DuckDB 2 has some for asynchronous input.
    single = {"threads": "1"} | ({"async_threads": "0"} if int(duckdb.__version__.partition(".")[0]) >= 2 else {})
    connection = duckdb.connect(
        request["database"],
        read_only=True,
        config={
            **single,  # besides, rows come in the same order every time
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "allow_unsigned_extensions": "false",
            "python_enable_replacements": "false",
            "memory_limit": f"{request['memory_bytes']}B",
            "temp_directory": "",
            "max_temp_directory_size": "0KB",
            "errors_as_json": "true",
        },
    )
    connection.execute(f"ATTACH ':memory:' AS {_OUTSIDE} (READ_WRITE)")
    for setting in (
        "enable_progress_bar = false",
        "TimeZone = 'UTC'",
        "disabled_filesystems = 'LocalFileSystem'",  # the database is open already
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


def _answer(connection: Any, request: dict[str, Any]) -> None:
    """Runs the query into a table of at most rows + 1 rows and sends that table."""
    query = _one_query(connection, request["sql"])
    parameters = request["parameters"]
    if isinstance(parameters, dict):
        values: Any = {name: _parameter(value) for name, value in parameters.items()}
    else:
        values = [_parameter(value) for value in parameters]
    limit = int(request["rows"])
    if query is None:  # EXPLAIN has no result that could be selected from
        rows = connection.execute(request["sql"], values or None).fetchall()
        connection.execute(f"CREATE TABLE {_TABLE} (explain_key VARCHAR, explain_value VARCHAR)")
        connection.executemany(f"INSERT INTO {_TABLE} VALUES (?, ?)", rows)
    else:
        request["prefix"] = len(_PREFIX)  # from here on, positions count it
        connection.execute(f"{_PREFIX}{query}\n) LIMIT {limit + 1}", values or None)
    table = connection.table(_TABLE)
    columns = [
        {"name": name, "type": str(kind), "form": _form(kind)}
        for name, kind in zip(table.columns, table.types, strict=True)
    ]
    _say({"columns": columns})
    budget = int(request["result_bytes"])
    for row in islice(_rows(connection, [column["form"] for column in columns]), limit):
        line = _line(row)
        budget -= len(line)
        if budget < 0:
            raise _Refused("Too Large", f"the result is larger than {request['result_bytes'] >> 20} MiB", "")
        sys.stdout.buffer.write(line)
    (total,) = connection.execute(f"SELECT count(*) FROM {_TABLE}").fetchone()
    _say({"truncated": total > limit})


def _one_query(connection: Any, sql: str) -> str | None:
    """The text of the one query, without what may follow its end; None for EXPLAIN. Raises _Refused."""
    import duckdb

    statements = connection.extract_statements(sql)
    if not statements:
        raise _Refused("Statement", "there is no query in this text", "")
    if len(statements) > 1:
        raise _Refused("Statement", f"{len(statements)} statements, one at a time can be run", "")
    try:
        kind = statements[0].type.name
    except ValueError:  # of a kind that DuckDB's Python module has no name for
        kind = "this"
    if kind == "EXPLAIN":
        return None
    if kind == "MULTI":
        hint = "name the columns of PIVOT: PIVOT t ON c IN ('a', 'b') USING …"
        raise _Refused("Statement", "PIVOT has to be told its columns here", hint)
    if kind != "SELECT":
        hint = "SELECT, FROM, WITH, VALUES, DESCRIBE, SHOW, SUMMARIZE and EXPLAIN can be run"
        raise _Refused("Statement", f"{kind.replace('_', ' ')} is not a query, and the database is only read", hint)
    text = sql.encode()
    end = len(text)
    for offset, token in reversed(duckdb.tokenize(sql)):
        if token != duckdb.token_type.comment and text[offset : offset + 1] != b";":
            break
        end = offset
    return text[:end].decode()


def _form(kind: Any) -> str:
    name = kind.id
    if name in _INTEGERS:
        return "int"
    if name in _NESTED or str(kind) == "JSON":
        return "json"
    return _SIMPLE.get(name, "text")


def _rows(connection: Any, forms: list[str]) -> Iterator[list[object]]:
    names = [f"c{place}" for place in range(len(forms))]
    cells = ", ".join(_FORMS[form].format(name) for name, form in zip(names, forms, strict=True))
    result = connection.execute(f"SELECT {cells} FROM {_TABLE} AS t({', '.join(names)})")
    while batch := result.fetchmany(_BATCH):
        for row in batch:
            yield [base64.b64encode(cell).decode() if isinstance(cell, bytes) else cell for cell in row]


def _parameter(value: list[Any]) -> object:
    return _PARAMETERS[value[0]](value[1])


def _described(error: Exception, prefix: int = 0) -> dict[str, object]:
    """DuckDB's error as its parts; the position is a byte of the user's text, which begins after the prefix."""
    text = str(error)
    try:
        parts = json.loads(text[text.index("{") :])
        message, kind = str(parts["exception_message"]), str(parts["exception_type"])
    except (ValueError, KeyError, TypeError):
        kind, _, message = text.partition(" Error: ") if " Error: " in text else (type(error).__name__, "", text)
        return {"type": kind, "message": message[:4000], "position": None}
    place = str(parts.get("position", ""))
    return {
        "type": kind,
        "message": message[:4000],
        "position": int(place) - prefix if place.isdigit() else None,
        "missing": str(parts.get("type", "")),
    }


def _relations(connection: Any, failed: dict[str, object]) -> list[str]:
    """What could have been meant by the name of a table that does not exist."""
    if failed.get("missing") != "Table":
        return []
    try:
        sql = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        views = connection.execute(sql).fetchall()
        sql = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL"
        return [str(name) for (name,) in views or connection.execute(sql).fetchall()][:100]
    except Exception:  # only the hint is lost: the query's own error is reported all the same
        return []


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _say(value: object) -> None:
    sys.stdout.buffer.write(_line(value))
    sys.stdout.buffer.flush()


def _leave() -> None:
    """Without the end of the interpreter and of DuckDB, which would want files."""
    sys.stdout.buffer.flush()
    os._exit(0)
