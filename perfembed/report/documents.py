"""Results as JSON documents. `schema_version` changes when a field is renamed, removed or changes its meaning.

What is in each of them is told by a JSON schema (`perfembed.report.schema`).
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
