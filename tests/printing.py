"""Results of campaigns and of evaluations as text and as JSON."""

from __future__ import annotations

import json
import math
import string
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Any

import typer

from optdb.errors import OptdbError
from perfembed.errors import PerfembedError
from perfembed.report.style import markdown_table, seconds, table, times

_PRIVATE = ("environment", "files")  # of records: what is not told
_UNSHOWN = (*_PRIVATE, "again", "written")  # of faults
_SHOWN = 20  # faults
_LINES = 14  # of what a fault says, the last ones


def say(text: str) -> None:
    """A line of progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def plain(value: object) -> Any:
    """What JSON has instead: of records and mappings objects, of a number that is none (NaN, an infinity) null.

    A record with a `text` of its own is that.
    """
    if callable(text := getattr(value, "text", None)):
        return text()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name not in _PRIVATE}
    if isinstance(value, Mapping):
        return {", ".join(name) if isinstance(name, tuple) else str(name): plain(item) for name, item in value.items()}
    if isinstance(value, Sequence | Set) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def as_json(result: object, **more: object) -> str:
    """A record, with more fields behind its own."""
    content = plain(result)
    return json.dumps({**content, **plain(more)} if more else content, indent=2, ensure_ascii=False)


class _Cells(string.Formatter):
    """Format strings over the attributes of a record; `!t` shows seconds, `!x` a ratio, and "-" what is not known."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return getattr(args[0], str(key))

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        match str(conversion):
            case "t":
                return seconds(value)
            case "x":
                return times(value)
            case _:
                return value

    def format_field(self, value: Any, format_spec: str) -> Any:
        return "-" if value is None else super().format_field(value, format_spec)


def cells(records: Iterable[object], columns: Mapping[str, str]) -> list[list[str]]:
    """The head and a row for each record. `columns`: head -> format string, such as "{low:.2f} to {high:.2f}"."""
    shown = _Cells()
    return [list(columns), *([shown.vformat(text, (one,), {}) for text in columns.values()] for one in records)]


def records(found: Iterable[object], columns: Mapping[str, str]) -> list[str]:
    """The lines of a table (`cells`)."""
    return table(cells(found, columns))


def rows_shown(rows: list[list[str]], markdown: bool) -> list[str]:
    return ["", *markdown_table(rows), ""] if markdown else table(rows)


def counts(found: Mapping[str, int], most: int | None = None) -> list[str]:
    """Largest first."""
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:most]
    return [f"{number:>10}  {name}" for name, number in ordered]


def verdict(met: bool) -> str:
    return "met" if met else "missed"


def fault(one: object, again: str) -> list[str]:
    """A record, field by field, with the command that shows it again."""
    assert is_dataclass(one)
    lines = [f"again: {again}"]
    for name, value in ((f.name, getattr(one, f.name)) for f in fields(one) if f.name not in _UNSHOWN):
        if value not in ("", (), None) and value is not False:
            text = "\n".join(map(str, value)) if isinstance(value, tuple) else str(plain(value))
            first, *others = text.rstrip("\n").split("\n")[-_LINES if name == "detail" else 0 :]
            lines += [f"{name}: {first}", *(f"  {line}" for line in others)]
    return ["", *(f"  {line}".rstrip() for line in lines)]


def faults(found: Sequence[tuple[object, str]], interrupted: bool = False) -> list[str]:
    """(record, command that shows it again) each, then how many."""
    lines = [line for one, again in found[:_SHOWN] for line in fault(one, again)]
    more = [f"… and {len(found) - _SHOWN} more; --json has them all"] if len(found) > _SHOWN else []
    return [*lines, *more, f"{'interrupted; ' if interrupted else ''}{len(found)} faults"]


def run(app: typer.Typer) -> None:
    """A command line: exit code 2 where it cannot be done."""
    try:
        app()
    except (PerfembedError, OptdbError) as problem:
        say(f"{problem.message}\n  {problem.advice}".rstrip())
        sys.exit(2)
