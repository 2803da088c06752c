"""Copies a folder so that a program may do with it what it likes; blocks are shared where the file system can."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Literal as OneOf

from perfembed.errors import UsageError

MOST_BYTES, MOST_FILES = 512 << 20, 5000
_NOT_FILES = ("/dev", "/proc", "/sys")
_HISTORIES = (".git", ".hg", ".svn")
_FICLONE = 0x40049409  # ioctl_ficlone(2)


@dataclass(frozen=True, slots=True)
class Original:
    """An entry of the copy as it has to be: where the bytes of a file come from, or where a link leads."""

    kind: OneOf["file", "folder", "link"]
    source: str
    mode: int = 0
    times: tuple[int, int] = (0, 0)  # ns


def put(original: Original, where: Path) -> None:
    """Makes the entry; a folder that is there is left as it is."""
    if original.kind == "link":
        where.symlink_to(original.source)
        return
    if original.kind == "folder":
        where.mkdir(mode=0o700, exist_ok=True)
        return
    with open(original.source, "rb") as source, open(where, "xb") as target:
        try:
            fcntl.ioctl(target.fileno(), _FICLONE, source.fileno())
        except OSError:  # another file system, or one that cannot share blocks
            shutil.copyfileobj(source, target, 1 << 20)
    os.chmod(where, original.mode)
    os.utime(where, ns=original.times)


class Copier:
    """One folder to copy, the folders nearest to its top first and hidden ones last, up to a bound.

    Beyond it are links to the originals where they are `confined` (the program cannot write through them); else what
    is hidden is left out, and anything else is refused. Histories and Python environments are never copied.
    """

    def __init__(self, folder: Path, target: Path, confined: bool) -> None:
        self.folder, self.target, self.confined = folder, target, confined
        self.originals: dict[str, Original] = {}
        self.bytes = self.files = self.entries = 0
        self._beyond: list[str] = []
        self._seen: dict[str, str] = {}  # a folder's real path -> its path in the copy
        self._waiting: deque[tuple[str, str]] = deque()  # (real path, path in the copy)
        self._hidden: deque[tuple[str, str]] = deque()

    @property
    def notes(self) -> tuple[str, ...]:
        if not self._beyond:
            return ()
        shown = ", ".join(self._beyond[:3]) + f" and {len(self._beyond) - 3} more" * (len(self._beyond) > 3)
        what = "it can read but not change" if self.confined else "it does not see"
        return (f"the program runs in a copy of {self.folder}; {what} what was too much to copy: {shown}",)

    def copy(self) -> dict[str, Original]:
        """What was copied, by its path in the copy. Raises UsageError."""
        self._seen[str(self.folder)] = ""
        self._folder(str(self.folder), "")
        while self._waiting or self._hidden:
            source, path = (self._waiting or self._hidden).popleft()
            if source in self._seen:
                self._make(path, Original("link", str(self.target / self._seen[source])))
            else:
                self._seen[source] = path
                self._folder(source, path)
        for path, original in sorted(self.originals.items(), reverse=True):
            if original.kind == "folder":  # a read-only folder once it is full
                os.chmod(self.target / path, original.mode)
        return self.originals

    def _folder(self, source: str, path: str) -> None:
        try:
            with os.scandir(source) as found:
                entries = sorted(found, key=lambda entry: entry.name)
            mode = stat.S_IMODE(os.stat(source).st_mode)
        except OSError:
            return  # what cannot be read is not there
        if path and self.entries + len(entries) > MOST_FILES:
            self._leave(source, path)
            return
        self.entries += len(entries)
        if path:
            self._make(path, Original("folder", source, mode))
        for entry in entries:
            with contextlib.suppress(PermissionError, FileNotFoundError):
                self._entry(entry, os.path.join(path, entry.name))

    def _entry(self, entry: os.DirEntry[str], path: str) -> None:
        link = entry.is_symlink()
        if link and (text := self._kept_link(entry.path)) is not None:
            self._make(path, Original("link", text))
            return
        real = os.path.realpath(entry.path) if link else entry.path
        status = os.stat(real)
        if real in _NOT_FILES:
            self._make(path, Original("link", real))
        elif self.target.is_relative_to(real):
            return  # what is ours
        elif _is_no_data(real):
            if self.confined:
                self._make(path, Original("link", real))
        elif stat.S_ISDIR(status.st_mode):
            (self._hidden if os.path.basename(path).startswith(".") else self._waiting).append((real, path))
        elif stat.S_ISREG(status.st_mode):
            if self.files >= MOST_FILES or self.bytes + status.st_size > MOST_BYTES:
                self._leave(real, path)
                return
            self.files += 1
            self.bytes += status.st_size
            times = (status.st_atime_ns, status.st_mtime_ns)
            self._make(path, Original("file", real, stat.S_IMODE(status.st_mode), times))

    def _kept_link(self, path: str) -> str | None:
        """The text of a link that stays one: into the folder itself, above it, or to nothing."""
        text, leads = os.readlink(path), Path(os.path.realpath(path))
        if not leads.exists():
            return text
        if leads.is_relative_to(self.folder):
            straight = not os.path.isabs(text) and os.pardir not in Path(text).parts
            return text if straight else str(self.target / leads.relative_to(self.folder))
        if self.folder.is_relative_to(leads):
            return str(self.target.parents[len(self.folder.parts) - len(leads.parts) - 1])
        return None

    def _make(self, path: str, original: Original) -> None:
        put(original, self.target / path)
        self.originals[path] = original

    def _leave(self, source: str, path: str) -> None:
        hidden = any(part.startswith(".") for part in Path(path).parts)
        if not self.confined and not hidden:
            limit = f"{MOST_BYTES >> 20} MiB or {MOST_FILES} entries"
            raise UsageError(
                f"{self.folder}: more than {limit}, and the program runs in a copy of it",
                "--workdir DIR with less in it",
            )
        self._beyond.append(path)
        if self.confined:
            self._make(path, Original("link", source))


def _is_no_data(path: str) -> bool:
    """Whether it is a history, or a Python environment."""
    return os.path.basename(path) in _HISTORIES or os.path.exists(os.path.join(path, "pyvenv.cfg"))
