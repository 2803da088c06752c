"""Results as JSON documents. `schema_version` changes when a field is renamed, removed or changes its meaning.

What is in each of them is told by a JSON schema (`perfembed.report.documents`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from perfembed.errors import PerfembedError
from perfembed.tuning.result import TuneResult

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
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


SCHEMA_VERSION = 1


def document(kind: str, content: Mapping[str, object] | DataclassInstance) -> str:
    """The text of a document: one JSON object with the version and the kind in front.

    Records become objects; a number that is none (NaN, an infinity) becomes null: JSON has no such numbers.
    """
    return _text({"schema_version": SCHEMA_VERSION, "kind": kind, **plain(content)})


def _text(content: dict[str, Any]) -> str:
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    # Names and messages may hold what steers a terminal or is no text: that is escaped, other languages are not.
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def plain(value: object) -> Any:
    """What JSON has instead: of records and mappings objects, of sequences arrays."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def tune_document(result: TuneResult) -> str:
    return document("tune", result)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a command failed. `exit_code` is the command's, `advice` what helps, which may be nothing."""

    exit_code: int
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class ErrorContent:
    error: Problem


def error_document(error: PerfembedError) -> str:
    return document("error", ErrorContent(Problem(error.exit_code, error.message, error.advice)))
