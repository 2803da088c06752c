"""Kills `populate` at random moments and resumes it: is anything lost, measured twice, or different in the end?

Real processes, killed with all their descendants (SIGKILL). Spool files are kept by a hard link each, so that what was
acknowledged is known even after it was moved into the database.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from optdb.check import check
from optdb.database import Database
from optdb.records import MeasurementRecord, parse_record
from optdb.spool import SUFFIX, parse_line, spool_directory
from perfembed.errors import EnvironmentMissing
from perfembed.report.style import count, seconds
from profilers.lock import VARIABLE

_COMMAND = (sys.executable, "-c", "from perfembed.cli.main import run; run()", "populate")
_LEAST_S = 0.2
_LINK_S = 0.02
_EXAMPLES = 20
_IDENTITIES = {
    "sources": "SELECT source_id FROM _store.sources",
    "nests": "SELECT nest_id FROM _store.nests",
    "nests in sources": "SELECT nest_id, source_id, name FROM _store.occurrences",
    "schedules": "SELECT DISTINCT schedule_id FROM _store.measurements WHERE kind = 'search'",
    "search measurements": "SELECT measurement_id, evaluation >= 0, donor_nest_id FROM _store.measurements "
    "WHERE kind = 'search'",
    "runs": "SELECT run_id, seed, search, ended_at IS NOT NULL FROM _store.runs",
}

Content = dict[str, frozenset[tuple[object, ...]]]
"""What must be equal however often a run was interrupted: ids by kind."""


@dataclass(frozen=True, slots=True)
class PopulationBench:
    """`arguments`: of populate, without --db. `environment`: of the processes."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    kills: int = 20
    seed: int = 0
    folder: Path | None = None  # where the databases go; default: temporary


@dataclass(slots=True)
class PopulationResult:
    """`content`: of the undisturbed run, rows by kind. `acknowledged`: measurements in spools of killed runs."""

    kills: int = 0
    rounds: int = 0  # databases filled from nothing, with kills on the way
    content: dict[str, int] = field(default_factory=dict)
    acknowledged: int = 0
    lost: int = 0
    twice: int = 0
    differences: list[str] = field(default_factory=list)
    undisturbed_s: float = 0.0
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Nothing lost, nothing measured twice, the same in the end."""
        return not (self.lost or self.twice or self.differences)


def run_population(bench: PopulationBench, progress: Callable[[str], None]) -> PopulationResult:
    """Fills one database undisturbed and others with `bench.kills` kills in all. Raises EnvironmentMissing."""
    began = time.monotonic()
    result = PopulationResult()
    rng = random.Random(bench.seed)
    with tempfile.TemporaryDirectory(prefix="population-", dir=bench.folder, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            whole = _Round(bench, folder / "undisturbed")
            whole.finish()
            result.undisturbed_s = time.monotonic() - began
            expected = content(whole.database)
            result.content = {kind: len(rows) for kind, rows in expected.items()}
            progress(f"undisturbed: {_counts(result)} in {seconds(result.undisturbed_s)}")
            while result.kills < bench.kills:
                result.rounds += 1
                _round(bench, _Round(bench, folder / f"round-{result.rounds}"), rng, expected, result, progress)
        except KeyboardInterrupt:
            result.interrupted = True
    result.seconds = time.monotonic() - began
    return result


def _round(
    bench: PopulationBench,
    work: _Round,
    rng: random.Random,
    expected: Content,
    result: PopulationResult,
    progress: Callable[[str], None],
) -> None:
    """Kills until the run gets to its end, or all kills are done; then lets it end and compares."""
    mean = result.undisturbed_s / max(bench.kills, 1)
    while result.kills < bench.kills and work.killed_after(_LEAST_S + work.start_s + rng.uniform(0, 2 * mean)):
        result.kills += 1
        progress(f"kill {result.kills}: {count(len(work.acknowledged()), 'measurement')} acknowledged so far")
    work.finish()
    found, acknowledged = content(work.database), work.acknowledged()
    stored = measurements(work.database)
    result.acknowledged += len(acknowledged)
    result.lost += sum(identity not in stored for identity in acknowledged)
    result.twice += sum(times - 1 for times in acknowledged.values())
    problems = [*differences(expected, found), *inconsistencies(work.database)]
    result.differences += [f"round {result.rounds}: {problem}" for problem in problems][:_EXAMPLES]
    progress(f"round {result.rounds} is complete: {'as undisturbed' if not problems else problems[0]}")


def content(database: Path) -> Content:
    """Raises OptdbError."""
    with Database.open(database) as opened:
        return {kind: frozenset(map(tuple, opened.rows(sql))) for kind, sql in _IDENTITIES.items()}


def measurements(database: Path) -> frozenset[str]:
    """The ids of all measurements, confirmations included."""
    with Database.open(database) as opened:
        return frozenset(row[0] for row in opened.rows("SELECT measurement_id FROM _store.measurements"))


def differences(expected: Content, found: Content) -> list[str]:
    """What one has and the other has not."""
    lines = []
    for kind, rows in expected.items():
        for word, some in (("missing", rows - found[kind]), ("additional", found[kind] - rows)):
            if some:
                lines.append(f"{len(some)} {kind} {word}, such as {sorted(map(str, some))[0]}")
    return lines


def inconsistencies(database: Path) -> list[str]:
    """What `optdb.check` finds, and records that ingestion had to leave out though their lines were whole."""
    with Database.open(database) as opened:
        findings = [f"{f.table}: {f.problem} ({f.count})" for f in check(opened).findings]
        lost = opened.value("SELECT coalesce(sum(lost), 0) FROM _store.ingest_problems")
    return findings + ([f"{lost} records could not be read from spool files"] if lost else [])


class _Round:
    """One database, filled by one process after another."""

    def __init__(self, bench: PopulationBench, folder: Path) -> None:
        self.bench, self.folder = bench, folder
        self.database, self.kept, self.temporary = folder / "db.duckdb", folder / "kept", folder / "tmp"
        self.kept.mkdir(parents=True)
        self.temporary.mkdir()
        self.start_s = 0.0  # what it takes until the spool is there

    def finish(self) -> None:
        """Lets it end by itself."""
        with self._running() as process:
            code = process.wait()
        self._require(code)

    def killed_after(self, delay_s: float) -> bool:
        """Kills it and all its descendants after `delay_s`; False where it had ended before."""
        with self._running() as process:
            try:
                code = process.wait(delay_s)
            except subprocess.TimeoutExpired:
                return True  # killed as the block is left
        self._require(code)
        return False

    def acknowledged(self) -> Counter[str]:
        """How often each measurement's record was completely written to a spool, over all processes."""
        found: Counter[str] = Counter()
        for path in self.kept.iterdir():
            for text in path.read_bytes().split(b"\n")[:-1]:
                line = parse_line(text)
                if line is not None and line.kind == MeasurementRecord.KIND:
                    record = parse_record(line.kind, line.text)
                    assert isinstance(record, MeasurementRecord)
                    found[record.measurement_id] += 1
        return found

    @contextlib.contextmanager
    def _running(self) -> Iterator[subprocess.Popen[bytes]]:
        command = [*_COMMAND, *self.bench.arguments, "--db", str(self.database), "--quiet"]
        ended = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(ended,), daemon=True)
        watcher.start()
        with open(self.folder / "log", "ab") as log:
            environment = {**self.bench.environment, "TMPDIR": str(self.temporary), VARIABLE: str(self.temporary)}
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
            try:
                yield process
            finally:
                kill_tree(process.pid)
                process.wait()
                ended.set()
                watcher.join()

    def _watch(self, ended: threading.Event) -> None:
        spool, began = spool_directory(self.database), time.monotonic()
        while True:
            last = ended.is_set()  # look once more afterwards
            for path in spool.glob("*" + SUFFIX):
                self.start_s = self.start_s or time.monotonic() - began
                with contextlib.suppress(FileExistsError, FileNotFoundError):
                    os.link(path, self.kept / path.name)
            if last:
                return
            ended.wait(_LINK_S)

    def _require(self, code: int) -> None:
        if code:
            lines = (self.folder / "log").read_text(errors="replace").splitlines()
            raise EnvironmentMissing(f"populate ended with exit code {code}", "\n".join(lines[-3:]))


def kill_tree(pid: int) -> None:
    """SIGKILL to a process that is a session's leader and to everything it started, however it detached itself."""
    stopped: set[int] = set()
    while new := {pid, *descendants(pid)} - stopped:  # what is stopped starts nothing more
        for process in new:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGSTOP)
        stopped |= new
    for process in stopped:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def descendants(pid: int) -> set[int]:
    """Of a process, by /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                text = Path("/proc", entry, "stat").read_text(errors="replace")
                children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(entry))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        new = [child for child in children.get(waiting.pop(), []) if child not in found]
        found.update(new)
        waiting += new
    return found


def _counts(result: PopulationResult) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in result.content.items())
