"""Reads a spool file from where the last reading ended: good lines, and what is wrong with the others."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from optdb.errors import RecordError, translate
from optdb.locks import try_lock
from optdb.records import parse_record
from optdb.spool import END, FORMAT, HEADER, parse_line


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a spool file that cannot be stored. `lost`: records, as far as their numbers tell."""

    file: str
    line: int  # number expected there
    byte_offset: int
    reason: str
    lost: int


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file was read: the next byte, the next line's number, whether its end was seen."""

    byte_offset: int = 0
    sequence: int = 0
    closed: bool = False


@dataclass(slots=True)
class Chunk:
    """What one reading found. `texts`: JSON of the records by kind, checked; `after`: where the next one starts."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    after: Position = Position()
    records: int = 0
    last: bool = False  # nothing more will come


class SpoolFile:
    """A file of a spool, open for reading. `finished`: its writer has closed it or is dead."""

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.finished = try_lock(self._descriptor)  # before reading: what a dead writer wrote is all there
            self.size = os.fstat(self._descriptor).st_size
        except OSError as problem:
            raise translate(problem, path) from None
        self.path = path

    def close(self) -> None:
        """Also gives up the lock of a finished file."""
        os.close(self._descriptor)

    def read(self, start: Position, limit_bytes: int) -> Chunk:
        """About `limit_bytes` from `start` on, whole lines only. Raises OptdbError where it cannot be read."""
        try:
            content = os.pread(self._descriptor, limit_bytes, start.byte_offset)
            while content and b"\n" not in content and len(content) < self.size - start.byte_offset:
                content = os.pread(self._descriptor, 2 * len(content), start.byte_offset)
        except OSError as problem:
            raise translate(problem, self.path) from None
        end = content.rfind(b"\n") + 1
        at_end = start.byte_offset + len(content) >= self.size
        reader = _Reader(self.path.name, start)
        for line in content[: end - 1].split(b"\n") if end else ():
            reader.line(line)
        chunk = reader.chunk
        chunk.last = self.finished and at_end
        if chunk.last:
            reader.finish(len(content) - end, self.size < start.byte_offset)
        else:
            reader.pause()
        chunk.after = Position(reader.offset, reader.expected, reader.closed)
        return chunk


class _Reader:
    def __init__(self, file: str, start: Position) -> None:
        self.file = file
        self.offset, self.expected, self.closed = start.byte_offset, start.sequence, start.closed
        self.chunk = Chunk()
        self._damaged: list[int] = []  # offsets of damaged lines since the last good one

    def line(self, line: bytes) -> None:
        offset, self.offset = self.offset, self.offset + len(line) + 1
        found = parse_line(line)
        if found is None:
            self._damaged.append(offset)
            return
        if found.sequence < self.expected:
            self._problem(offset, f"line {found.sequence} again", 0)
            return
        self._missing(found.sequence, offset)
        self.expected = found.sequence + 1
        if found.kind == HEADER:
            self._header(found.text, offset)
        elif found.kind == END:
            self.closed = True
        else:
            self._record(found.kind, found.text, offset)

    def pause(self) -> None:
        """Reports damaged lines at the end of a part; how many records they were shows in the numbers that follow."""
        if self._damaged:
            self._problem(self._damaged[0], _damage(len(self._damaged)), 0)
            self._damaged = []

    def finish(self, torn_bytes: int, shorter: bool) -> None:
        """What is known once nothing more will come."""
        if torn_bytes:
            self._problem(self.offset, f"the last {torn_bytes} bytes are no whole line: cut off while being written", 0)
        if not self.closed:
            self._missing(None, self.offset)
            reason = "no closing line: the writer died, or a part is gone"
            reason = "shorter than when it was read last" if shorter else reason
            self._problem(self.offset, reason, 0)

    def _missing(self, sequence: int | None, offset: int) -> None:
        """Reports damaged lines, and lines that are not there, before the good line `sequence` (None: the end)."""
        lost = len(self._damaged) if sequence is None else sequence - self.expected
        if self._damaged:
            self._problem(self._damaged[0], _damage(len(self._damaged)), lost)
        elif lost:
            self._problem(offset, f"{lost} lines are missing before this one", lost)
        self._damaged = []

    def _header(self, text: bytes, offset: int) -> None:
        found = json.loads(text)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise RecordError(
                f"{self.file}: not a spool file of format {FORMAT}", "a newer version may have written it"
            )

    def _record(self, kind: str, text: bytes, offset: int) -> None:
        try:
            parse_record(kind, text)
        except RecordError as problem:
            self._problem(offset, problem.message[:500], 1, self.expected - 1)
            return
        self.chunk.records += 1
        self.chunk.texts.setdefault(kind, []).append(text.decode("ascii"))

    def _problem(self, offset: int, reason: str, lost: int, line: int | None = None) -> None:
        number = self.expected if line is None else line
        self.chunk.problems.append(Problem(self.file, number, offset, reason, lost))


def _damage(lines: int) -> str:
    return ("a damaged line" if lines == 1 else f"{lines} damaged lines") + ": the checksum does not fit"
