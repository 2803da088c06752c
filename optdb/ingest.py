"""From the spool into the database: every record exactly once, whatever dies when; what is damaged is reported.

Rows and the offset up to which a file was read change in one transaction. Files are deleted only once everything is
checkpointed into the database file itself, so that losing the write-ahead log loses nothing.
"""

from __future__ import annotations

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

    @property
    def records(self) -> int:
        """New records of all kinds."""
        return sum(count for _, count in self.stored)

    @property
    def lost(self) -> int:
        """Records that could not be read, as far as their numbers tell."""
        return sum(problem.lost for problem in self.problems)


def ingest(database: Database, spool: Path, *, part_bytes: int = _PART_BYTES) -> IngestReport:
    """Stores what waits in the folder `spool` and deletes the files of writers that have ended.

    A damaged file is not deleted but renamed to `….spool.damaged`. Raises OptdbError; what was stored until then stays.
    """
    if not spool.is_dir():
        return IngestReport((), 0, 0, 0, ())
    work = _Ingestion(database, spool, part_bytes)
    with database.translated():
        paths = sorted(spool.glob("*" + SUFFIX))
    work.forget_deleted()
    work.sweep()
    done = [path for path in paths if work.read(path)]
    if work.changed or done:
        database.checkpoint()
    deleted = work.delete(done)
    return IngestReport(
        tuple((kind, work.stored[kind]) for kind in TABLES if work.stored[kind]),
        work.known,
        len(paths),
        deleted,
        tuple(work.problems),
    )


class _Ingestion:
    def __init__(self, database: Database, spool: Path, part_bytes: int) -> None:
        self.database, self.spool, self.part_bytes = database, spool, part_bytes
        self.stored: Counter[str] = Counter()
        self.known = 0
        self.problems: list[Problem] = []
        self.changed = False
        self._keep: set[Path] = set()

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
        """Stores everything new in a file; whether it can go."""
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
                    self._store(path.name, chunk)
                if chunk.last or chunk.after == position:
                    break
                position = chunk.after
            if any(problem.lost for problem in chunk.problems) or self._damaged(path.name):
                self._keep.add(path)
            return chunk.last
        finally:
            file.close()

    def _damaged(self, file: str) -> bool:
        return bool(
            self.database.value("SELECT count(*) FROM _store.ingest_problems WHERE file = ? AND lost > 0", [file])
        )

    def _store(self, file: str, chunk: Chunk) -> None:
        stored: Counter[str] = Counter()
        with self.database.transaction():
            for kind, lines in chunk.texts.items():
                stored[kind] = insert(self.database, kind, lines)
            for p in chunk.problems:
                self.database.execute(
                    "INSERT INTO _store.ingest_problems VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    [p.file, p.line, p.byte_offset, p.reason, p.lost],
                )
            after = chunk.after
            self.database.execute(
                "INSERT OR REPLACE INTO _store.spool_files VALUES (?, ?, ?, ?)",
                [file, after.byte_offset, after.sequence, after.closed],
            )
        self.changed = True
        self.stored += stored
        self.known += chunk.records - stored.total()
        self.problems += chunk.problems

    def delete(self, paths: list[Path]) -> int:
        """Deletes or, where records were damaged, sets aside what has been read to its end."""
        try:
            for path in paths:
                if path in self._keep:
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
