"""`perfembed db …`: looks after the database: what is in it, is it whole, in and out, smaller.

Long, because it has one command beside the other.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli import map as map_command
from perfembed.cli.folders import database_error
from perfembed.cli.help import DEVELOPERS, Command, Group, examples
from perfembed.cli.options import Given, takes
from perfembed.errors import EXIT_DONE, EXIT_VERIFICATION, DatabaseProblem, UsageError
from perfembed.report.style import Style, count

if TYPE_CHECKING:
    from optdb.database import Database as OpenDatabase
    from optdb.exchange import ExchangeReport
    from perfembed.report.style import Style

JSON_LINES = ".jsonl"

app = typer.Typer(
    cls=Group,
    help="Look after the database: what is in it, is it whole; import, export, prune; draw it.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.command("info", cls=Command)
@takes("database", "json")
def info(
    given: Given,
    check: Annotated[
        bool, typer.Option("--check", help="Read everything, and check that it fits together: blocks, ids, references.")
    ] = False,
) -> int:
    """Show what is in the database, or with --check whether it is whole.

    Its size and version, machines, rows by table, measurements by outcome, algorithms, what waits in the spool,
    and the last runs. --check reads every block, every id against its text, every reference, every derived time, and
    ends with exit code 1 where something does not fit.
    """
    path = given.database_path()
    if check:
        return _check(given, path)
    from perfembed.report.database_info import database_info, info_document, render_info

    with _reading(path) as database:
        found = database_info(database)
    print(info_document(found) if given.json else render_info(found, _style(given)))
    return EXIT_DONE


def _check(given: Given, path: Path) -> int:
    from optdb.check import check
    from perfembed.report.database import check_document, render_check

    with _reading(path) as database:
        report = check(database)
    print(check_document(str(path), report) if given.json else render_check(str(path), report, _style(given)))
    return EXIT_DONE if report.consistent else EXIT_VERIFICATION


_IMPORTS = examples("perfembed db import theirs.duckdb", "perfembed db import export/ --db new.duckdb")


@app.command("import", cls=Command, epilog=_IMPORTS)
@takes("database", "json")
def import_(
    given: Given,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...", help="Databases, folders of Parquet files, FILE.jsonl.", show_default=False
        ),
    ],
) -> int:
    """Take in everything that other databases and their spools hold, or what export wrote; they are only read.

    What is known already stays as it is, so that twice is the same as once, and machines are never mixed. Nothing is
    trusted: every record is checked, and what does not fit is refused and reported (exit code 1).
    """
    from perfembed.report.database import intake_document, render_intake

    path = given.database_path()
    readers = [_reader(path, source) for source in sources]
    with _writing(path, create=True) as database:
        reports = [(source, read(database, Path(source))) for source, read in zip(sources, readers, strict=True)]
    if given.json:
        print(intake_document(str(path), reports))
    else:
        print("\n".join(render_intake(origin, report, _style(given)) for origin, report in reports))
    return EXIT_VERIFICATION if any(report.refused for _, report in reports) else EXIT_DONE


def _reader(path: Path, source: str) -> Callable[[OpenDatabase, Path], ExchangeReport]:
    """What takes a source in, by what it is. Raises UsageError."""
    from optdb.exchange import import_jsonl, import_parquet, merge
    from optdb.spool import spool_directory

    if os.path.isdir(source):
        if not any(Path(source).glob("*.parquet")):
            raise UsageError(f"{source}: holds no Parquet files", "give a folder that perfembed db export wrote")
        return import_parquet
    if not os.path.isfile(source) and not os.path.isdir(spool_directory(Path(source))):
        raise UsageError(f"{source}: there is no such database, file or folder")
    if source.endswith(JSON_LINES):
        return import_jsonl
    if os.path.exists(path) and os.path.exists(source) and path.samefile(source):
        raise UsageError(f"{source}: a database cannot be taken into itself")
    return merge


@app.command("export", cls=Command)
@takes("database", "json")
def export(
    given: Given,
    target: Annotated[str, typer.Argument(metavar="DIR|FILE.jsonl", help="Must not exist.", show_default=False)],
) -> int:
    """Write everything as a folder of Parquet files, or as JSON lines; never over anything."""
    from optdb.exchange import export_jsonl, export_parquet
    from optdb.ingest import pending_bytes
    from optdb.spool import spool_directory
    from perfembed.report.database import export_document, render_export

    path, where = given.database_path(), Path(target)
    if os.path.lexists(where):
        raise UsageError(f"{target}: exists already", "give a name that does not")
    if not os.path.isdir(where.absolute().parent):
        raise UsageError(f"{target}: the folder {where.absolute().parent} does not exist")
    with translated():
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
    print(export_document(str(path), target, content) if given.json else text)
    return EXIT_DONE


@app.command("donors", cls=Command, rich_help_panel=DEVELOPERS)
@takes("database")
def donors(
    given: Given,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="A new Parquet file.", show_default=False)],
) -> int:
    """Write the nests that have a verified schedule, with their fastest ones, as a shard of donors."""
    from optdb.errors import OptdbError
    from perfembed.retrieval.donors import export_donors

    try:
        count = export_donors(given.database_path(), output)
    except OptdbError as problem:
        raise database_error(problem) from None
    print(f"{count} donors in {output}")
    return EXIT_DONE


app.command("map", cls=Command, epilog=map_command.EXAMPLES)(map_command.command)


_PRUNES = examples("perfembed db prune --before 2026-01-01 --yes --compact", "perfembed db prune --compact")


@app.command("prune", cls=Command, epilog=_PRUNES)
@takes("database", "json")
def prune(
    given: Given,
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="ID", help="Of this machine.", show_default=False)
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="Of before this date (UTC).", show_default=False)
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="ID", help="Of this run.", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go, as without --yes.")] = False,
    compact: Annotated[
        bool,
        typer.Option("--compact", help="Then take in what waits in the spool, and write the file anew without holes."),
    ] = False,
) -> int:
    """Show, and with --yes delete, measurements of a machine, of before a date, of a run: those that fit all.

    Schedules and conditions that no measurement needs any more go as well; nests stay. --compact makes the file
    smaller, also where nothing is chosen; the old file stays until the new one is whole and on the disk.
    """
    chosen = (machine, before, run) != (None, None, None)
    if not chosen and not compact:
        raise UsageError("nothing is chosen", "give --machine, --before or --run")
    if dry_run and (yes or compact):
        raise UsageError(f"--{'yes' if yes else 'compact'} and --dry-run exclude each other")
    if chosen and compact and not yes:
        raise UsageError("--compact goes with --yes, or alone")
    path = given.database_path()
    if chosen:
        _prune(given, path, machine, before, run, yes)
    if compact:
        _compact(given, path)
    return EXIT_DONE


def _prune(given: Given, path: Path, machine: str | None, before: str | None, run: str | None, yes: bool) -> None:
    from optdb.maintenance import prune as prune_database
    from perfembed.report.database import Choice, chosen, prune_document, render_prune

    choice = Choice(machine, None if before is None else moment(before), run)
    with _writing(path, create=False) if yes else _reading(path) as database:
        _known(database, "machine", machine)
        _known(database, "run", run)
        found, total = chosen(database, choice)
        deleted = None
        if yes:
            deleted = prune_database(database, machine=machine, before=choice.before, run_id=run)
    print(prune_document(str(path), found, total, deleted) if given.json else render_prune(found, total, deleted))


def _compact(given: Given, path: Path) -> None:
    from optdb.maintenance import compact as compact_database
    from perfembed.report.database import CompactContent, render_compact
    from perfembed.report.documents import document

    before = path.stat().st_size if os.path.isfile(path) else 0
    with _writing(path, create=False):
        pass
    with translated():
        after = compact_database(path).after
    content = CompactContent(str(path), before, after)
    print(document("db compact", content) if given.json else render_compact(str(path), before, after))


def moment(text: str) -> float:
    """2026-11-30, 2026-11-30T12:00, with +01:00 or else in UTC: seconds since 1970. Raises UsageError."""
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"--before {text!r}: expected a date such as 2026-11-30 or 2026-11-30T12:00") from None


# --------------------------------------------------------------------------------------------


def _style(given: Given) -> Style:

    return Style(given.session.color(sys.stdout))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turns the database's errors into those of a command."""
    from optdb.errors import OptdbError

    try:
        yield
    except OptdbError as error:
        raise database_error(error) from None


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[OpenDatabase]:
    from optdb.database import Database

    with translated(), Database.open(path, read_only=True) as database:
        yield database


@contextlib.contextmanager
def _writing(path: Path, *, create: bool) -> Iterator[OpenDatabase]:
    """Open for writing, with everything in it that waited in the spool."""
    from optdb.database import Database
    from optdb.ingest import ingest
    from optdb.spool import spool_directory

    if create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DatabaseProblem(f"{path.parent}: {problem.strerror}") from None
    with translated(), Database.open(path, create=create) as database:
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
