"""What a database has of nests, kept in a file of its own that is quickly read; made anew when the database changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profilers.build import CompilerConfig
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import nest_id

_VERSION = 1


@dataclass(frozen=True, slots=True)
class KnownSchedule:
    """A schedule under canonical names that was confirmed faster on a machine, as text out of a database."""

    schedule: str
    flags: tuple[str, ...]
    compiler: str
    speedup: float
    threads: int


Known = Mapping[str, Sequence[KnownSchedule]]
"""By nest id, the latest first."""


def known_schedules(database: Path, machine: Callable[[], str], cache: Path | None) -> Known:
    """Those of a machine, which is asked for where there are any. Raises OptdbError."""
    stamp = _stamp(database)
    kept = _kept(database, cache)
    content = _load(kept, stamp)
    if content is None:
        content = _read(database)
        if kept is not None and _stamp(database) == stamp:
            _store(kept, {"version": _VERSION, "stamp": stamp, "machines": content})
    found = content.get(machine(), {}) if content else {}
    return {nest: [KnownSchedule(row[0], tuple(row[1]), *row[2:]) for row in rows] for nest, rows in found.items()}


def _read(database: Path) -> dict[str, dict[str, list[list[Any]]]]:
    from optdb.confirmed import confirmed_schedules  # these here, not above: DuckDB takes a while
    from optdb.database import Database

    found: dict[str, dict[str, list[list[Any]]]] = {}
    with Database.open(database, read_only=True, wait_s=1.0) as opened:
        for row in confirmed_schedules(opened):
            kept = [row.schedule, list(row.flags), row.compiler, row.speedup, row.threads]
            found.setdefault(row.machine, {}).setdefault(row.nest_id, []).append(kept)
    return found


def _stamp(database: Path) -> list[list[int]]:
    """What changes when the database does."""
    found = []
    for path in (database, database.with_name(f"{database.name}.wal")):
        try:
            status = os.stat(path)
            found.append([status.st_ino, status.st_size, status.st_mtime_ns])
        except OSError:
            found.append([])
    return found


def _kept(database: Path, cache: Path | None) -> Path | None:
    if cache is None:
        return None
    return cache / f"known-{hashlib.sha256(os.fsencode(os.path.realpath(database))).hexdigest()[:16]}.json"


def _load(path: Path | None, stamp: list[list[int]]) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_bytes()) if path is not None else {}
        if content.get("version") == _VERSION and content.get("stamp") == stamp:
            return dict(content["machines"])
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        pass
    return None


def _store(path: Path, content: Mapping[str, object]) -> None:
    from profilers.contained.scratch import unfinished_file

    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished_file(path.parent) as unfinished:
            unfinished.write_text(json.dumps(content), encoding="utf-8")
            os.replace(unfinished, path)


Chosen = tuple[LoopNest, KnownSchedule]


def with_known_nests(
    path: str, content: bytes, compiler: CompilerConfig, known: Known
) -> tuple[SourceFile, tuple[Chosen, ...]]:
    """The file as it is read, and its nests for which there is a schedule. Raises FrontendError."""
    source = read_source(path, ParseOptions(arguments=compiler.flags, cc=compiler.cc), content)
    chosen = ((nest, _choose(known.get(nest_id(nest), ()), compiler)) for nest in source.nests)
    return source, tuple((nest, schedule) for nest, schedule in chosen if schedule is not None)


def _choose(known: Sequence[KnownSchedule], compiler: CompilerConfig) -> KnownSchedule | None:
    """The schedule that was confirmed last with such flags, by this compiler if there is one by it."""
    fitting = [one for one in known if kind_of_code(one.flags) == kind_of_code(compiler.flags)]
    name = os.path.basename(compiler.cc)
    return next((one for one in fitting if os.path.basename(one.compiler) == name), fitting[0] if fitting else None)


def kind_of_code(flags: Sequence[str]) -> tuple[str, frozenset[str]]:
    """The level of optimization and the options for the machine: schedules are good for one of these."""
    level = next((flag for flag in reversed(flags) if flag.startswith("-O")), "-O0")
    return {"-O": "-O1"}.get(level, level), frozenset(flag for flag in flags if flag.startswith("-m"))
