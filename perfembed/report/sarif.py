"""Findings as SARIF 2.1.0 (OASIS), the form in which editors and code review take the results of analyses.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from perfembed.report.findings import Finding
from perfembed.report.style import printable

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "WORKINGFOLDER"
_RULES: dict[str, tuple[str, str, str, str]] = {  # id -> name, level, in short, help
    "refused": (
        "LoopRefused",
        "note",
        "A loop that cannot be tuned as it is written.",
        "The message says what is in the way and, in parentheses, how to write the loop so that it can be tuned. "
        "Until then it is left as it is.",
    ),
    "race": (
        "DataRace",
        "error",
        "An OpenMP pragma shares a loop whose iterations touch the same data.",
        "The message names two iterations that may run at the same time and touch one element, one of them writing it; "
        "where it says possible, the program's data decide. Add a private or reduction clause, protect the update "
        "(atomic, critical), or share another loop.",
    ),
    "missed-gain": (
        "MissedGain",
        "warning",
        "A loop for which a faster schedule was found, proved legal, measured and checked, but not written.",
        "Run perfembed tune on the file without --dry-run: it writes the faster file. The speedup holds for the "
        "machine, compiler and flags of the run.",
    ),
}


def sarif(findings: Sequence[Finding], path: str, content: bytes, folder: Path, version: str) -> str:
    """One run over the file `path`, which was read as `content`; URIs are relative to `folder`, where they can be."""
    rules = list(_RULES)
    run = {
        "tool": {
            "driver": {
                "name": "perfembed",
                "version": version,
                "semanticVersion": version,
                "rules": [_rule(name) for name in rules],
            }
        },
        "invocations": [{"executionSuccessful": True, "workingDirectory": {"uri": _folder_uri(folder)}}],
        "originalUriBaseIds": {_ROOT: {"uri": _folder_uri(folder)}},
        "artifacts": [{"location": _artifact(path, folder), "sourceLanguage": "c"}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, rules, content if f.file == path else b"", folder) for f in findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2)  # ASCII: nothing in it steers a terminal


def _rule(identity: str) -> dict[str, Any]:
    name, level, short, more = _RULES[identity]
    return {
        "id": identity,
        "name": name,
        "shortDescription": {"text": short},
        "fullDescription": {"text": f"{short} {more}"},
        "help": {"text": more},
        "defaultConfiguration": {"level": level},
    }


def _result(finding: Finding, rules: list[str], content: bytes, folder: Path) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(finding.file, folder),
            "region": _region(finding, content),
        }
    }
    if finding.function is not None:
        place["logicalLocations"] = [{"name": finding.function, "kind": "function"}]
    found: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": _RULES[finding.rule][1],
        "message": {"text": printable(finding.message)},
        "locations": [place],
    }
    if finding.speedup is not None:
        found["properties"] = {"speedup": finding.speedup, "schedule": finding.schedule}
    return found


def _region(finding: Finding, content: bytes) -> dict[str, int]:
    """From where the finding is to its end, or to that of its line: a nest is known by its head.

    Columns are counted in bytes here, in characters there; of a line that is not known they are what they are.
    """
    region = {"startLine": max(1, finding.line), "startColumn": max(1, finding.column)}
    lines = content.split(b"\n")
    if not 1 <= finding.line <= len(lines):
        return region
    line = lines[finding.line - 1].rstrip(b"\r")
    begin = sum(len(before) + 1 for before in lines[: finding.line - 1])
    start = finding.column - 1
    stop = len(line) if finding.end is None else min(len(line), finding.end - begin)
    region["startColumn"] = _characters(line[:start]) + 1
    region["endColumn"] = _characters(line[: max(start, stop)]) + 1
    return region


def _characters(text: bytes) -> int:
    return len(text.decode("utf-8", "replace"))


def _artifact(path: str, folder: Path) -> dict[str, str]:
    """Below the folder relative to it, as code review wants it, elsewhere the whole path."""
    whole = os.path.normpath(folder / path)
    if os.path.commonpath((whole, folder)) != str(folder):
        return {"uri": f"file://{quote(os.fsencode(whole))}"}
    return {"uri": quote(os.fsencode(os.path.relpath(whole, folder))), "uriBaseId": _ROOT}


def _folder_uri(folder: Path) -> str:
    return f"file://{quote(os.fsencode(folder)).rstrip('/')}/"
