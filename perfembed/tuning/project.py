"""The C files to tune, and how the program that they belong to is built."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.building import compiling
from perfembed.building.build import Build, Unit, unit_of
from perfembed.tuning.options import TuneOptions
from profilers.build import CompilerConfig
from scheduler.frontend import SourceFile
from scheduler.ir.nest import LoopNest


@dataclass(frozen=True, slots=True)
class Project:
    """Nests are known by their names: no two of `sources` have one of the same name.

    `runs`: whether there is a program to run, by which it is decided what is tuned. `flags_given`: whether the flags
    are the user's choice for this one tuning, not those of a build. `unread`: why time or memory did not suffice to
    read files of the program.
    """

    sources: tuple[SourceFile, ...]
    build: Build
    runs: bool
    flags_given: bool = True
    unread: tuple[str, ...] = ()

    @property
    def paths(self) -> str:
        """The files, for the user."""
        return ", ".join(source.path for source in self.sources)

    @property
    def nests(self) -> tuple[LoopNest, ...]:
        return tuple(nest for source in self.sources for nest in source.nests)

    def source_of(self, nest: LoopNest) -> SourceFile:
        """The file that a nest of this name stands in."""
        return next(s for s in self.sources if any(n.name == nest.name for n in s.nests))

    def unit_of(self, source: SourceFile) -> Unit:
        """How a file is compiled in the user's build."""
        return unit_of(self.build, source.path)

    def without(self, names: Collection[str]) -> Project:
        """The same where these nests are left alone."""
        left = (replace(s, nests=tuple(n for n in s.nests if n.name not in names)) for s in self.sources)
        return replace(self, sources=tuple(left))


def one_file(source: SourceFile, options: TuneOptions) -> Project:
    """A file that is a whole program, or one without a main."""
    compiler = CompilerConfig(options.cc, options.cflags)
    environment = dict(options.environment)
    build = compiling.one_file(source.path, source.content, compiler, Path.cwd(), environment, options.inputs)
    return Project((source,), build, source.has_main)
