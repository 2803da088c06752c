"""Temporary folders and unfinished files that outlive no run: what a killed process left, the next one removes.

Each is locked (flock(2)) by its process for as long as that lives, under a name that nothing else uses. What is not
locked any more, and belongs to this user, is left over.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_FOLDER = re.compile(r"perfembed-\d+-[0-9a-f]{12}")
_FILE = re.compile(r"\.perfembed-\d+-[0-9a-f]{12}")
_PATIENCE_S = 5.0  # to remove folders that processes a killed one had started still write to
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextlib.contextmanager
def scratch_folder(parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """An empty folder, removed at the end, in `parent` (None: the system's for such). Removes left over ones there."""
    path, descriptor = claim_folder(parent)
    try:
        yield path
    finally:
        remove_folder(path, descriptor)


def claim_folder(parent: str | os.PathLike[str] | None = None) -> tuple[Path, int]:
    """As `scratch_folder`, for one who calls `remove_folder` at the end."""
    base = Path(tempfile.gettempdir() if parent is None else parent).absolute()
    sweep(base)

    def make() -> Path:
        path = base / _name("perfembed-")
        path.mkdir(mode=0o700)
        return path

    return _claimed(make, _DIRECTORY)


def remove_folder(path: Path, descriptor: int) -> None:
    _remove_tree(path)
    os.close(descriptor)


def make_removable(path: Path) -> None:
    """Folders below, and this one, that were made read-only can be emptied afterwards; never what a link leads to."""
    waiting = [os.fspath(path)]
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError):
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                continue
            os.chmod(folder, 0o700)  # Linux has none that would not follow a link
            with os.scandir(folder) as entries:
                waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def _remove_tree(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        make_removable(path)
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def unfinished_file(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A new, empty file in `folder`, which only this user may read; removed at the end unless it was renamed.

    Removes left over ones there. Raises OSError.
    """
    base = Path(folder)
    sweep(base)

    def make() -> Path:
        path = base / _name(".perfembed-")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return path

    path, descriptor = _claimed(make, _REGULAR)
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(descriptor)


def sweep(base: Path) -> None:
    """Removes folders and files of this module's in `base` whose processes have ended; only this user's."""
    try:
        with os.scandir(base) as entries:
            names = [e.name for e in entries if _FOLDER.fullmatch(e.name) or _FILE.fullmatch(e.name)]
    except OSError:
        return
    deadline = time.monotonic() + _PATIENCE_S
    for name in names:
        with contextlib.suppress(OSError):
            _remove_dead(base / name, name.startswith("."), deadline)


def _remove_dead(path: Path, is_file: bool, deadline: float) -> None:
    """Raises OSError where it is in use, another's, or no such thing."""
    if os.lstat(path).st_uid != os.geteuid():
        return
    descriptor = os.open(path, _REGULAR if is_file else _DIRECTORY)
    try:
        status = os.fstat(descriptor)
        ours = status.st_uid == os.geteuid() and (stat.S_ISREG(status.st_mode) if is_file else True)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not ours or not _is_at(path, status):
            return
        if is_file:
            path.unlink()
            return
        _remove_tree(path)
        while path.exists() and time.monotonic() < deadline:  # a compiler that is just about to be ended wrote to it
            time.sleep(0.02)
            _remove_tree(path)
    finally:
        os.close(descriptor)


def _name(prefix: str) -> str:
    return f"{prefix}{os.getpid()}-{os.urandom(6).hex()}"


def _claimed(make: Callable[[], Path], flags: int) -> tuple[Path, int]:
    """Makes, opens and locks; anew where another process took it for left over in between."""
    while True:
        path = make()
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        except OSError:  # no locks on this file system: nobody can take it for left over either
            return path, descriptor
        if _is_at(path, os.fstat(descriptor)):
            return path, descriptor
        os.close(descriptor)


def _is_at(path: Path, status: os.stat_result) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino)
