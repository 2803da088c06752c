"""Where this user's own files are kept, by the XDG base directory specification, and which database a command uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfembed.errors import DatabaseProblem, PerfembedError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from optdb.errors import OptdbError

DATABASE_NAME = "perfembed.duckdb"


def own_folder(environment: Mapping[str, str], variable: str, below_home: str) -> str | None:
    """Below the folder that a variable names, else below HOME; relative ones do not count. None: neither is known."""
    for base, below in ((environment.get(variable, ""), "perfembed"), (environment.get("HOME", ""), below_home)):
        if os.path.isabs(base):
            return os.path.join(base, below)
    return None


def data_folder(environment: Mapping[str, str]) -> str | None:
    """Of the database."""
    return own_folder(environment, "XDG_DATA_HOME", ".local/share/perfembed")


def cache_folder(environment: Mapping[str, str]) -> str | None:
    """Of results that are kept between runs."""
    return own_folder(environment, "XDG_CACHE_HOME", ".cache/perfembed")


def cache_path(environment: Mapping[str, str]) -> Path | None:
    """`cache_folder`, as a path."""
    from pathlib import Path

    folder = cache_folder(environment)
    return Path(folder) if folder is not None else None


def database_path(option: str | None, environment: Mapping[str, str]) -> Path:
    """What `--db` says, else PERFEMBED_DB, else a file below XDG_DATA_HOME or ~/.local/share. Raises UsageError."""
    from pathlib import Path  # the compiler wrapper starts without

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
