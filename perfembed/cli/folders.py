"""Where this user's own files are kept, by the XDG base directory specification."""

from __future__ import annotations

import os
from collections.abc import Mapping

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
