"""What `perfembed doctor` looks at beside the machine: what ships, and the database."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perfembed.cli.database import optional_database

if TYPE_CHECKING:
    from profilers.doctor import Check

_REINSTALL = "install perfembed again (pip install --force-reinstall): files that belong to it are not there"


def shipped_check() -> Check:
    """Whether the models and the donors of a fresh installation are there."""
    from perfembed.learning.cost_models import SHIPPED
    from perfembed.retrieval.donors import donor_shards
    from profilers.doctor import Check

    models, shards = sorted(SHIPPED.glob("*.safetensors")), donor_shards()
    found = f"{len(models)} models, {len(shards)} shards of donors"
    there = bool(models and shards)
    return Check("models and donors", there, found, None if there else _REINSTALL)


def database_check(environment: Mapping[str, str]) -> Check:
    """Whether there is a database, or can be one, and whether it can be used."""
    from optdb.database import Database
    from optdb.errors import OptdbError
    from profilers.doctor import Check

    name, elsewhere = "database", "set PERFEMBED_DB to a file in a folder that is writable"
    known = optional_database(None, environment)
    if known is None:
        return Check(name, False, "no place for one is known: what is measured is not kept", elsewhere)
    path = Path(known).absolute()
    if not path.exists():
        parent = next(folder for folder in path.parents if folder.exists())
        usable = parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)
        found = f"{path}, which the first run makes" if usable else f"{path} cannot be made: {parent} is not writable"
        return Check(name, usable, found, None if usable else elsewhere)
    try:
        with Database.open(path, read_only=True):
            pass
    except OptdbError as problem:
        return Check(name, False, problem.message, problem.advice or elsewhere)
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return Check(name, writable, f"{path}{'' if writable else ' is not writable'}", None if writable else elsewhere)
