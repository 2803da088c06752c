"""Copies of a project's folder in which it is built, again and again with other texts.

Most of what a build makes is the same whatever texts of a few files are exchanged: a copy may begin with what was made
in the first one. That holds where nothing that was made names the folder it was made in (CMake's cache does), and where
no file that is exchanged is part of another one; and it has to be seen afterwards that the build made anew what it had
to: not every Makefile says what depends on what.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from perfembed.building.arguments import CommandLine, expanded
from perfembed.building.build import Changes
from perfembed.building.compile_commands import units_of
from perfembed.building.standin import Standin, stand_in
from perfembed.capture.copying import Copier
from perfembed.capture.stage import around
from perfembed.errors import SourceRejected
from profilers.contained.child import confines_writes
from profilers.contained.scratch import make_removable

_OUTPUTS = (b"\x7fELF", b"!<arch>", b"gpch")  # what a build made before begins with
_OLD_S = 1000.0
_TEXT_BYTES = 8 << 20
_INCLUDED = re.compile(rb'#[ \t]*include[ \t]*(?:[<"]([^>"\n]*)[>"]|([^<"\s][^\n]*))')


@dataclass(frozen=True, slots=True)
class _Built:
    """What compilers were asked in a build, by real paths: C files that were compiled, programs that were linked."""

    compiled: frozenset[str]
    linked: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Texts:
    """Of all that stands in a tree: whether nothing names its place, and the names of files that are included."""

    movable: bool
    included: frozenset[str]


class Tree:
    """A copy of `folder` below `workdir`."""

    def __init__(self, folder: Path, workdir: Path, environment: Mapping[str, str], like: Tree | None = None) -> None:
        """`like`: one that was built, which this one begins as. Raises UsageError where the folder is too large."""
        self.original = folder
        self.workdir = workdir
        self._root = workdir.resolve() / "around"
        self.folder = self._root.joinpath(*folder.parts[1:])
        self.temporary = workdir / "tmp"
        self.standin: Standin = stand_in(workdir / "compilers", environment)
        self.built = 0  # so many times
        self.like = like
        self._texts: dict[str, bytes] = {}
        self._objects: bytes = b""
        self._written: set[str] = set()  # of the files, before the last build
        self._entries = 0  # of the log, from before the last build
        self.temporary.mkdir(parents=True, exist_ok=True)
        self._copy(like.folder if like is not None else folder)
        if like is None:
            _make_new(self.folder)

    def _copy(self, source: Path) -> None:
        self.folder.mkdir(parents=True)
        for beside, links in around(self.original, self._root).items():
            for name, leads in links.items():
                (beside / name).symlink_to(leads)
        Copier(source, self.folder, confines_writes()).copy()

    def begin_anew(self) -> None:
        """As the user's folder is."""
        make_removable(self._root)
        shutil.rmtree(self._root, ignore_errors=True)
        self.standin.log.unlink(missing_ok=True)
        self.like = None
        self._texts, self._objects = {}, b""
        self._copy(self.original)
        _make_new(self.folder)

    def named(self, text: str) -> str:
        """With the names that files have in the folder."""
        return text.replace(f"{self.folder}{os.sep}", "")

    def change(self, texts: Mapping[str, bytes], changes: Changes) -> None:
        """Puts the texts in, by their names in the folder, and says what to add when it is built."""
        objects = b"".join(one.read_bytes() for one in changes.objects)
        earlier = {name: (self.original / name).read_bytes() for name in self._texts if name not in texts}
        self._written = set()
        for name, text in {**earlier, **texts}.items():
            path = self.folder / name
            if self._texts.get(name) != text or objects != self._objects:
                if not path.parent.resolve().is_relative_to(self.folder):
                    raise SourceRejected(f"{name}: stands behind a link that leads out of the folder")
                path.unlink(missing_ok=True)
                path.write_bytes(text)
                self._texts[name] = text
                self._written.add(name)
        self._objects = objects
        self._entries = len(self.standin.entries())
        self.built += 1
        self.standin.set(changes, [os.path.realpath(self.folder / name) for name in texts])

    # ------------------------------------------------------------------------ beginning with what was built

    def _asked(self, first: int = 0) -> _Built:
        """What was asked of compilers, from an entry on."""
        compiled: set[str] = set()
        linked: set[str] = set()
        for words, directory in self.standin.entries()[first:]:
            compiled.update(os.path.realpath(unit.path) for unit in units_of(words, directory))
            line = CommandLine(expanded(words[1:], directory))
            if line.links_program:
                linked.add(os.path.realpath(os.path.join(directory, line.output or "a.out")))
        inside = (frozenset(os.path.relpath(path, self.folder) for path in paths) for paths in (compiled, linked))
        return _Built(*inside)

    def objects(self) -> Mapping[str, Sequence[Path]]:
        """The object files that C files were compiled to, by their names in the folder; only where all are left."""
        found: dict[str, list[Path]] = {}
        makers: dict[Path, set[str]] = {}
        for words, directory in self.standin.entries():
            line = CommandLine(expanded(words[1:], directory))
            for source in line.sources:
                path = os.path.realpath(os.path.join(directory, source.path))
                name = os.path.relpath(path, self.folder)
                made = Path(directory, line.output or f"{Path(source.path).stem}.o")
                found.setdefault(name, []).append(made if line.stage == "compile" else Path())
                makers.setdefault(made, set()).add(name)
        return {
            name: paths
            for name, paths in found.items()
            if all(path.is_file() and len(makers[path]) == 1 for path in paths)
        }

    def has_made(self, program: str) -> bool:
        """Whether the last build compiled what was changed and linked the program, as far as that was ever done."""
        if not self._written:
            return True
        before, now = (self.like or self)._asked(), self._asked(self._entries)
        wanted = {os.path.normpath(program)} & before.linked or before.linked
        return self._written & before.compiled <= now.compiled and wanted <= now.linked

    def serves(self, names: Iterable[str]) -> bool:
        """Whether a tree may begin as this one, which was built, where these files are exchanged."""
        compiled = self._asked().compiled
        return self._made.movable and not self.includes(names) and all(name in compiled for name in names)

    def includes(self, names: Iterable[str]) -> bool:
        """Whether one of these files is, or may be, a part of another one."""
        return any(os.path.basename(name) in self._made.included for name in names)

    @cached_property
    def _made(self) -> _Texts:
        place = os.fsencode(self.workdir.resolve())
        movable, included = True, set()
        for path in _files(self.folder):
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if not size:
                    continue
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    movable = movable and not _names(data, place)
                    if size > _TEXT_BYTES or _is_output(path):
                        continue
                    for match in _INCLUDED.finditer(data):
                        movable = movable and (match[2] is None or not path.endswith((".c", ".h")))  # a macro says what
                        included.add(os.path.basename(os.fsdecode(match[1] or b"")))
        return _Texts(movable, frozenset(included))


def _files(folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def _names(data: mmap.mmap, place: bytes) -> bool:
    """Whether a file holds a path, other than as debugging information."""
    at = data.find(place)
    if at < 0:
        return False
    ignored = _debugging(data)
    while at >= 0:
        if not any(begin <= at < end for begin, end in ignored):
            return True
        at = data.find(place, at + 1)
    return False


def _debugging(data: mmap.mmap) -> Sequence[tuple[int, int]]:
    """Where the sections .debug_… of an ELF file of 64 bits stand (elf(5)); nowhere in what is none."""
    if data[:6] != b"\x7fELF\x02\x01":
        return ()
    try:
        (table,), (size, count, names) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HHH", data, 58)
        heads = [struct.unpack_from("<IIQQQQ", data, table + size * k) for k in range(count)]
        texts = heads[names][4]
        found = []
        for name, _, _, _, offset, length in heads:
            if data[texts + name : texts + name + 7] == b".debug_":
                found.append((offset, offset + length))
        return found
    except (struct.error, IndexError):
        return ()


def _make_new(folder: Path) -> None:
    """Everything equally new, but what a build has made before: so all of that is made again, and nothing else is."""
    now = time.time()
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if os.path.islink(path):
                continue
            if name == "CMakeCache.txt":  # it names the folder that it was made in, and would build there
                os.unlink(path)
                continue
            when = now - _OLD_S if _is_output(path) else now - 1
            os.utime(path, (when, when))


def _is_output(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(8).startswith(_OUTPUTS)
    except OSError:
        return False
