"""From the spool into the database: every record exactly once, whatever dies when; what is damaged is reported.

Rows and the offset up to which a file was read change in one transaction. Files are deleted only once everything is
checkpointed into the database file itself, so that losing the write-ahead log loses nothing.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from optdb.database import Database, sync
from optdb.errors import RecordError, translate
from optdb.spool import SUFFIX, UNFINISHED
from optdb.spool_reader import Chunk, Position, Problem, SpoolFile
from optdb.tables import TABLES, insert

_PART_BYTES = 8 << 20
_RECORD_BYTES = 400  # about; how many records a transaction takes follows from it
_DAMAGED = ".damaged"
_OLD_S = 3600.0


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

    After `limit_s` seconds no further file is begun, and the report says so: close the database, so that others get
    their turn, and call again. A damaged file is not deleted but renamed to `….spool.damaged`. Raises OptdbError;
    what was stored until then stays.
    """
    if not spool.is_dir():
        return IngestReport((), 0, 0, 0, (), True)
    deadline = time.monotonic() + limit_s
    work = _Ingestion(database, spool, part_bytes)
    with database.translated():
        paths = sorted(spool.glob("*" + SUFFIX))
    work.forget_deleted()
    work.sweep()
    done, read = [], 0
    for path in paths:
        if time.monotonic() > deadline:
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
        complete=read == len(paths),
    )


class _Ingestion:
    def __init__(self, database: Database, spool: Path, part_bytes: int) -> None:
        self.database, self.spool, self.part_bytes = database, spool, part_bytes
        self.stored: Counter[str] = Counter()
        self.known = 0
        self.problems: list[Problem] = []
        self.changed = False
        # read, and not yet stored
        self._texts: dict[str, list[str]] = {}
        self._found: list[Problem] = []
        self._positions: dict[str, Position] = {}

    def forget_deleted(self) -> None:
        """The offsets of files that are gone."""
        gone = [
            (file,)
            for (file,) in self.database.rows("SELECT file FROM _store.spool_files")
            if not (self.spool / file).exists()
        ]
        for row in gone:
            self.database.execute("DELETE FROM _store.spool_files WHERE file = ?", row)
            self.changed = True

    def sweep(self) -> None:
        """Removes what writers left that died before their file had its name: such files hold no record."""
        with self.database.translated():
            for path in self.spool.glob("*" + UNFINISHED):
                if time.time() - path.stat().st_mtime > _OLD_S:
                    path.unlink(missing_ok=True)

    def read(self, path: Path) -> bool:
        """Reads everything new in a file, and stores it by and by; whether the file can go then."""
        file = SpoolFile(path)
        try:
            found = self.database.rows(
                "SELECT byte_offset, next_sequence, closed FROM _store.spool_files WHERE file = ?", [path.name]
            )
            position = Position(*found[0]) if found else Position()
            while True:
                try:
                    chunk = file.read(position, self.part_bytes)
                except RecordError as problem:  # of a later version: left alone
                    self.problems.append(Problem(path.name, 0, 0, f"{problem.message}: {problem.advice}", 0))
                    return False
                if chunk.after != position or chunk.problems:
                    self._add(path.name, chunk)
                if chunk.last or chunk.after == position:
                    return chunk.last
                position = chunk.after
        finally:
            file.close()

    def _add(self, file: str, chunk: Chunk) -> None:
        for kind, texts in chunk.texts.items():
            self._texts.setdefault(kind, []).extend(texts)
        self._found += chunk.problems
        self._positions[file] = chunk.after
        if sum(map(len, self._texts.values())) >= self.part_bytes // _RECORD_BYTES:
            self.store()

    def store(self) -> None:
        """What was read and the positions up to which it was read, in one transaction."""
        if not self._positions:
            return
        stored: Counter[str] = Counter()
        with self.database.transaction():
            for kind, lines in self._texts.items():
                stored[kind] = insert(self.database, kind, lines)
            for p in self._found:
                self.database.execute(
                    "INSERT INTO _store.ingest_problems VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    [p.file, p.line, p.byte_offset, p.reason, p.lost],
                )
            for file, position in self._positions.items():
                self.database.execute(
                    "INSERT OR REPLACE INTO _store.spool_files VALUES (?, ?, ?, ?)",
                    [file, position.byte_offset, position.sequence, position.closed],
                )
        self.changed = True
        self.stored += stored
        self.known += sum(map(len, self._texts.values())) - stored.total()
        self.problems += self._found
        self._texts, self._found, self._positions = {}, [], {}

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
    try:
        return sum(path.stat().st_size for path in spool.glob("*" + SUFFIX)) if spool.is_dir() else 0
    except OSError as problem:
        raise translate(problem, spool) from None
