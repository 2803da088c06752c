"""Results as JSON documents. `schema_version` changes when a field is renamed, removed or changes its meaning."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from perfembed.errors import PerfembedError
from perfembed.tuning.result import TuneResult

SCHEMA_VERSION = 1


def document(kind: str, content: dict[str, Any]) -> str:
    """The text of a document: one JSON object with the version and the kind in front."""
    text = json.dumps({"schema_version": SCHEMA_VERSION, "kind": kind, **content}, indent=2, ensure_ascii=False)
    # Names and messages may hold what steers a terminal or is no text: that is escaped, other languages are not.
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def tune_document(result: TuneResult) -> str:
    return document("tune", asdict(result))


def error_document(error: PerfembedError) -> str:
    problem = {"exit_code": error.exit_code, "message": error.message, "advice": error.advice}
    return document("error", {"error": problem})
