"""The exceptions of this package: one clear line each, and where it helps what to do."""

from __future__ import annotations

import re
from pathlib import Path


class OptdbError(Exception):
    """Base of everything this package raises on purpose."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class RecordError(OptdbError):
    """A record, or the text of one, that cannot be: a wrong type, an unknown word, an id that does not fit."""


class MissingDatabase(OptdbError):
    """There is no database at that path, or there can be none."""


class NotADatabase(OptdbError):
    """The file is no DuckDB database, or one of another program."""


class NewerSchema(OptdbError):
    """A newer version of this program, or of DuckDB, wrote the file."""


class Damaged(OptdbError):
    """Bytes of the file are not what was written: a checksum does not fit, or a part is missing."""


class Locked(OptdbError):
    """Another process has the database open."""


class NoPermission(OptdbError):
    """The file or its folder may not be read or written."""


class DiskFull(OptdbError):
    """There was no space left; what had been acknowledged before is kept."""


_BACKUP = "restore the file from a backup, or move it away: what is still in the spool is ingested again"
_LOG_IS_SPARE = "whatever was acknowledged is in the database itself or still in the spool"
_HOLDER = re.compile(r"held in (.+?) \(PID (\d+)\)")

_DAMAGE = (
    "corrupt",
    "checksum",
    "could not read enough bytes",
    "internal error",
    "serialization error",
    "failed to deserialize",
    "failed to load metadata",
    "invalidated",
)


def is_damage(message: str) -> bool:
    """Whether DuckDB begins so where bytes of its file are not what it wrote; what a query says may stand behind it."""
    return message.strip().lower().startswith(_DAMAGE)


def translate(problem: Exception, path: Path) -> OptdbError:
    """What DuckDB (or the operating system) said about the database at `path`, as one of our errors."""
    text = str(problem)
    line = " ".join(text.split())[:300]
    lower = text.lower()
    if "could not set lock" in lower:
        holder = _HOLDER.search(text)
        who = f"process {holder.group(2)} ({holder.group(1)})" if holder else "another process"
        return Locked(f"{path}: {who} has the database open", "wait until it has ended, or end it")
    if "different configuration" in lower:
        return Locked(f"{path}: this process has the database open in another mode", "close it first")
    if "database does not exist" in lower:
        return MissingDatabase(f"{path}: there is no such database")
    if "file name too long" in lower:
        return MissingDatabase(f"{path}: the name is too long", "choose a shorter one")
    if "not a valid duckdb database" in lower or "is a directory" in lower:
        return NotADatabase(f"{path}: not a DuckDB database")
    if "permission denied" in lower or "read-only file system" in lower:
        return NoPermission(f"{path}: permission denied", "check who owns the file and its folder")
    if "file too large" in lower:
        return DiskFull(f"{path}: larger than `ulimit -f` allows", "raise the limit; nothing acknowledged is lost")
    if any(words in lower for words in ("no space left", "quota exceeded", "out of disk")):
        return DiskFull(f"{path}: no space left on the disk", "free some space; nothing acknowledged is lost")
    if "version number" in lower or "newer version" in lower or "storage version" in lower:
        return NewerSchema(f"{path}: written by a newer DuckDB: {line}", "update duckdb")
    if "wal file" in lower:
        log = f"{path}.wal"
        return Damaged(f"{path}: its write-ahead log is damaged: {line}", f"move {log} away: {_LOG_IS_SPARE}")
    if any(words in lower for words in _DAMAGE):
        return Damaged(f"{path}: the file is damaged: {line}", _BACKUP)
    return OptdbError(f"{path}: {line}")
