"""Where writers leave their records: one append-only file a process, one record a line.

A line is `CHECKSUM SEQUENCE KIND JSON`: 16 hex digits of BLAKE2b over the rest of the line, the line's number in its
file, the kind of record, and the record (`optdb.records.format_record`). Line 0 is the header (kind `spool`), a closed
file ends with a line of kind `end` that says how many records there were. Missing numbers tell what was lost. A writer
holds a lock on its file for as long as it lives; the ingester (`optdb.ingest`) deletes what was read of dead writers.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import threading
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from optdb.codec import encode
from optdb.database import sync
from optdb.errors import DiskFull, OptdbError, RecordError, translate
from optdb.locks import try_lock
from optdb.records import RECORDS, Record, format_record

FORMAT = 1
SUFFIX, UNFINISHED = ".spool", ".new"
HEADER, END = "spool", "end"
_DIGEST_BYTES = 8
_ROTATE_BYTES = 64 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def spool_directory(database: Path) -> Path:
    """Where the records for a database wait: the folder beside it."""
    return database.with_name(database.name + SUFFIX)


@dataclass(frozen=True, slots=True)
class Line:
    """A line whose checksum fits."""

    sequence: int
    kind: str
    text: bytes  # JSON


def format_line(sequence: int, kind: str, text: str) -> bytes:
    """The inverse of `parse_line`, with its line end."""
    body = f"{sequence} {kind} {text}".encode("ascii")
    return b"%s %s\n" % (_checksum(body), body)


def parse_line(line: bytes) -> Line | None:
    """A line without its line end; None where it is not what was written."""
    body = line[2 * _DIGEST_BYTES + 1 :]
    if line[: 2 * _DIGEST_BYTES] != _checksum(body) or line[2 * _DIGEST_BYTES : 2 * _DIGEST_BYTES + 1] != b" ":
        return None
    sequence, kind, text = body.split(b" ", 2)
    return Line(int(sequence), kind.decode("ascii"), text)


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).hexdigest().encode("ascii")


class SpoolWriter:
    """Appends this process's records to a spool. Threads may share one; a forked child gets a file of its own.

    >>> with SpoolWriter(spool_directory(new)) as writer:
    ...     writer.append(records)  # any number at once: one fsync
    >>> with Database.open(new) as database:
    ...     ingest(database, spool_directory(new)).records == len(records)
    True
    """

    def __init__(self, directory: str | os.PathLike[str], *, rotate_bytes: int = _ROTATE_BYTES) -> None:
        """Makes the folder if need be; the first `append` makes the file. A file over `rotate_bytes` is closed."""
        self.directory = Path(directory)
        self._rotate_bytes = rotate_bytes
        self._mutex = threading.Lock()
        self._descriptor: int | None = None
        self._owner = 0
        self._size = 0  # bytes acknowledged
        self._records = 0
        try:
            if not self.directory.is_dir():
                self.directory.mkdir(parents=True, exist_ok=True)
                sync(self.directory.parent)
        except OSError as problem:
            raise translate(problem, self.directory) from None

    def __enter__(self) -> SpoolWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, records: Iterable[Record]) -> None:
        """Returns when the records are on the disk: all of them, with one fsync.

        Raises RecordError before anything is written, and DiskFull or OptdbError when it could not be written: then
        none of these records is stored (or, if a crash follows, some), and all earlier ones are.
        """
        lines = [(record.KIND, format_record(record)) for record in records]
        if any(kind not in RECORDS for kind, _ in lines):
            raise RecordError(f"kinds of record are {', '.join(RECORDS)}")
        if not lines:
            return
        with self._mutex:
            self._own_file()
            first = self._records + 1
            self._write(b"".join(format_line(first + i, kind, text) for i, (kind, text) in enumerate(lines)))
            self._records += len(lines)
            if self._size > self._rotate_bytes:
                self._finish()

    def close(self) -> None:
        """Ends the file; a later `append` starts another."""
        with self._mutex:
            if self._descriptor is not None and self._owner == os.getpid():
                self._finish()

    def _own_file(self) -> None:
        if self._descriptor is not None and self._owner != os.getpid():
            os.close(self._descriptor)  # the parent's file, and the parent's lock stays
            self._descriptor = None
        if self._descriptor is not None:
            return
        name = uuid.uuid4().hex
        unfinished, path = self.directory / (name + UNFINISHED), self.directory / (name + SUFFIX)
        self._owner, self._size, self._records = os.getpid(), 0, 0
        try:
            self._descriptor = os.open(
                unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666
            )
        except OSError as problem:
            raise _failure(problem, self.directory) from None
        if not try_lock(self._descriptor):
            raise OptdbError(f"{unfinished}: locked by another process")
        try:
            self._write(format_line(0, HEADER, encode({"format": FORMAT, "process": os.getpid()})))
            os.rename(unfinished, path)  # with its header and its lock: the ingester never sees it without
            sync(self.directory)
        except OSError as problem:
            self._release()
            raise _failure(problem, self.directory) from None
        finally:
            unfinished.unlink(missing_ok=True)

    def _write(self, content: bytes) -> None:
        """All of `content` on the disk, or as before and the file given up: the ingester may have read a part."""
        assert self._descriptor is not None
        written = 0
        try:
            while written < len(content):
                written += os.write(self._descriptor, memoryview(content)[written:])
            os.fsync(self._descriptor)
        except OSError as problem:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
                os.fsync(self._descriptor)
            self._release()
            raise _failure(problem, self.directory) from None
        self._size += written

    def _finish(self) -> None:
        with contextlib.suppress(OptdbError):  # all records are stored; without its end the file is only reported
            self._write(format_line(self._records + 1, END, encode({"records": self._records})))
        self._release()

    def _release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _failure(problem: OSError, directory: Path) -> OptdbError:
    if problem.errno in _FULL:
        return DiskFull(
            f"{directory}: no space left for the spool ({problem.strerror})",
            "free some space and go on: everything acknowledged is kept",
        )
    return translate(problem, directory)
