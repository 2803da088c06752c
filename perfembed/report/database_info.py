"""What is in a database: its size, its machines, how much of what, what waits to come in, who filled it last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from optdb.database import Database
from optdb.migrations import applied
from optdb.spool import END, HEADER, SUFFIX, parse_line, spool_directory
from optdb.tables import TABLES
from perfembed.report.documents import document, plain
from perfembed.report.style import Style, count, one_line, table

_RUNS = 5
_ALGORITHMS = 10  # shown; the document has them all
_COMMAND = 60
_TAKEN_IN_BY = "the next populate, tune or db prune --compact takes them in"


@dataclass(frozen=True, slots=True)
class MachineInfo:
    """A machine and how many measurements are of it."""

    machine: str
    cpu_model: str
    cores: int
    measurements: int


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run; times are seconds since 1970, `ended_at` None for one that goes on or was killed."""

    run_id: str
    command: str
    search: str
    seed: int
    started_at: float
    ended_at: float | None
    measurements: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """Records in the spool that no ingestion has stored yet."""

    records: int
    bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """`rows` by table, `algorithms` by nests, `outcomes` by measurements, `runs` the last ones, newest first."""

    path: str
    bytes: int
    log_bytes: int
    storage: str
    migrations: tuple[str, ...]
    machines: tuple[MachineInfo, ...]
    rows: tuple[tuple[str, int], ...]
    algorithms: tuple[tuple[str, int], ...]
    outcomes: tuple[tuple[str, int], ...]
    verified: int
    unfinished_runs: int
    lost: int  # records that came in damaged
    waiting: Waiting
    runs: tuple[RunInfo, ...]


def database_info(database: Database) -> DatabaseInfo:
    """Looks at everything but the rows themselves. Raises OptdbError."""
    log = database.path.with_name(database.path.name + ".wal")
    with database.translated():
        migrations = applied(database.connection)
        size, log_size = database.path.stat().st_size, log.stat().st_size if log.exists() else 0
    return DatabaseInfo(
        path=str(database.path),
        bytes=size,
        log_bytes=log_size,
        storage=database.value(
            "SELECT coalesce(tags['storage_version'], '') FROM duckdb_databases() "
            "WHERE database_name = current_database()"
        ),
        migrations=migrations,
        machines=tuple(MachineInfo(*row) for row in database.rows(_MACHINES)),
        rows=tuple((t.split(".")[1], database.value(f"SELECT count(*) FROM {t}")) for t in TABLES.values()),
        algorithms=tuple(database.rows(_ALGORITHM_ROWS)),
        outcomes=tuple(
            database.rows("SELECT outcome::VARCHAR, count(*) FROM _store.measurements GROUP BY 1 ORDER BY ALL")
        ),
        verified=database.value("SELECT count(*) FROM _store.measurements WHERE verified"),
        unfinished_runs=database.value("SELECT count(*) FROM _store.runs WHERE ended_at IS NULL"),
        lost=database.value("SELECT coalesce(sum(lost), 0)::BIGINT FROM _store.ingest_problems"),
        waiting=waiting(database),
        runs=tuple(RunInfo(*row) for row in database.rows(_RUN_ROWS, [_RUNS])),
    )


_MACHINES = """
    SELECT m.machine, m.cpu_model, m.physical_cores, count(r.measurement_id)
    FROM _store.machines m LEFT JOIN _store.conditions c USING (machine)
    LEFT JOIN _store.measurements r USING (conditions_id)
    GROUP BY ALL ORDER BY 4 DESC, 1
"""
_ALGORITHM_ROWS = """
    SELECT s.algorithm, count(DISTINCT o.nest_id) FROM _store.sources s LEFT JOIN _store.occurrences o USING (source_id)
    GROUP BY 1 ORDER BY 2 DESC, 1
"""
_RUN_ROWS = """
    SELECT r.run_id, r.command, r.search, r.seed, r.started_at, r.ended_at,
           (SELECT count(*) FROM _store.measurements m WHERE m.run_id = r.run_id)
    FROM (FROM _store.runs ORDER BY started_at DESC, run_id LIMIT ?) r ORDER BY r.started_at DESC, r.run_id
"""


def waiting(database: Database) -> Waiting:
    """Whole lines of the spool beyond what the database has read; files that vanish meanwhile are in it by then."""
    offsets = dict(database.rows("SELECT file, byte_offset FROM _store.spool_files"))
    records = size = files = 0
    with database.translated():
        for path in sorted(spool_directory(database.path).glob("*" + SUFFIX)):
            try:
                found, unread = _unread(path, offsets.get(path.name, 0))
            except FileNotFoundError:
                continue
            records, size, files = records + found, size + unread, files + (found > 0)
    return Waiting(records, size, files)


def _unread(path: Path, offset: int) -> tuple[int, int]:
    """Records and bytes from `offset` on; damaged lines are no records."""
    records = size = 0
    with open(path, "rb") as file:
        file.seek(offset)
        for line in file:
            size += len(line)
            found = parse_line(line[:-1]) if line.endswith(b"\n") else None
            records += found is not None and found.kind not in (HEADER, END)
    return records, size


def render_info(info: DatabaseInfo, style: Style) -> str:
    """About 25 lines."""
    w, log = info.waiting, f" and {bytes_text(info.log_bytes)} of log" if info.log_bytes else ""
    said = f"{count(w.records, 'record')} ({bytes_text(w.bytes)}) in {spool_directory(Path(info.path))}"
    head = [
        ["size", bytes_text(info.bytes) + log],
        ["schema", f"{info.migrations[-1]}, version {len(info.migrations)}; DuckDB storage {info.storage}"],
        ["waiting", f"{said}; {_TAKEN_IN_BY}" if w.records else "nothing"],
    ]
    if info.lost:
        head.append(["lost", f"{count(info.lost, 'record')} came in damaged: perfembed sql 'FROM ingest_problems'"])
    lines = [style.paint(one_line(info.path), "bold"), *table(head)]
    lines += _section("contents", [[name, f"{number:,}"] for name, number in info.rows if number], style)
    machines = [
        [m.machine, f"{m.cpu_model}, {count(m.cores, 'core')}", count(m.measurements, "measurement")]
        for m in info.machines
    ]
    lines += _section("machines", machines, style)
    outcomes = [[name, f"{number:,}" + _verified(name, info.verified)] for name, number in info.outcomes]
    lines += _section("measurements by outcome", outcomes, style)
    algorithms = [[name, count(number, "nest")] for name, number in info.algorithms[:_ALGORITHMS]]
    if (more := len(info.algorithms) - _ALGORITHMS) > 0:
        algorithms.append([f"… and {more} more", ""])
    lines += _section("algorithms", algorithms, style)
    total = dict(info.rows)["runs"]
    title = f"last of {count(total, 'run')}, {info.unfinished_runs} not ended" if total else "runs"
    lines += _section(title, [_run(run) for run in info.runs], style)
    return "\n".join(lines)


def _verified(outcome: str, verified: int) -> str:
    return f", {verified:,} verified" if outcome == "timed" else ""


def _section(title: str, rows: list[list[str]], style: Style) -> list[str]:
    if not rows:
        return []
    return [style.paint(title, "bold"), *table([[one_line(cell) for cell in row] for row in rows])]


def _run(run: RunInfo) -> list[str]:
    command = run.command if len(run.command) <= _COMMAND else run.command[: _COMMAND - 1] + "…"
    ended = "" if run.ended_at is not None else "not ended"
    search = f"{run.search}, seed {run.seed}"
    return [run.run_id, time_text(run.started_at), search, count(run.measurements, "measurement"), ended, command]


def time_text(at: float) -> str:
    """Seconds since 1970 as a date and a time in UTC; as they are where no calendar has them."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"{at:g} s"


def bytes_text(size: int) -> str:
    """940 B, 6 MiB, 1.3 GiB."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if value >= 100 or unit == "B" else f"{value:.3g} {unit}"


def info_document(info: DatabaseInfo) -> str:
    """Pairs as objects."""
    content = plain(info) | {name: dict(getattr(info, name)) for name in ("rows", "algorithms", "outcomes")}
    return document("db info", content)
