"""`perfembed sql "SELECT …"`: asks the database anything; nothing a query says can change or reach anything else."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perfembed.cli.folders import database_error
from perfembed.cli.help import examples
from perfembed.cli.options import Given, takes
from perfembed.cli.session import Session
from perfembed.cli.texts import budget_seconds
from perfembed.errors import EXIT_DONE, EnvironmentMissing, PerfembedError, QueryStopped, UsageError
from perfembed.files import check_output, write_output
from perfembed.report.style import Style, table

if TYPE_CHECKING:
    from optdb.errors import OptdbError
    from optdb.safe_sql import QueryLimits, QueryResult
    from perfembed.report.style import Style

Format = Literal["table", "csv", "json", "jsonl", "markdown", "parquet"]
EXAMPLES = examples(
    "perfembed sql",
    "perfembed sql 'SELECT nest, speedup FROM best ORDER BY speedup DESC' --limit 20",
    "perfembed sql 'FROM runs' --format csv -o runs.csv",
)
_MEMORY = re.compile(r"(\d{1,16}(?:\.\d{1,3})?) ?(?:([KMGT])(i?B)?|B)?", re.ASCII | re.IGNORECASE)
_LEAST_MEMORY, _MOST_SQL = 16 << 20, 1 << 20
_PARAMETER = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
_SHARE_OF_RESULT = 16  # a result may take this part of the memory limit on its way: 64 MiB of 1 GiB
_MOST_LINE = 200


@takes("database")
def command(
    given: Given,
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="[SQL]", help="One query; - reads it from stdin; none lists the views.", show_default=False
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="The value of $NAME (repeatable).", show_default=False),
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", metavar="NAME", help="table, csv, json, jsonl, markdown or parquet.")
    ] = "table",
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="ROWS", help="Rows shown at most.")] = 10_000,
    time: Annotated[str, typer.Option("--time", metavar="TIME", help="How long the query may run: 10s, 2m.")] = "10s",
    memory: Annotated[str, typer.Option("--memory", metavar="SIZE", help="What it may use: 512MiB, 2GiB.")] = "1GiB",
) -> int:
    """Ask the database anything in SQL.

    The query runs in a process that can read the database and nothing else: no other file, no network, no
    setting, no Python, nothing to write. A parameter's value is a number, true, false, null or "text" as in
    JSON; anything else is text as it is.
    """
    given.session.json = format_ == "json"
    database = given.database_path()
    parameters = query_parameters(param)
    limits = _limits(limit, time, memory)
    if output is not None:
        _check_output(database, output)
    elif format_ == "parquet" and sys.stdout.isatty():
        raise UsageError("Parquet is binary: it is not written to a terminal", "use -o FILE, or redirect the output")

    from optdb.errors import OptdbError
    from optdb.safe_sql import describe_database, run_query

    text = None if query is None else _read_query(query)
    if text is None and parameters:
        raise UsageError("--param without a query")
    try:
        if text is None:
            result = describe_database(database, limits)
        else:
            result = run_query(database, text, parameters=parameters, limits=limits)
    except OptdbError as error:
        raise _as_ours(error, text or "") from None
    _write(result, format_, output, given.session, listing=text is None)
    if result.truncated:
        print(f"{limit:,} rows shown, there are more: --limit ROWS shows more", file=sys.stderr)
    return EXIT_DONE


def query_parameters(texts: list[str] | None) -> dict[str, object]:
    """`name=value` each: what reads as a number, true, false, null or a string of JSON is that. Raises UsageError."""
    found: dict[str, object] = {}
    for text in texts or ():
        match = _PARAMETER.fullmatch(text)
        if match is None:
            raise UsageError(f"--param {text!r}: expected NAME=VALUE, such as n=2000")
        if match[1] in found:
            raise UsageError(f"--param {match[1]} is given twice")
        try:
            value: object = json.loads(match[2])
        except (ValueError, RecursionError):
            value = match[2]
        found[match[1]] = match[2] if isinstance(value, list | dict) else value
    return found


def memory_bytes(text: str) -> int:
    """1073741824, 512MiB, 2GB, 1.5G (a G is a GiB). Raises UsageError."""
    value = 0
    if match := _MEMORY.fullmatch(text.strip()):
        base = 1000 if (match[3] or "").lower() == "b" else 1024
        value = int(float(match[1]) * base ** " kmgt".index((match[2] or " ").lower()))
    if not _LEAST_MEMORY <= value <= 1 << 50:
        raise UsageError(f"--memory {text!r}: expected a size such as 512MiB or 2GiB, at least 16MiB")
    return value


def _limits(rows: int, time: str, memory: str) -> QueryLimits:
    from optdb.safe_sql import QueryLimits

    if not 0 <= rows <= 1_000_000_000:
        raise UsageError(f"--limit {rows}: expected 0 to 1000000000")
    try:
        seconds = budget_seconds(time)
    except UsageError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise UsageError(f"--time {time!r}: expected a time such as 10s, 2m or 1h, at most a day")
    size = memory_bytes(memory)
    return QueryLimits(rows, seconds, size, max(1 << 20, size // _SHARE_OF_RESULT))


def _read_query(text: str) -> str:
    if text != "-":
        return text
    content = sys.stdin.buffer.read(_MOST_SQL + 1)
    if len(content) > _MOST_SQL:
        raise UsageError(f"the query on stdin is longer than {_MOST_SQL >> 20} MiB")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UsageError("the query on stdin is not UTF-8") from None


def _check_output(database: Path, output: str) -> None:
    """Refuses what could not be written, and the database's own files. Raises UsageError."""

    for own in (database, Path(f"{database}.wal")):
        if os.path.realpath(output) == os.path.realpath(own):
            raise UsageError(f"-o {output}: that is the database")
    check_output(os.devnull, output, in_place=False)


def _as_ours(error: OptdbError, query: str) -> PerfembedError:
    from optdb.safe_sql import QueryFailed
    from perfembed.report.query import terminal_safe

    if not isinstance(error, QueryFailed):
        return database_error(error)
    if error.kind == "system":
        return EnvironmentMissing(error.message, error.advice)
    if error.kind in ("time", "memory", "size", "crashed"):
        option = {"time": "--time", "memory": "--memory", "size": "--memory"}.get(error.kind)
        advice = f"ask for {'fewer rows or columns' if error.kind == 'size' else 'less'}, or raise {option}"
        return QueryStopped(error.message, advice if option else error.advice)
    if error.position is None:
        return UsageError(error.message, error.advice)
    line, column = error.position
    source = (query.splitlines() or [""])[min(line, len(query.splitlines()) or 1) - 1]
    excerpt = ""
    if len(source) <= _MOST_LINE:
        shown = terminal_safe(source[: column - 1])
        excerpt = f"{shown}{terminal_safe(source[column - 1 :])}\n{' ' * len(shown)}^\n"
    return UsageError(f"{line}:{column}: {error.message}", excerpt + error.advice)


def _write(result: QueryResult, format_: str, output: str | None, session: Session, *, listing: bool) -> None:
    from perfembed.report.query import render

    if format_ == "parquet":
        from perfembed.report.query import parquet_bytes

        content = parquet_bytes(result)
        if output is not None:
            write_output(output, content)
        else:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        return
    terminal = output is None and sys.stdout.isatty()
    color = output is None and session.color(sys.stdout)
    style = Style(color, shutil.get_terminal_size().columns if terminal else 100)
    if listing and format_ == "table":
        pieces = _listed(result, style)
    else:
        pieces = render(result, format_, style, fit=terminal, visible=terminal)
    if output is not None:
        write_output(output, "".join(pieces).encode())
    else:
        sys.stdout.writelines(pieces)


def _listed(result: QueryResult, style: Style) -> Iterator[str]:
    """Each view with what it is, and below it its columns."""
    from perfembed.report.query import terminal_safe

    views: dict[str, list[list[str]]] = {}
    comments: dict[str, str] = {}
    for row in result.rows:
        view, column, kind, comment = (terminal_safe(str(cell)) if cell is not None else "" for cell in row)
        views.setdefault(view, []).append([column, kind])
        comments[view] = comment
    for place, (view, columns) in enumerate(views.items()):
        head = style.paint(view, "bold") + (f": {comments[view]}" if comments[view] else "")
        yield ("\n" if place else "") + "\n".join([head, *table(columns)]) + "\n"
    if not views:
        yield "no views and no tables\n"
