"""How each file of a project is compiled when it is tuned, and what its written text has to test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.tuning.openmp import parallel_flags
from perfembed.tuning.project import Project
from perfembed.tuning.result import TuneOptions
from perfembed.tuning.surroundings import Surveyed, survey
from profilers.build import CompilerConfig, compiler_version


@dataclass(frozen=True, slots=True)
class Members:
    """By the path of a file: how nests of it are `measured`, and what its text was read under.

    `flags`: behind those of the build, for all files that are written.
    """

    flags: tuple[str, ...]
    measured: Mapping[str, CompilerConfig]
    surveyed: dict[str, Surveyed]
    environment: Mapping[str, str]

    @property
    def compiler(self) -> CompilerConfig:
        """That of the first file."""
        return next(iter(self.measured.values()))

    def look_at_errno(self) -> None:
        """The program does: what is written sets it as before."""
        for path, surveyed in self.surveyed.items():
            self.surveyed[path] = replace(surveyed, errno=True)

    def version(self, compiler: CompilerConfig) -> str:
        """Raises CompilerMissing."""
        return compiler_version(compiler.cc, self.environment)


def members(project: Project, options: TuneOptions, scratch: Path, tell: Callable[[str], None]) -> Members:
    """Raises CompilerMissing, and EnvironmentMissing where a compiler makes no parallel programs but should."""
    environment = dict(options.environment)
    added: dict[str, None] = {}
    for compiler in dict.fromkeys(project.unit_of(source).compiler for source in project.sources):
        compiler_version(compiler.cc, environment)
        flags = parallel_flags(compiler.cc, compiler.flags, options.threads, environment, tell)
        added |= dict.fromkeys(flags[len(compiler.flags) :])
    measured: dict[str, CompilerConfig] = {}
    surveyed: dict[str, Surveyed] = {}
    for number, source in enumerate(project.sources):
        unit = project.unit_of(source)
        written = replace(unit.compiler, flags=_with(unit.compiler.flags, added))
        measured[source.path] = replace(unit.compiler, flags=_with(unit.alone, added))
        folder = scratch / "survey" / str(number)
        surveyed[source.path] = survey(source, unit.compiler, written, folder, environment, unit.directory)
    return Members(tuple(added), measured, surveyed, environment)


def _with(flags: tuple[str, ...], added: Mapping[str, None]) -> tuple[str, ...]:
    return (*flags, *(flag for flag in added if flag not in flags))
