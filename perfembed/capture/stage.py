"""The copy of the working folder that the user's program runs in: whatever it does there, the user's files stay.

Around the copy stand links to what lies around the working folder, so that `../data` is found. Nothing outside of the
copy can be written to where the kernel has Landlock; where it has not, only the copy is protected.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType

from perfembed.capture.copying import Copier, Original, put
from perfembed.world import Left, Ran, World
from profilers.contained.child import Finished, Limits, confines_writes
from profilers.contained.scratch import make_removable
from profilers.run import run_contained

KEPT_BYTES = 1 << 30  # of what the program writes, for comparing it as text
_TICK_S = 0.011  # what was changed later than this has another time
_SYSTEM = ("/dev", "/proc", "/sys")
_TEMPORARY = ("/tmp", "/var/tmp")
_NEIGHBOURS = 1000  # entries of a folder around the working folder; in fuller ones, which take long, nothing is found

Stamp = tuple[int, ...]


class Stage:
    """A program's world, made ready for runs, one at a time. `folder`: for the copy and for what the program leaves.

    The copy is made at the first run and put right after each. `notes`: what is special about it, for the user.
    """

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.confined = confines_writes()
        self.notes: tuple[str, ...] = ()
        self._root = folder.absolute() / "around"
        self._temporary = folder.absolute() / "tmp"
        self._kept = folder.absolute() / "left"
        self._user = world.directory.resolve() if world.directory is not None else None
        self.directory = self._root.joinpath(*self._user.parts[1:]) if self._user else self._root
        self._beside: dict[Path, dict[str, Path]] = {}  # the links around it, by the folder they stand in
        self._crowded: Path | None = None  # a folder above the working folder that is not linked to
        self._originals: dict[str, Original] = {}
        self._stamps: dict[str, Stamp] | None = None  # of the copy as it has to be; None: there is none yet
        self._clean = True
        self._kept_bytes = 0

    def run(
        self,
        argv: tuple[str, ...],
        environment: Mapping[str, str],
        writes: tuple[Path, ...] = (),
        limits: Limits | None = None,
    ) -> Ran:
        """One contained run; `writes`: more folders that it may write to; `limits`: other ones than the world's.

        Raises UsageError where the working folder is too large to copy, NotExecutable and ContainmentError.
        """
        if self._stamps is None:
            self._make()
        elif not self._clean:
            self._put_right(self._changed())
        self._clean = False
        env = {**environment, "TMPDIR": str(self._temporary), **dict(self.world.variables)}
        finished = run_contained(
            argv,
            limits=limits or self.world.limits,
            env=env,
            cwd=self.directory,
            stdin=self.world.stdin,
            writable=self._writable(writes),
        )
        changed = self._changed()
        files = {path: self._leave(path) for path in changed}
        self._put_right(changed)
        return Ran(finished, MappingProxyType(files))

    def advice(self, finished: Finished) -> str:
        """What may help a program that did not end by itself."""
        if finished.limit == "wall":
            return "--run-limit TIME lets it run longer"
        if self.confined and finished.signal is not None:
            return "it can write to nothing outside of its working folder: --writable DIR lets it write there, too"
        if not finished.ok and self._crowded:
            return f"it finds nothing else in {self._crowded}, which has more than {_NEIGHBOURS} entries"
        return ""

    def _writable(self, writes: tuple[Path, ...]) -> tuple[str, ...]:
        return writable_for(self._user, (self._root, self._temporary, *writes, *self.world.writable))

    # ------------------------------------------------------------------------------- making it

    def _make(self) -> None:
        for folder in (self._temporary, self._kept, self._root):  # of another stage, that is done
            _remove(folder)
        self._temporary.mkdir(parents=True)
        self._kept.mkdir()
        self.directory.mkdir(parents=True)
        if self._user is not None:
            self._surround()
            copier = Copier(self._user, self.directory, self.confined)
            self._originals = copier.copy()
            self.notes = copier.notes
        time.sleep(_TICK_S)
        self._stamps = self._scan()

    def _surround(self) -> None:
        """Links to everything beside the working folder and beside the folders above it."""
        assert self._user is not None
        self._beside = around(self._user, self._root)
        above = (folder for folder in self._user.parents if self._root.joinpath(*folder.parts[1:]) not in self._beside)
        self._crowded = next(above, None)
        self._put_around_right()

    def _put_around_right(self) -> None:
        for beside, links in self._beside.items():
            there = set(os.listdir(beside))
            for name in there - links.keys():
                if not self.directory.is_relative_to(beside / name):
                    _remove(beside / name)
            for name in links.keys() - there:
                (beside / name).symlink_to(links[name])

    # ------------------------------------------------------------------------------- after a run

    def _scan(self) -> dict[str, Stamp]:
        """What shows a change of each entry of the copy: of a folder its mode only."""
        found: dict[str, Stamp] = {}
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            for entry in _entries(self.directory / folder):
                path = os.path.join(folder, entry.name)
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(path)
                    found[path] = (status.st_mode,)
                else:
                    times = (status.st_mtime_ns, status.st_ctime_ns)
                    found[path] = (status.st_mode, status.st_ino, status.st_size, *times)
        return found

    def _changed(self) -> list[str]:
        before, now = self._stamps or {}, self._scan()
        return sorted(path for path in {*before, *now} if before.get(path) != now.get(path))

    def _leave(self, path: str) -> Left:
        """What the program left there; the bytes of a file are taken away to be kept."""
        where = self.directory / path
        if not self._is_in_copy(where):
            return Left("nothing")
        try:
            status = os.lstat(where)
        except OSError:
            return Left("nothing")
        if stat.S_ISLNK(status.st_mode):
            return Left("link", os.readlink(where))
        if not stat.S_ISREG(status.st_mode):
            return Left("folder" if stat.S_ISDIR(status.st_mode) else "nothing")
        _make_writable(where.parent)
        identity = _digest(where)
        content = self._kept / identity
        if not content.exists():
            if self._kept_bytes + status.st_size > KEPT_BYTES:
                return Left("file", identity)
            self._kept_bytes += status.st_size
            os.replace(where, content)
        return Left("file", identity, content)

    def _put_right(self, changed: list[str]) -> None:
        """Makes these entries what they were."""
        assert self._stamps is not None
        for path in reversed(changed):  # what lies in a folder before the folder
            where = self.directory / path
            if not self._is_in_copy(where):
                continue  # a link stands in place of a folder above it, and goes when its turn comes
            _make_writable(where.parent)
            if not (_is_folder(self._originals.get(path)) and where.is_dir() and not where.is_symlink()):
                _remove(where)
        for path in changed:
            if original := self._originals.get(path):
                put(original, self.directory / path)
        folders = {str(parent) for path in changed for parent in Path(path).parents} - {"."}
        for path in sorted({*folders, *changed}, reverse=True):
            original = self._originals.get(path)
            if original is not None and _is_folder(original):
                os.chmod(self.directory / path, original.mode)
        self._put_around_right()
        _make_writable(self._temporary)
        for left in self._temporary.iterdir():
            _remove(left)
        if changed:
            time.sleep(_TICK_S)
            now = self._scan()
            self._stamps = {path: now[path] for path in self._originals if path in now}
        self._clean = True

    def _is_in_copy(self, where: Path) -> bool:
        """Every folder above it is one: a program can put a link to what is the user's in its place."""
        above = where.parent
        while above != self.directory:
            if above.is_symlink() or not above.is_dir():
                return False
            above = above.parent
        return True


def around(user: Path, root: Path) -> dict[Path, dict[str, Path]]:
    """What stands around a copy of a folder below `root`: links, by the folder they stand in and their names."""
    found: dict[Path, dict[str, Path]] = {}
    for inner in (user, *user.parents):
        names: list[str] = []
        with contextlib.suppress(OSError):
            names = os.listdir(inner.parent)
        if inner != inner.parent and len(names) <= _NEIGHBOURS:
            beside = root.joinpath(*inner.parent.parts[1:])
            found[beside] = {name: inner.parent / name for name in names if name != inner.name}
    return found


def writable_for(user: Path | None, own: Sequence[Path]) -> tuple[str, ...]:
    """The folders that what runs in a copy of the user's folder may write to: its `own`, and those for such."""
    outside = [t for t in _TEMPORARY if user is None or not user.is_relative_to(os.path.realpath(t))]
    return (*map(str, own), *_SYSTEM, *outside)


def _is_folder(original: Original | None) -> bool:
    return original is not None and original.kind == "folder"


def _remove(where: Path) -> None:
    if where.is_dir() and not where.is_symlink():
        make_removable(where)
        shutil.rmtree(where, ignore_errors=True)
    else:
        where.unlink(missing_ok=True)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError):
        if not folder.is_symlink() and not os.access(folder, os.R_OK | os.X_OK):
            os.chmod(folder, 0o700)
        with os.scandir(folder) as found:
            return list(found)
    return []


def _make_writable(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if not folder.is_symlink() and not os.access(folder, os.W_OK | os.X_OK):
            os.chmod(folder, os.stat(folder).st_mode | 0o700)


def _digest(path: Path) -> str:
    if not os.access(path, os.R_OK):
        os.chmod(path, 0o600)
    hasher = blake2b(digest_size=20)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            hasher.update(chunk)
    return hasher.hexdigest()
