"""From the spool into the database: every record exactly once, whatever dies when; what is damaged is reported.

Rows and the offset up to which a file was read change in one transaction. Files are deleted only once everything is
checkpointed into the database file itself, so that losing the write-ahead log loses nothing.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from optdb.database import Database, sync
from optdb.errors import RecordError, translate
from optdb.locks import reader_waits
from optdb.spool import SUFFIX, UNFINISHED
from optdb.spool_reader import Chunk, Position, Problem, SpoolFile
from optdb.tables import TABLES, insert

_PART_BYTES = 8 << 20
_RECORD_BYTES = 400  # about; how many records a transaction takes follows from it
_DAMAGED = ".damaged"
_GONE = "the file is gone, and it had not been read to its end"
_OLD_S = 3600.0
_TURN_S = 0.5  # how long readers wait at least, so that both get on


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one ingestion did. `stored` counts the new records by kind, `known` those that were there already."""

    stored: tuple[tuple[str, int], ...]
    known: int
    files_read: int
    files_deleted: int
    problems: tuple[Problem, ...]
    complete: bool  # every file was read

    @property
    def records(self) -> int:
        """New records of all kinds."""
        return sum(count for _, count in self.stored)

    @property
    def lost(self) -> int:
        """Records that could not be read, as far as their numbers tell."""
        return sum(problem.lost for problem in self.problems)


def ingest(
    database: Database, spool: Path, *, limit_s: float = math.inf, part_bytes: int = _PART_BYTES
) -> IngestReport:
    """Stores what waits in the folder `spool` and deletes the files of writers that have ended.

    Readers that wait for the file are let in meanwhile, about once a second (`Database.give_way`). After `limit_s`
    seconds no further part is begun, and the report says so: call again. A damaged file is not deleted but renamed to
    `….spool.damaged`. Raises OptdbError; what was stored until then stays.

    A file that vanishes after a part of it was read is reported; one that nobody ever read leaves no trace.
    """
    if not os.path.isdir(spool):
        return IngestReport((), 0, 0, 0, (), True)
    deadline = time.monotonic() + limit_s
    work = _Ingestion(database, spool, part_bytes, deadline)
    with database.translated():
        paths = sorted(spool.glob("*" + SUFFIX))
    work.forget_deleted()
    work.sweep()
    done, read = [], 0
    for path in paths:
        if read and time.monotonic() > deadline:
            break
        read += 1
        if work.read(path):
            done.append(path)
    work.store()
    if work.changed or done:
        database.checkpoint()
    return IngestReport(
        stored=tuple((kind, work.stored[kind]) for kind in TABLES if work.stored[kind]),
        known=work.known,
        files_read=read,
        files_deleted=work.delete(done),
        problems=tuple(work.problems),
        complete=read == len(paths) and not work.late,
    )


class _Ingestion:
    def __init__(self, database: Database, spool: Path, part_bytes: int, deadline: float) -> None:
        self.database, self.spool, self.part_bytes, self.deadline = database, spool, part_bytes, deadline
        self.late = False  # something was left for the next time
        self._turn = time.monotonic()
        self.stored: Counter[str] = Counter()
        self.known = 0
        self.problems: list[Problem] = []
        self.changed = False
        # read, and not yet stored
        self._texts: dict[str, list[str]] = {}
        self._found: list[Problem] = []
        self._positions: dict[str, Position] = {}

    def forget_deleted(self) -> None:
        """The offsets of files that are gone; reports those that went before they were read to their end."""
        for file, offset, line, done in self.database.rows("FROM _store.spool_files"):
            if os.path.exists(self.spool / file):
                continue
            with self.database.transaction():
                self.database.execute("DELETE FROM _store.spool_files WHERE file = ?", [file])
                if not done:
                    self._report([Problem(file, line, offset, _GONE, 0)])
            self.changed = True

    def sweep(self) -> None:
        """Removes what writers left that died before their file had its name: such files hold no record."""
        with self.database.translated():
            for path in self.spool.glob("*" + UNFINISHED):
                with contextlib.suppress(FileNotFoundError):  # it has its name now
                    if time.time() - path.stat().st_mtime > _OLD_S:
                        path.unlink()

    def read(self, path: Path) -> bool:
        """Reads everything new in a file, and stores it by and by; whether the file can go then."""
        file = SpoolFile(path)
        try:
            found = self.database.rows(
                "SELECT byte_offset, next_sequence, closed FROM _store.spool_files WHERE file = ?", [path.name]
            )
            position = Position(*found[0]) if found else Position()
            with ThreadPoolExecutor(1) as ahead:  # the next part is read while this one is stored
                reading = ahead.submit(file.read, position, self.part_bytes)
                while True:
                    try:
                        chunk = reading.result()
                    except RecordError as problem:  # of a later version: left alone
                        self.problems.append(Problem(path.name, 0, 0, f"{problem.message}: {problem.advice}", 0))
                        return False
                    end = chunk.last or chunk.after == position
                    if not end:
                        reading = ahead.submit(file.read, chunk.after, self.part_bytes)
                    if chunk.after != position or chunk.problems or chunk.last:
                        self._add(path.name, chunk)
                    if end:
                        return chunk.last
                    position = chunk.after
                    if time.monotonic() > self.deadline:
                        self.late = True
                        return False
        finally:
            file.close()

    def _add(self, file: str, chunk: Chunk) -> None:
        for kind, texts in chunk.texts.items():
            self._texts.setdefault(kind, []).extend(texts)
        self._found += chunk.problems
        self._positions[file] = replace(chunk.after, closed=chunk.after.closed or chunk.last)
        if sum(map(len, self._texts.values())) >= self.part_bytes // _RECORD_BYTES:
            self.store()
        if time.monotonic() - self._turn > _TURN_S and reader_waits(self.database.path):
            self.store()
            self.database.give_way()
            self._turn = time.monotonic()

    def store(self) -> None:
        """What was read and the positions up to which it was read, in one transaction."""
        if not self._positions:
            return
        stored: Counter[str] = Counter()
        with self.database.transaction():
            for kind, lines in self._texts.items():
                stored[kind] = insert(self.database, kind, lines)
            self._report(self._found)
            for file, position in self._positions.items():
                self.database.execute(
                    "INSERT OR REPLACE INTO _store.spool_files VALUES (?, ?, ?, ?)",
                    [file, position.byte_offset, position.sequence, position.closed],
                )
        self.changed = True
        self.stored += stored
        self.known += sum(map(len, self._texts.values())) - stored.total()
        self._texts, self._found, self._positions = {}, [], {}

    def _report(self, problems: list[Problem]) -> None:
        for p in problems:
            self.database.execute(
                "INSERT INTO _store.ingest_problems VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [p.file, p.line, p.byte_offset, p.reason, p.lost],
            )
        self.problems += problems

    def delete(self, paths: list[Path]) -> int:
        """Deletes or, where records were damaged, sets aside what has been read to its end."""
        rows = self.database.rows("SELECT DISTINCT file FROM _store.ingest_problems WHERE lost > 0") if paths else []
        damaged = {file for (file,) in rows}
        try:
            for path in paths:
                if path.name in damaged:
                    os.replace(path, path.with_name(path.name + _DAMAGED))
                else:
                    path.unlink(missing_ok=True)
            if paths:
                sync(self.spool)
        except OSError as problem:
            raise translate(problem, self.spool) from None
        return len(paths)


def pending_bytes(spool: Path) -> int:
    """Roughly how much waits in a spool: the size of its files."""
    size = 0
    try:
        for path in spool.glob("*" + SUFFIX) if os.path.isdir(spool) else ():
            with contextlib.suppress(FileNotFoundError):  # it is in the database now
                size += path.stat().st_size
    except OSError as problem:
        raise translate(problem, spool) from None
    return size
