"""Cuts files and flips bits: the answers stay the same, or what is lost is reported, or the file is refused."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optdb.database import Database
from optdb.errors import OptdbError
from optdb.ingest import ingest
from optdb.spool import SpoolWriter, spool_directory
from optdb.tables import TABLES
from tests.campaigns.database.apart import Ended, Forked, Tell, apart
from tests.campaigns.database.synthetic import stream

TARGETS = ("spool", "database", "log")
VERDICTS = ("same", "reported", "refused")
_HEADERS = 3 * 4096  # of a DuckDB file
_KINDS = {**TABLES, "occurrence": "_store.occurrences"}


@dataclass(frozen=True, slots=True)
class DamageResult:
    """`verdicts`: how often each of (damage, target, verdict) came out; `failures`: silent wrong answers, crashes."""

    tried: int
    verdicts: tuple[tuple[str, str, str, int], ...]
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """No silent wrong answer, no crash, no error but our own."""
        return not self.failures


def damage(n: int, seed: int, folder: Path | None = None) -> DamageResult:
    """`n` cuts and `n` bit flips, in turns over spool files, the database file and its write-ahead log."""
    return apart(_damage, n, seed, folder)


def _damage(n: int, seed: int, folder: Path | None) -> DamageResult:
    import duckdb  # noqa: F401  before forking, not in every child

    rng = random.Random(seed)
    verdicts: Counter[tuple[str, str, str]] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="damage-", dir=folder, ignore_cleanup_errors=True) as directory:
        model, trial = Path(directory) / "model", Path(directory) / "trial"
        expected = _prepare(model)
        for number in range(2 * n):
            how, target = ("cut", "flip")[number % 2], TARGETS[number // 2 % 3]
            shutil.rmtree(trial, ignore_errors=True)
            shutil.copytree(model, trial)
            what = _harm(trial, how, target, rng)
            verdict = _judge(_look(trial).wait(), expected, target)
            if verdict in VERDICTS:
                verdicts[how, target, verdict] += 1
            else:
                failures.append(f"{how} of {what}: {verdict}")
    counted = tuple((*key, count) for key, count in sorted(verdicts.items()))
    return DamageResult(2 * n, counted, tuple(failures))


def _prepare(model: Path) -> dict[str, Any]:
    """A database with a part in its file and a part in its log, three spool files, and the answers they must give."""
    model.mkdir()
    path = model / "db.duckdb"
    spool = spool_directory(path)
    first, rest = list(stream(20, 10)), list(stream(10, 10, first=20))

    def build(tell: Tell) -> None:
        with Database.open(path) as database:
            with SpoolWriter(spool) as writer:
                writer.append(first)
            ingest(database, spool)

    def leave_a_log(tell: Tell) -> None:
        """Killed after the commit, before the checkpoint: the log holds what the spool still has, too."""
        with SpoolWriter(spool) as writer:
            writer.append(rest[:150])
        database = Database.open(path)
        database.checkpoint = lambda: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        ingest(database, spool)

    def spool_more(tell: Tell) -> None:
        with SpoolWriter(spool) as writer:
            writer.append(rest[150:200])
        SpoolWriter(spool).append(rest[200:])  # dies without closing

    for work in (build, leave_a_log, spool_more):
        ended = Forked(work).wait()
        if ended.told:
            raise OptdbError(f"cannot prepare: {ended.told[0]}")
    copy = model.with_name("expected")
    shutil.copytree(model, copy)
    ended = _look(copy).wait()
    shutil.rmtree(copy)
    answers: dict[str, Any] = json.loads(ended.told[-1])
    if len(answers["after"]) != len(first) + len(rest) - 1 + 30:  # the machine twice, an occurrence a nest
        raise OptdbError(f"cannot prepare: {ended.told[-1][:300]}")
    return answers


def _harm(trial: Path, how: str, target: str, rng: random.Random) -> str:
    """Damages one file; which and where. A quarter of the database's hits are in its headers."""
    if target == "spool":
        path = rng.choice(sorted(spool_directory(trial / "db.duckdb").iterdir(), key=lambda file: file.stat().st_size))
    else:
        path = trial / ("db.duckdb" if target == "database" else "db.duckdb.wal")
    content = bytearray(path.read_bytes())
    place = rng.randrange(_HEADERS if target == "database" and rng.random() < 0.25 else len(content))
    if how == "cut":
        del content[place:]
    else:
        content[place] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return f"{path.name} at {place}"


def _look(trial: Path) -> Forked:
    """What a reader sees, and what is there after ingestion: a digest of every row of every table."""
    path = trial / "db.duckdb"

    def work(tell: Tell) -> None:
        found: dict[str, Any] = {}
        try:
            with Database.open(path, read_only=True) as database:
                found["before"] = _rows(database)
            with Database.open(path) as database:
                report = ingest(database, spool_directory(path))
                found["after"] = _rows(database)
                found["problems"] = [(p.reason, p.lost) for p in report.problems]
        except OptdbError as problem:
            found["refused"] = f"{type(problem).__name__}: {problem.message}"
        tell(json.dumps(found))

    return Forked(work)


def _rows(database: Database) -> list[str]:
    """Digests of all rows, sorted."""
    digests = []
    for kind, table in _KINDS.items():
        for row in database.rows(f"FROM {table}"):
            digests.append(hashlib.sha256(repr((kind, row)).encode()).hexdigest()[:12])
    return sorted(digests)


def _judge(ended: Ended, expected: dict[str, Any], target: str) -> str:
    """A verdict, or what is wrong."""
    if not ended.well or not ended.told:
        return f"signal {ended.signal}, {' '.join(ended.told)[:300]}"
    found = json.loads(ended.told[-1])
    before = found.get("before")
    if before is not None and before != expected["before"] and not _is_earlier(before, expected, target):
        return "a reader sees other rows"
    if "refused" in found:
        named = found["refused"].split(":")[0]
        return "refused" if named != "OptdbError" else f"an error that was not foreseen: {found['refused'][:300]}"
    missing = Counter(expected["after"]) - Counter(found["after"])
    foreign = Counter(found["after"]) - Counter(expected["after"])
    if foreign:
        return f"{foreign.total()} rows that were never written"
    reported = [p for p in found["problems"] if p not in expected["problems"]]
    if missing:
        return "reported" if reported else f"{missing.total()} rows are missing and nobody says so"
    return "same"


def _is_earlier(before: list[str], expected: dict[str, Any], target: str) -> bool:
    """A damaged log may only take back what the spool still holds."""
    return target == "log" and not Counter(before) - Counter(expected["before"])
