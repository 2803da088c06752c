"""How each file of a project is compiled when it is tuned, and what its written text has to test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.capture import ProgramProfile
from perfembed.tuning.inputs import known_values
from perfembed.tuning.openmp import parallel_flags
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import Project
from perfembed.tuning.specialize import Specialized, with_nests
from perfembed.tuning.surroundings import Surveyed, survey
from profilers.build import CompilerConfig, compiler_version
from scheduler.codegen.runtime_checks.source_assumptions import Untestable
from scheduler.frontend import SourceFile


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

    def read_for_values(
        self, project: Project, profile: ProgramProfile, least_share: float, scratch: Path
    ) -> Specialized:
        """`known_values`, but of nests whose surroundings can be tested then; they are surveyed as they are read."""
        found = known_values(project, profile, least_share)
        given = dict(found.given)
        sources = []
        for number, (before, source) in enumerate(zip(project.sources, found.project.sources, strict=True)):
            if changed := [nest for nest in before.nests if nest.name in given]:
                surveyed = self.surveyed[source.path]
                tests = self._survey(project, source, scratch / "survey" / f"{number}b").tests
                bad = {nest.name: (before, nest) for nest in changed if isinstance(tests[nest.name], Untestable)}
                for name in bad:
                    del given[name]
                source = with_nests(source, bad)
                good = {nest.name: tests[nest.name] for nest in changed if nest.name not in bad}
                self.surveyed[source.path] = replace(surveyed, tests={**surveyed.tests, **good})
            sources.append(source)
        return Specialized(replace(project, sources=tuple(sources)), given)

    def _survey(self, project: Project, source: SourceFile, folder: Path) -> Surveyed:
        return _surveyed(project, source, dict.fromkeys(self.flags), folder, self.environment)

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
        measured[source.path] = replace(unit.compiler, flags=_with(unit.alone, added))
        surveyed[source.path] = Surveyed("", {})
        if source.nests:
            surveyed[source.path] = _surveyed(project, source, added, scratch / "survey" / str(number), environment)
    return Members(tuple(added), measured, surveyed, environment)


def _surveyed(
    project: Project, source: SourceFile, added: Mapping[str, None], folder: Path, environment: Mapping[str, str]
) -> Surveyed:
    unit = project.unit_of(source)
    written = replace(unit.compiler, flags=_with(unit.compiler.flags, added))
    return survey(source, unit.compiler, written, folder, environment, unit.directory)


def _with(flags: tuple[str, ...], added: Mapping[str, None]) -> tuple[str, ...]:
    return (*flags, *(flag for flag in added if flag not in flags))
