"""The JSON schemas that ship, one for each kind of document, in `schemas/` beside this file; and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from perfembed.errors import EXITS, UsageError
from perfembed.report.style import table

FOLDER = Path(__file__).with_name("schemas")
_SAME = {"generate": "programs"}  # commands whose documents have another's name


def schema_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def schema_text(name: str) -> str:
    """Of a document's kind, or of the command that prints it: "db info", "db-info". Raises UsageError."""
    wanted = "-".join(name.split())
    known = schema_names()
    if (found := _SAME.get(wanted, wanted)) not in known:
        raise UsageError(f"there is no schema {name!r}", f"there are {', '.join(known)}")
    return (FOLDER / f"{found}.json").read_text(encoding="utf-8")


def schema_list() -> list[list[str]]:
    """Each schema's name, and what prints such documents."""
    found = ((name, str(json.loads(schema_text(name))["description"])) for name in schema_names())
    return [[name, said.partition(". ")[0].rstrip(".").replace("`", "")] for name, said in found]


def render_exit_codes() -> str:
    """One row a code with its meaning."""
    return "\n".join(table([[str(code), meaning.replace("`", "")] for code, meaning in EXITS.items()], indent=0))
