"""The files that are tuned together, as one program is built of them; their headers' loops; nests that threads call."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.building import compiling
from perfembed.building.build import Build, Unit, unit_of
from perfembed.building.compiling import COMPILE_LIMITS
from perfembed.building.text import beside
from perfembed.capture import ProgramProfile
from perfembed.tuning.openmp import without_comments
from perfembed.tuning.options import TuneOptions
from profilers.build import CompilerConfig, compiler_path
from profilers.contained.child import Command
from profilers.run import run_many
from scheduler.frontend import SourceFile
from scheduler.frontend.model import Rejection, Sharing
from scheduler.ir.nest import LoopNest, Span

NOT_ENTERED = "the program spends no time in this file"  # the reason of why it is left alone begins so


@dataclass(frozen=True, slots=True)
class Project:
    """Nests are known by their names: no two of `sources` have one of the same name.

    `runs`: whether there is a program to run, by which it is decided what is tuned. `flags_given`: whether the flags
    are the user's choice for this one tuning, not those of a build. `unread`: why time or memory did not suffice to
    read files of the program. `cold`: files that were not read, for the program spends no time in them (`NOT_ENTERED`).
    """

    sources: tuple[SourceFile, ...]
    build: Build
    runs: bool
    flags_given: bool = True
    unread: tuple[str, ...] = ()
    cold: frozenset[str] = frozenset()

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

    def holds(self, nest: LoopNest, other: LoopNest) -> bool:
        """Whether another nest stands in a function that the nest has in place of its call."""
        source = self.source_of(nest)
        if other.span is None or source is not self.source_of(other):
            return False
        _, *called = source.assumptions[nest.name].texts
        return any(begin <= other.span.begin < end for begin, end in called)

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


_LOOP = re.compile(rb"\b(?:for|while)\b")
_DIRECTIVE = re.compile(rb"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)


def loops_in_headers(
    units: Sequence[Unit], environment: Mapping[str, str], named: Callable[[str], str]
) -> tuple[Rejection, ...]:
    """The headers of these files, other than the system's, with loops in them, which are not looked at.

    `named`: a path as the user knows it.
    """
    commands = []
    for unit in units:
        flags = (*unit.compiler.flags, "-w", *beside(Path(unit.path)), "-MM", os.path.abspath(unit.path))
        words = (compiler_path(unit.compiler.cc, environment), *flags)
        commands.append(Command(words, COMPILE_LIMITS, {**environment, "LC_ALL": "C"}, unit.directory))
    headers: dict[str, None] = {}
    for unit, done in zip(units, run_many(commands, jobs=os.cpu_count() or 1), strict=True):
        for name in _prerequisites(done.stdout.decode(errors="surrogateescape")):
            path = os.path.join(unit.directory, name)
            if os.path.realpath(path) != os.path.realpath(unit.path):
                headers[os.path.realpath(path)] = None
    found = []
    for header in headers:
        try:
            content = Path(header).read_bytes()
        except OSError:
            continue
        code = _DIRECTIVE.sub(lambda m: b"\n" * m[0].count(b"\n"), without_comments(content))
        loops = list(_LOOP.finditer(code))
        if loops:
            line = code.count(b"\n", 0, loops[0].start()) + 1
            others = f", and {len(loops) - 1} more" if len(loops) > 1 else ""
            reason = f"stands in a header{others}: only loops of C files are tuned"
            found.append(
                Rejection(
                    Span(os.path.relpath(named(header)), 0, 0, line, 1), reason, "move the function into a C file", None
                )
            )
    return tuple(found)


def _prerequisites(rule: str) -> list[str]:
    """The files behind the colon of a rule that `cc -M` writes."""
    _, _, files = rule.replace("\\\n", " ").partition(": ")
    return [name.replace("\\ ", " ") for name in re.split(r"(?<!\\)\s+", files.strip()) if name]


def left_to_one_thread(project: Project, profile: ProgramProfile) -> Project:
    """The project in which what the profile saw several threads run has that context (`Sharing`).

    Nests with pragmas of their own stay as they are: a parallel region inside of another is its own matter.
    """
    several = {nest.name for nest in profile.nests if nest.other_threads}
    sources = []
    for source in project.sources:
        sharing = dict(source.sharing)
        for nest in source.nests:
            known = sharing.get(nest.name, Sharing())
            if nest.name in several and not (known.context or known.shared or known.protected):
                sharing[nest.name] = replace(known, context="thread")
        sources.append(replace(source, sharing=sharing))
    return replace(project, sources=tuple(sources))


def is_left_to_one_thread(project: Project, name: str) -> bool:
    sharing = next((s.sharing.get(name) for s in project.sources if any(n.name == name for n in s.nests)), None)
    return sharing is not None and sharing.context == "thread"
