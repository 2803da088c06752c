"""Kills writers, ingesters, migrations, compactions, creations at random moments: is all acknowledged there?"""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from optdb import queries
from optdb.check import check
from optdb.database import Database
from optdb.ingest import ingest
from optdb.maintenance import compact
from optdb.migrations import MIGRATIONS, Migration
from optdb.records import Record
from optdb.spool import SpoolWriter, spool_directory
from tests.campaigns.database.apart import Forked, Tell, apart
from tests.campaigns.database.synthetic import MACHINE, measurement, nest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PHASES = ("append", "ingest", "migrate", "compact", "create")
_GROUP = 20  # trials a database
_ENOUGH = 20  # failures
_PART_BYTES = 20_000
_NUMBERS = 1000  # records a trial may write


@dataclass(frozen=True, slots=True)
class KillsResult:
    """`killed`: by phase, children that were still at work when they were killed. `acknowledged`: records in all."""

    trials: int  # with those that had ended before they were to be killed
    killed: tuple[tuple[str, int], ...]
    acknowledged: int
    lost: int
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Always opened, nothing acknowledged lost, nothing twice, nothing changed."""
        return not self.failures and not self.lost


def kills(n: int, seed: int, folder: Path | None = None) -> KillsResult:
    """`n` kills of real processes (SIGKILL), a fresh database in `folder` (default: temporary) every 20 trials."""
    return apart(_kills, n, seed, folder)


def _kills(n: int, seed: int, folder: Path | None) -> KillsResult:
    import duckdb  # noqa: F401  before forking, not in every child

    rng = random.Random(seed)
    durations: dict[str, float] = {"append": 0.05}
    total = _Totals()
    trials = 0
    while total.killed.total() < n and len(total.failures) < _ENOUGH:
        with tempfile.TemporaryDirectory(prefix="kills-", dir=folder, ignore_cleanup_errors=True) as directory:
            group = _Group(Path(directory), rng, durations, total, trials)
            while group.trials < _GROUP and total.killed.total() < n:
                group.trial()
                trials += 1
            group.finish()
    return KillsResult(
        trials, tuple(sorted(total.killed.items())), total.acknowledged, total.lost, tuple(total.failures)
    )


@dataclass(slots=True)
class _Totals:
    killed: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost: int = 0
    failures: list[str] = field(default_factory=list)


class _Group:
    """One database and what it must hold."""

    def __init__(
        self, directory: Path, rng: random.Random, durations: dict[str, float], total: _Totals, first: int
    ) -> None:
        self.path, self.rng, self.durations, self.total = directory / "db.duckdb", rng, durations, total
        self.spool = spool_directory(self.path)
        self.first, self.trials = first, 0
        self.acknowledged: set[int] = set()
        self.extra = 0  # migrations added so far
        self.base = nest(first)

    def trial(self) -> None:
        self.trials += 1
        phase = "create" if self.trials == 1 else self.rng.choice(PHASES[:4])
        if phase in ("ingest", "create") or self.trials == 2:
            self._append(self.rng.randrange(20, 200), None)
        if phase == "append":
            self._append(_NUMBERS, self.rng.uniform(0, 1.2 * self.durations["append"]))
        else:
            self.extra += phase == "migrate"
            self._disturb(phase, {"ingest": self._ingest, "compact": self._compact}.get(phase, self._open))
        self._verify(whole=False)

    def finish(self) -> None:
        self._verify(whole=True)
        self.total.acknowledged += len(self.acknowledged)

    def _append(self, count: int, kill_after: float | None) -> None:
        """A writer of `count` records in random batches; what it acknowledged must be there from then on."""
        start, seed = (self.trials + 1) * _NUMBERS, self.rng.random()
        begun = not self.acknowledged

        def work(tell: Tell) -> None:
            rng, number = random.Random(seed), start
            _, found, conditions, run = self.base
            writer = SpoolWriter(self.spool)
            while number < start + count:
                records: list[Record] = [MACHINE, *self.base] if begun else []
                size = min(rng.randrange(1, 20), start + count - number)
                for i in range(number, number + size):
                    records += measurement(found, conditions, run, i)
                writer.append(records)
                tell(f"{number} {number + size}")
                number += size
            if rng.random() < 0.5:
                writer.close()

        child = Forked(work)
        ended = child.wait() if kill_after is None else child.kill(kill_after)
        self._note("append", ended.signal, ended.told)
        for line in ended.told:
            if not line.startswith("error"):
                low, high = map(int, line.split())
                self.acknowledged.update(range(low, high))

    def _disturb(self, phase: str, work: Callable[[], None]) -> None:
        def told(tell: Tell) -> None:
            work()

        if phase not in self.durations:  # once to its end, to know when to strike
            ended = Forked(told).wait()
            self.durations[phase] = ended.seconds
        else:
            ended = Forked(told).kill(self.rng.uniform(0, 1.2 * self.durations[phase]))
        self._note(phase, ended.signal, ended.told)

    def _note(self, phase: str, signal: int, told: tuple[str, ...]) -> None:
        self.total.killed[phase] += signal == 9
        if signal not in (0, 9):
            self._fail(f"{phase}: died of signal {signal}")
        for line in told:
            if line.startswith("error"):
                self._fail(f"{phase}: {line}")

    def _fail(self, text: str) -> None:
        self.total.failures.append(f"kill {self.first + self.trials}: {text}")

    def _open(self) -> None:
        Database.open(self.path, migrations=self._migrations()).close()

    def _ingest(self) -> None:
        with Database.open(self.path, migrations=self._migrations()) as database:
            ingest(database, self.spool, part_bytes=_PART_BYTES)

    def _compact(self) -> None:
        compact(self.path, migrations=self._migrations())

    def _migrations(self) -> tuple[Migration, ...]:
        return (*MIGRATIONS, *(_extra(number) for number in range(self.extra)))

    def _verify(self, whole: bool) -> None:
        """In a process of its own: does it open, and is all that was acknowledged in database or spool?

        Mostly the spool is ingested; else only what the database already holds is read, so that kills add up.
        """
        ingesting = whole or self.rng.random() < 0.6

        def work(tell: Tell) -> None:
            with Database.open(self.path, migrations=self._migrations()) as database:
                if ingesting:
                    ingest(database, self.spool)
                _, found, conditions, run = self.base
                stored = queries.measured(database, found.nest_id, conditions.conditions_id)
                numbers = [record.evaluation for record in stored.values()]
                wrong = [
                    r.evaluation for r in stored.values() if r != measurement(found, conditions, run, r.evaluation)[1]
                ]
                bad = [f.problem for f in check(database).findings] if whole else []
            missing = sorted(self.acknowledged - set(numbers)) if ingesting else []
            twice = len(numbers) - len(set(numbers))
            tell(json.dumps({"missing": missing, "twice": twice, "wrong": wrong, "inconsistent": bad}))

        ended = Forked(work).wait()
        if not ended.well or not ended.told or ended.told[-1].startswith("error"):
            self._fail(f"does not open: signal {ended.signal}, {ended.told[-1:]}")
            return
        found = json.loads(ended.told[-1])
        self.total.lost += len(found["missing"])
        if any(found.values()):
            self._fail(ended.told[-1][:300])


def _extra(number: int) -> Migration:
    """A migration that copies the measurements into a table of its own."""

    def migration(connection: DuckDBPyConnection) -> None:
        connection.execute(f"CREATE TABLE _store.extra_{number} AS FROM _store.measurements")
        if number:
            connection.execute(f"DROP TABLE _store.extra_{number - 1}")

    migration.__name__ = f"extra_{number}"
    return migration
