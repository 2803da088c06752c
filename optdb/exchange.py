"""Taking data in and out: Parquet folders, JSON lines, other databases.

What comes in is foreign: it passes the same strict parsing as a spool, nests are parsed and their ids recomputed, and
what does not fit is left out and reported. Taking the same data in twice changes nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from optdb.codec import columns
from optdb.database import Database, replace_file
from optdb.errors import NotADatabase, OptdbError, RecordError, translate
from optdb.records import RECORDS, NestRecord, parse_record
from optdb.spool import SUFFIX, spool_directory
from optdb.spool_reader import Position, SpoolFile
from optdb.tables import TABLES, insert
from scheduler.errors import SchedulerError
from scheduler.ir.text import nest_id, parse_nest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BATCH = 20_000
_EXAMPLES = 20
_MAX_LINE = 16 << 20
_PART_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class ExchangeReport:
    """What was taken in: new records by kind, how many were known, how many refused, and why the first ones were."""

    stored: tuple[tuple[str, int], ...]
    known: int
    refused: int
    reasons: tuple[str, ...]


def export_parquet(database: Database, folder: Path) -> tuple[tuple[str, int], ...]:
    """Writes `folder`, which must not exist, with one Parquet file a kind of record; rows by kind. All or nothing."""
    if os.path.lexists(folder):
        raise OptdbError(f"{folder}: exists already", "give the name of a folder that does not")
    unfinished = folder.with_name(f".{uuid.uuid4().hex}.part")
    try:
        unfinished.mkdir(parents=True)
        counts = []
        for kind in TABLES:
            target = str(unfinished / f"{kind}.parquet").replace("'", "''")
            rows = database.rows(f"COPY ({_select(kind)} ORDER BY 1) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
            counts.append((kind, int(rows[0][0])))
        replace_file(unfinished, folder)
    except OSError as problem:
        raise translate(problem, folder) from problem
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return tuple(counts)


def import_parquet(database: Database, folder: Path) -> ExchangeReport:
    """Takes in what `export_parquet` wrote. Raises OptdbError where a file is none of ours or is damaged."""
    import duckdb

    if not os.path.isdir(folder):
        raise OptdbError(f"{folder}: not a folder of Parquet files")
    found = {kind: folder / f"{kind}.parquet" for kind in TABLES if (folder / f"{kind}.parquet").is_file()}
    if not found:
        raise OptdbError(f"{folder}: holds none of {', '.join(f'{kind}.parquet' for kind in TABLES)}")
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET enable_progress_bar = false")
        intake = _Intake(database)
        for kind, path in found.items():
            quoted = str(path).replace("'", "''").replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")
            intake.take(kind, _texts(connection, kind, f"read_parquet('{quoted}')", path))
    return intake.report()


def merge(database: Database, other: Path) -> ExchangeReport:
    """Takes in everything of another database, and what waits in its spool; both are only read and not trusted.

    A run that was killed leaves its last records in the spool; where it was killed early there may be a spool and no
    database yet. Whole records that are damaged or gone count as refused. Raises OptdbError.
    """
    if os.path.realpath(other) == os.path.realpath(database.path):
        raise OptdbError(f"{other}: a database cannot be merged into itself")
    intake = _Intake(database)
    spool = spool_directory(other)
    if os.path.isdir(spool) and not os.path.exists(other):
        _take_spool(intake, spool, {})
        return intake.report()
    with Database.open(other, read_only=True) as source:
        source.execute("SET enable_external_access = false")
        found = source.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = '_store'")
        tables = {name for (name,) in found}
        if missing := {t.split(".")[1] for t in (*TABLES.values(), "_store.spool_files")} - tables:
            raise NotADatabase(f"{other}: not an optimization database: it lacks {', '.join(sorted(missing))}")
        for kind in TABLES:
            intake.take(kind, _texts(source.connection, kind, f"({_select(kind)})", other))
        read = source.rows("SELECT file, byte_offset, next_sequence, closed FROM _store.spool_files")
        _take_spool(intake, spool, {file: Position(*position) for file, *position in read})  # nobody ingests meanwhile
    return intake.report()


def _take_spool(intake: _Intake, spool: Path, positions: dict[str, Position]) -> None:
    """What the files of a spool hold from the given positions on; they stay as they are."""
    try:
        paths = sorted(spool.glob("*" + SUFFIX)) if os.path.isdir(spool) else []
    except OSError as problem:
        raise translate(problem, spool) from problem
    for path in paths:
        file = SpoolFile(path)
        try:
            position = positions.get(path.name, Position())
            while True:
                chunk = file.read(position, _PART_BYTES)
                for kind, texts in chunk.texts.items():
                    intake.take(kind, texts)
                for found in chunk.problems:
                    if found.lost:
                        intake.refuse(f"{path.name}: line {found.line}: {found.reason}", found.lost)
                if chunk.last or chunk.after == position:
                    break
                position = chunk.after
        except RecordError as problem:  # a spool file of a later version
            intake.refuse(f"{problem.message}: {problem.advice}")
        finally:
            file.close()


def export_jsonl(database: Database, path: Path) -> int:
    """Writes every record as a line `{"kind": …, "record": {…}}`, all or nothing; how many there are."""
    unfinished = path.with_name(f".{uuid.uuid4().hex}.part")
    count = 0
    try:
        with open(unfinished, "w", encoding="utf-8", newline="\n") as file:
            for kind in TABLES:
                for text in _texts(database.connection, kind, f"({_select(kind)} ORDER BY 1)", database.path):
                    file.write(f'{{"kind":"{kind}","record":{text}}}\n')
                    count += 1
        replace_file(unfinished, path)
    except OSError as problem:
        raise translate(problem, path) from problem
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
    return count


def import_jsonl(database: Database, path: Path) -> ExchangeReport:
    """Takes in what `export_jsonl` wrote, in any order."""
    intake = _Intake(database)
    batches: dict[str, list[str]] = {}
    try:
        with open(path, "rb") as file:
            number = 0
            while line := file.readline(_MAX_LINE + 1):
                number += 1
                try:
                    kind, text = _jsonl(line)
                except RecordError as problem:
                    intake.refuse(f"line {number}: {problem.message}")
                    continue
                batch = batches.setdefault(kind, [])
                batch.append(text)
                if len(batch) >= _BATCH:
                    intake.take(kind, batches.pop(kind))
    except OSError as problem:
        raise translate(problem, path) from problem
    for kind, batch in batches.items():
        intake.take(kind, batch)
    return intake.report()


def _jsonl(line: bytes) -> tuple[str, str]:
    if len(line) > _MAX_LINE:
        raise RecordError("the line is too long")
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise RecordError(f"not JSON: {problem}") from None
    if not isinstance(document, dict) or set(document) != {"kind", "record"} or document["kind"] not in RECORDS:
        raise RecordError('expected {"kind": …, "record": {…}}')
    return document["kind"], json.dumps(document["record"], separators=(",", ":"))


class _Intake:
    """Foreign records on their way in."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.stored: Counter[str] = Counter()
        self.known = self.refused = 0
        self.reasons: list[str] = []

    def refuse(self, reason: str, records: int = 1) -> None:
        self.refused += records
        if len(self.reasons) < _EXAMPLES:
            self.reasons.append(reason[:300])

    def take(self, kind: str, texts: Iterable[str]) -> None:
        """Stores the good ones, a transaction a batch."""
        for batch in _batches(texts):
            good = [text for text in batch if self._good(kind, text)]
            with self.database.transaction():
                new = insert(self.database, kind, good)
            self.stored[kind] += new
            self.known += len(good) - new

    def _good(self, kind: str, text: str) -> bool:
        try:
            record = parse_record(kind, text)
            if isinstance(record, NestRecord) and nest_id(parse_nest(record.text)) != record.nest_id:
                raise RecordError(f"nest {record.nest_id}: the id is not that of the text")
        except (RecordError, SchedulerError, RecursionError) as problem:
            self.refuse(f"{kind}: {problem}")
            return False
        return True

    def report(self) -> ExchangeReport:
        self.database.checkpoint()
        stored = tuple((kind, self.stored[kind]) for kind in TABLES if self.stored[kind])
        return ExchangeReport(stored, self.known, self.refused, tuple(self.reasons))


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _select(kind: str) -> str:
    """All records of a kind as a query, its columns in the order of the record's fields."""
    names = ", ".join(name for name, _ in columns(RECORDS[kind]))
    if kind == "nest":
        return (
            "SELECT nest_id, normalized_id, source_id, o.name AS name, function, text, c_text, features "
            "FROM _store.occurrences o JOIN _store.nests n USING (nest_id)"
        )
    return f"SELECT {names} FROM {TABLES[kind]}"


def _texts(connection: DuckDBPyConnection, kind: str, relation: str, path: Path) -> Iterator[str]:
    """The rows of a relation as JSON texts, without anything that JSON would not give back. Raises OptdbError."""
    import duckdb

    names = [name for name, _ in columns(RECORDS[kind])]
    fields = ", ".join(f'"{name}" := "{name}"' for name in names)
    try:
        cursor = connection.cursor().execute(f"SELECT to_json(struct_pack({fields}))::VARCHAR FROM {relation}")
        while rows := cursor.fetchmany(_BATCH):
            for (text,) in rows:
                yield text
    except duckdb.Error as problem:
        raise translate(problem, path) from problem
