"""Why a query gave no result, in one clear line, whatever the engine or the child said about it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from dataclasses import dataclass
from typing import Any

from optdb.errors import OptdbError
from optdb.safe_sql_process import Child

START_S = 30.0  # to start Python and open the file; a query's own limit counts from then on


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What one query may take: rows shown, seconds run, bytes of memory, bytes of its result on the way here."""

    rows: int = 10_000
    seconds: float = 10.0
    memory_bytes: int = 1 << 30
    result_bytes: int = 64 << 20


DEFAULT_LIMITS = QueryLimits()


class QueryFailed(OptdbError):
    """A query that gave no result.

    `kind` is one of: syntax, name (an unknown table, column or function, or wrong types), statement (not one query),
    parameter, refused (not allowed here), value (failed while it ran), time, memory, size (a limit ended it), crashed,
    system (this machine cannot contain it). `position` is (line, column) in the query, both from 1, where known.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        position: tuple[int, int] | None = None,
        advice: str = "",
        seconds: float = 0.0,
    ) -> None:
        super().__init__(message, advice)
        self.kind = kind
        self.position = position
        self.seconds = seconds


_KINDS = {
    "Parser": "syntax",
    "Syntax": "syntax",
    "Binder": "name",
    "Catalog": "name",
    "Statement": "statement",
    "Permission": "refused",
    "IO": "refused",
    "Invalid Configuration": "refused",
    "INTERRUPT": "time",
    "Interrupt": "time",
    "Out of Memory": "memory",
    "Too Large": "size",
}
# What DuckDB calls by the same name as any other invalid input.
_MARKS = {
    "parameter": ("excess parameters", "values were not provided", "count mismatch"),
    "refused": ("configuration has been locked", "read-only mode"),
    "memory": ("bad_alloc", "bad allocation"),
}

_ONLY_THIS = "a query can read what is in the database and nothing else"
_BETTER = {  # DuckDB's advice would not help here
    "LocalFileSystem has been disabled": "no file and no address can be reached from a query",
    "Please try installing and loading": "{before}",
    "Max expression depth limit": "the query is nested too deeply",
}


def position_of(sql: str, character: int) -> tuple[int, int]:
    """Line and column of a character, both from 1."""
    before = sql[:character]
    return before.count("\n") + 1, character - (before.rfind("\n") + 1) + 1


def failure(failed: dict[str, Any], sql: str, limits: QueryLimits, seconds: float) -> QueryFailed:
    """The child's description of a failure as an exception; every part of it may be anything."""
    message, advice = str(failed.get("message", "")), str(failed.get("hint") or "")
    kind = _KINDS.get(str(failed.get("type")), "value")
    if kind == "value":
        lower = message.lower()
        kind = next((name for name, marks in _MARKS.items() if any(mark in lower for mark in marks)), kind)
    elif message.startswith("Parameter/argument count mismatch"):
        kind = "parameter"
    if kind in ("time", "memory", "size"):
        return _limit_reached(kind, limits, seconds)
    text = sql.encode()
    place = failed.get("position")
    position = None
    if isinstance(place, int) and 0 <= place <= len(text):
        position = position_of(sql, len(text[:place].decode(errors="ignore")))
    message = " ".join(message.split())
    for mark, better in _BETTER.items():
        if mark in message:
            message, advice = better.format(before=message.partition(" Please try")[0]), advice or _ONLY_THIS
    relations = failed.get("relations")
    if isinstance(relations, list) and relations:
        advice = f"there is {', '.join(map(str, relations))}"
    return QueryFailed(kind, message, position, advice, seconds)


def _limit_reached(kind: str, limits: QueryLimits, seconds: float) -> QueryFailed:
    message = {
        "time": f"stopped after {limits.seconds:g} s",
        "memory": f"needed more than {limits.memory_bytes / (1 << 20):,.0f} MiB of memory",
        "size": f"the result is larger than {limits.result_bytes / (1 << 20):,.0f} MiB",
    }[kind]
    advice = "ask for fewer rows or columns" if kind == "size" else "ask for less, or raise the limit"
    return QueryFailed(kind, message, None, advice, seconds)


def death(child: Child, limits: QueryLimits, seconds: float | None) -> QueryFailed:
    """Why a child ended, or was ended, without an answer; `seconds` None: it had not begun with the query."""
    if seconds is None and child.timed_out:
        return QueryFailed("system", f"the database could not be opened within {START_S:g} s")
    if child.timed_out:
        return _limit_reached("time", limits, seconds or 0.0)
    if child.budget < 0:
        return _limit_reached("size", limits, seconds or 0.0)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.popen.wait(1.0)
    code = child.popen.returncode
    child.stop()
    errors = child.errors.decode(errors="replace")
    if any(mark in errors for mark in ("MemoryError", "bad_alloc")):
        return _limit_reached("memory", limits, seconds or 0.0)
    last = (errors.strip().splitlines() or ["no message"])[-1][:300]
    if code is not None and code < 0:
        what = f"signal {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"signal {-code}"
    else:
        what = last
    when = "while it opened the database" if seconds is None else "on this query"
    advice = "nothing else was affected" if seconds is not None else ""
    return QueryFailed("crashed", f"the database engine crashed {when}: {what}", None, advice, seconds or 0.0)
