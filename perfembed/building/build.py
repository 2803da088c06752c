"""How a program is built, as a value: what it is made of, and the making of it with some texts exchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from profilers.build import CompilerConfig


@dataclass(frozen=True, slots=True)
class Unit:
    """A C file and how it is compiled: by `compiler`, whose relative paths mean `directory`.

    `alone`: the flags with which a nest of it is compiled on its own.
    """

    path: str
    compiler: CompilerConfig
    directory: Path
    alone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different from the user's own build; nothing by default.

    `texts` stand in for the files of these paths, which are compiled with `flags` behind their own; so is linked what
    they are part of. `objects` and `link` are added wherever a program is linked.
    """

    texts: Mapping[str, bytes] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    objects: tuple[Path, ...] = ()
    link: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """A program that was built. `folder`: a copy of the folder `copied`, with all that was built (None: there is none).

    `number`: how often something was built there.
    """

    executable: Path
    folder: Path | None = None
    copied: Path | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """Why there is no program; for the user."""

    reason: str


class Build(Protocol):
    """A way to build the user's program. Raises CompilerMissing and ContainmentError where it builds."""

    @property
    def units(self) -> Sequence[Unit]:
        """The C files it compiles, as far as they are known."""

    @property
    def compiler(self) -> CompilerConfig:
        """What our own objects are compiled with: they are linked with the program's."""

    def make_all(self, wanted: Sequence[tuple[Changes, Path]]) -> tuple[Made | NotBuilt, ...]:
        """Builds the program with each of these changes, in a folder for each; several at a time.

        What a folder holds from before is made use of: a folder is for changes that differ in texts only.
        """

    def problem(self, changes: Changes, workdir: Path) -> str:
        """Why the files do not compile with these changes, as for a program without a main; empty where they do."""


def made(build: Build, changes: Changes, workdir: Path) -> Made | NotBuilt:
    """The program with these changes."""
    return build.make_all(((changes, workdir),))[0]


def unit_of(build: Build, path: str) -> Unit:
    """How a file is compiled. Raises KeyError."""
    for unit in build.units:
        if unit.path == path:
            return unit
    raise KeyError(path)
