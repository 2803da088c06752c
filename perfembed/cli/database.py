"""Which database a command works on, and how the command ends where that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.folders import DATABASE_NAME, data_folder
from perfembed.errors import DatabaseProblem, PerfembedError, UsageError

if TYPE_CHECKING:
    from optdb.errors import OptdbError

Database = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH",
        help="The database.  [default: PERFEMBED_DB, else ~/.local/share/perfembed/perfembed.duckdb]",
        show_default=False,
    ),
]


def database_path(option: str | None, environment: Mapping[str, str]) -> Path:
    """What `--db` says, else PERFEMBED_DB, else a file below XDG_DATA_HOME or ~/.local/share. Raises UsageError."""
    if option is not None and not option:
        raise UsageError("--db: the path is empty")
    if chosen := option or environment.get("PERFEMBED_DB"):
        return Path(chosen)
    if folder := data_folder(environment):
        return Path(folder) / DATABASE_NAME
    raise UsageError("no database is known", "give one with --db PATH, or set PERFEMBED_DB, XDG_DATA_HOME or HOME")


def optional_database(option: str | None, environment: Mapping[str, str]) -> str | None:
    """None where there is none and none was asked for."""
    try:
        return str(database_path(option, environment))
    except UsageError:
        if option is not None:
            raise
        return None


def database_error(error: OptdbError) -> PerfembedError:
    """What the database said, as a command ends with it: a path without one is wrong usage, the rest is exit code 7."""
    from optdb.errors import MissingDatabase

    if isinstance(error, MissingDatabase):
        return UsageError(error.message, error.advice or "give another with --db PATH or PERFEMBED_DB")
    return DatabaseProblem(error.message, error.advice)
