"""What was measured of a machine once: as one line of JSON, in a folder, one file for each machine and compiler."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from inspect import get_annotations
from pathlib import Path
from typing import Any, TypeVar

from profilers.contained.errors import ProfilersError
from profilers.contained.scratch import unfinished_file

_T = TypeVar("_T")
_PROBLEMS = (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError)


def to_line(record: Any, version: int) -> str:
    """One line; `from_line` gives an equal record back."""
    return json.dumps({"version": version, **asdict(record)}, separators=(",", ":"))


def from_line(text: str, version: int, what: str, make: Callable[[dict[str, Any]], _T]) -> _T:
    """The record that `make` makes of the fields. Raises ProfilersError for anything that `to_line` would not write."""
    try:
        document = json.loads(text)
        written = json.dumps(document, separators=(",", ":"))
        if document.pop("version") != version:
            raise ValueError(f"this program knows version {version}")
        found = make(document)
        if to_line(found, version) != written:
            raise ValueError("fields of other types, or in another order")
        return found
    except _PROBLEMS as problem:
        raise ProfilersError(f"not {what}: {' '.join(str(problem).split())[:200]}") from problem


def strict_record(cls: Callable[..., _T], document: dict[str, Any]) -> _T:
    """An instance whose fields have the very types they are declared with. Raises TypeError."""
    for name, declared in get_annotations(cls).items():
        if type(document[name]).__name__ != declared.partition("[")[0]:
            raise TypeError(f"{name} is no {declared}")
    return cls(**document)


def kept_at(folder: Path, kind: str, fingerprint: str, compiler: str, more: str = "") -> Path:
    """The file of a machine and a compiler (the first line of `cc --version`)."""
    text = compiler.encode("utf-8", errors="surrogateescape")
    return folder / f"{kind}-{fingerprint}-{hashlib.sha256(text).hexdigest()[:8]}{more}.json"


def load_kept(path: Path, read: Callable[[str], _T]) -> _T | None:
    """What was stored; None where there is nothing, or something damaged or foreign."""
    try:
        return read(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, ProfilersError):
        return None


def store_kept(path: Path, line: str, what: str) -> None:
    """Writes it all at once. Raises ProfilersError where that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished_file(path.parent) as unfinished:
            unfinished.write_text(line + "\n", encoding="utf-8")
            os.replace(unfinished, path)
    except OSError as problem:
        raise ProfilersError(f"cannot keep {what} in {path.parent}: {problem.strerror}") from problem
