"""`perfembed db …`: looks after the database: what is in it, is it whole, in and out, smaller.

Long, because it has one command beside the other.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli import db_add
from perfembed.cli.database import Database, database_error, database_path
from perfembed.cli.options import Json, Traceback
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_VERIFICATION, DatabaseProblem, UsageError

if TYPE_CHECKING:
    from optdb.database import Database as OpenDatabase
    from optdb.exchange import ExchangeReport
    from perfembed.report.style import Style

JSON_LINES = ".jsonl"

app = typer.Typer(
    help="Look after the database: what is in it, is it whole; add, merge, export, import, prune, compact.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.command("info")
def info(context: typer.Context, db: Database = None, json: Json = False, traceback: Traceback = False) -> int:
    """Show what is in the database.

    Its size and version, machines, rows by table, measurements by outcome, algorithms, what waits in the spool,
    and the last runs.
    """
    from perfembed.report.database_info import database_info, info_document, render_info

    with _reading(_path(context, db)) as database:
        found = database_info(database)
    print(info_document(found) if json else render_info(found, _style(context)))
    return EXIT_DONE


@app.command("check")
def check(context: typer.Context, db: Database = None, json: Json = False, traceback: Traceback = False) -> int:
    """Read everything and check that it fits together.

    Every block, every id against its text, every reference, every derived time. Ends with exit code 1 where
    something does not fit.
    """
    from optdb.check import check as check_database
    from perfembed.report.database import check_document, render_check

    path = _path(context, db)
    with _reading(path) as database:
        report = check_database(database)
    print(check_document(str(path), report) if json else render_check(str(path), report, _style(context)))
    return EXIT_DONE if report.consistent else EXIT_VERIFICATION


@app.command("merge")
def merge(
    context: typer.Context,
    others: Annotated[list[str], typer.Argument(metavar="OTHER...", help="Databases to take in.", show_default=False)],
    db: Database = None,
    json: Json = False,
    traceback: Traceback = False,
) -> int:
    """Take in everything that other databases and their spools hold; they are only read.

    What is known already stays as it is, so merging twice changes nothing, and machines are never mixed. The
    other databases are not trusted: every record is checked, and what does not fit is refused and reported (exit
    code 1).
    """
    from optdb.exchange import merge as merge_database
    from optdb.spool import spool_directory

    path = _path(context, db)
    for other in others:
        if not os.path.isfile(other) and not os.path.isdir(spool_directory(Path(other))):
            raise UsageError(f"{other}: there is no such database")
        if os.path.exists(path) and os.path.exists(other) and path.samefile(other):
            raise UsageError(f"{other}: a database cannot be merged into itself")
    with _writing(path, create=True) as database:
        reports = [(other, merge_database(database, Path(other))) for other in others]
    return _taken_in("db merge", path, reports, context, json)


@app.command("import")
def import_(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="DIR|FILE.jsonl", help="An export.", show_default=False)],
    db: Database = None,
    json: Json = False,
    traceback: Traceback = False,
) -> int:
    """Take in what export wrote: a folder of Parquet files, or JSON lines.

    As with merge, twice is the same as once, nothing is trusted, and what is refused is reported (exit code 1).
    """
    from optdb.exchange import import_jsonl, import_parquet

    path, origin = _path(context, db), Path(source)
    if not os.path.exists(origin):
        raise UsageError(f"{source}: there is no such file or folder")
    if os.path.isdir(origin) and not any(origin.glob("*.parquet")):
        raise UsageError(f"{source}: holds no Parquet files", "give a folder that perfembed db export wrote")
    if not origin.is_dir() and origin.suffix != JSON_LINES:
        raise UsageError(f"{source}: neither a folder of Parquet files nor {JSON_LINES}", "db merge takes databases in")
    with _writing(path, create=True) as database:
        report = import_parquet(database, origin) if origin.is_dir() else import_jsonl(database, origin)
    return _taken_in("db import", path, [(source, report)], context, json)


@app.command("export")
def export(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="DIR|FILE.jsonl", help="Must not exist.", show_default=False)],
    db: Database = None,
    json: Json = False,
    traceback: Traceback = False,
) -> int:
    """Write everything as a folder of Parquet files, or as JSON lines; never over anything."""
    from optdb.exchange import export_jsonl, export_parquet
    from optdb.ingest import pending_bytes
    from optdb.spool import spool_directory
    from perfembed.report.database import export_document, render_export
    from perfembed.report.style import count

    path, where = _path(context, db), Path(target)
    if os.path.lexists(where):
        raise UsageError(f"{target}: exists already", "give a name that does not")
    if not os.path.isdir(where.absolute().parent):
        raise UsageError(f"{target}: the folder {where.absolute().parent} does not exist")
    with _translated():
        unsettled = os.path.exists(path) and pending_bytes(spool_directory(path)) > 0
    with _writing(path, create=False) if unsettled else _reading(path) as database:
        try:
            if where.suffix == JSON_LINES:
                number = export_jsonl(database, where)
                content, text = {"records": number}, f"{target}: {count(number, 'record')} written"
            else:
                rows = export_parquet(database, where)
                content, text = {"records": sum(n for _, n in rows), **dict(rows)}, render_export(target, rows)
        except OSError as problem:
            raise UsageError(f"{target}: cannot be written: {problem.strerror}") from None
    print(export_document(str(path), target, content) if json else text)
    return EXIT_DONE


@app.command("donors")
def donors(
    context: typer.Context,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="A new Parquet file.", show_default=False)],
    db: Database = None,
    traceback: Traceback = False,
) -> int:
    """Write the nests that have a verified schedule, with their fastest ones, as a shard of donors."""
    from optdb.errors import OptdbError
    from perfembed.retrieval.donors import export_donors

    try:
        count = export_donors(_path(context, db), output)
    except OptdbError as problem:
        raise database_error(problem) from None
    print(f"{count} donors in {output}")
    return EXIT_DONE


app.command("add")(db_add.command)


@app.command("prune")
def prune(
    context: typer.Context,
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="ID", help="Of this machine.", show_default=False)
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="Of before this date (UTC).", show_default=False)
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="ID", help="Of this run.", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go, as without --yes.")] = False,
    db: Database = None,
    json: Json = False,
    traceback: Traceback = False,
) -> int:
    """Show, and with --yes delete, measurements of a machine, of before a date, of a run: those that fit all.

    Schedules and conditions that no measurement needs any more go as well; nests stay.
    """
    from optdb.maintenance import prune as prune_database
    from perfembed.report.database import Choice, chosen, prune_document, render_prune

    if machine is None and before is None and run is None:
        raise UsageError("nothing is chosen", "give --machine, --before or --run")
    if yes and dry_run:
        raise UsageError("--yes and --dry-run exclude each other")
    path = _path(context, db)
    choice = Choice(machine, None if before is None else moment(before), run)
    with _writing(path, create=False) if yes else _reading(path) as database:
        _known(database, "machine", machine)
        _known(database, "run", run)
        found, total = chosen(database, choice)
        deleted = None
        if yes:
            deleted = prune_database(database, machine=machine, before=choice.before, run_id=run)
    print(prune_document(str(path), found, total, deleted) if json else render_prune(found, total, deleted))
    return EXIT_DONE


@app.command("compact")
def compact(context: typer.Context, db: Database = None, json: Json = False, traceback: Traceback = False) -> int:
    """Take in what waits in the spool, and write the file anew without its holes.

    The old file stays until the new one is whole and on the disk.
    """
    from optdb.maintenance import compact as compact_database
    from perfembed.report.database import CompactContent, render_compact
    from perfembed.report.documents import document

    path = _path(context, db)
    before = path.stat().st_size if os.path.isfile(path) else 0
    with _writing(path, create=False):
        pass
    with _translated():
        after = compact_database(path).after
    content = CompactContent(str(path), before, after)
    print(document("db compact", content) if json else render_compact(str(path), before, after))
    return EXIT_DONE


def moment(text: str) -> float:
    """2026-11-30, 2026-11-30T12:00, with +01:00 or else in UTC: seconds since 1970. Raises UsageError."""
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"--before {text!r}: expected a date such as 2026-11-30 or 2026-11-30T12:00") from None


# --------------------------------------------------------------------------------------------


def _path(context: typer.Context, db: str | None) -> Path:
    return database_path(db, context.ensure_object(Session).environment)


def _style(context: typer.Context) -> Style:
    from perfembed.report.style import Style

    return Style(context.ensure_object(Session).color(sys.stdout))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Turns the database's errors into those of a command."""
    from optdb.errors import OptdbError

    try:
        yield
    except OptdbError as error:
        raise database_error(error) from None


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[OpenDatabase]:
    from optdb.database import Database

    with _translated(), Database.open(path, read_only=True) as database:
        yield database


@contextlib.contextmanager
def _writing(path: Path, *, create: bool) -> Iterator[OpenDatabase]:
    """Open for writing, with everything in it that waited in the spool."""
    from optdb.database import Database
    from optdb.ingest import ingest
    from optdb.spool import spool_directory
    from perfembed.report.style import count

    if create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DatabaseProblem(f"{path.parent}: {problem.strerror}") from None
    with _translated(), Database.open(path, create=create) as database:
        report = ingest(database, spool_directory(path))
        if report.problems:
            lost = f"{count(report.lost, 'record')} lost" if report.lost else "nothing lost"
            _say(f"the spool holds damaged parts, {lost}: perfembed sql 'FROM ingest_problems'")
        yield database


def _known(database: OpenDatabase, what: str, wanted: str | None) -> None:
    """Raises UsageError for a machine or run that is not in the database."""
    if wanted is None:
        return
    column = {"machine": "machine", "run": "run_id"}[what]
    known = [row[0] for row in database.rows(f"SELECT {column} FROM {what}s ORDER BY 1")]
    if wanted not in known:
        listed = ", ".join(known[:5]) + (", …" if len(known) > 5 else "")
        raise UsageError(f"--{what} {wanted!r}: not in {database.path}", f"there is {listed}" if known else "")


def _taken_in(
    kind: str, path: Path, reports: list[tuple[str, ExchangeReport]], context: typer.Context, json: bool
) -> int:
    from perfembed.report.database import intake_document, render_intake

    if json:
        print(intake_document(kind, str(path), reports))
    else:
        style = _style(context)
        print("\n".join(render_intake(origin, report, style) for origin, report in reports))
    return EXIT_VERIFICATION if any(report.refused for _, report in reports) else EXIT_DONE
