"""The build where there is none: the files are compiled with their flags and linked together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perfembed.building.build import Changes, Made, NotBuilt, Unit
from perfembed.building.text import beside, standing_in
from profilers.build import CompilerConfig, compiler_path
from profilers.contained.child import Command, Finished, Limits
from profilers.run import DEFAULT_ENVIRONMENT, run_many

COMPILE_LIMITS = Limits.of_work(180.0, 8 << 30, 1 << 16)
_MESSAGE_LINES, _MESSAGE_CHARS = 12, 2000
_OPENMP = re.compile(rb"undefined (?:reference to|symbol:) [`']?((?:omp|GOMP|__kmpc)_\w+)")
_NO_MAIN = (b"undefined reference to `main'", b"undefined symbol: main")


@dataclass(frozen=True, slots=True)
class CompileAndLink:
    """`files` (path, text) are the program, with what it needs of `others`; texts as they were read.

    `libs`: what is linked with it: libraries and other files. A single file is compiled and linked at once, so that
    these may be C files. `directory`: where the program is linked.
    """

    units: tuple[Unit, ...]
    texts: Mapping[str, bytes]
    directory: Path
    libs: tuple[str, ...] = ("-lm",)
    others: tuple[Unit, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: DEFAULT_ENVIRONMENT)

    @property
    def compiler(self) -> CompilerConfig:
        return self.units[0].compiler

    def make_all(self, wanted: Sequence[tuple[Changes, Path]]) -> tuple[Made | NotBuilt, ...]:
        jobs = [_Job(self, changes, workdir.absolute()) for changes, workdir in wanted]
        return _run(jobs)

    def problem(self, changes: Changes, workdir: Path) -> str:
        found = _run([_Job(self, changes, workdir.absolute(), link=False)])[0]
        return found.reason if isinstance(found, NotBuilt) else ""


def one_file(
    path: str,
    content: bytes,
    compiler: CompilerConfig,
    directory: Path,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
    inputs: tuple[str, ...] = (),
) -> CompileAndLink:
    """The build of a file that is a whole program, with other `inputs`; the compiler runs in `directory`."""
    unit = Unit(path, compiler, directory, compiler.flags)
    return CompileAndLink((unit,), {path: content}, directory, (*inputs, *compiler.libs), environment=environment)


class _Job:
    """One program to build."""

    def __init__(self, build: CompileAndLink, changes: Changes, workdir: Path, link: bool = True) -> None:
        workdir.mkdir(parents=True, exist_ok=True)
        self.build, self.changes, self.workdir, self.links = build, changes, workdir, link
        self.environment = {**build.environment, "LC_ALL": "C", "TMPDIR": str(workdir)}
        self.at_once = link and len(build.units) == 1 and not build.others
        self.executable = workdir / Path(build.units[0].path).stem
        self.failure: NotBuilt | None = None

    def objects(self) -> Iterator[Command]:
        """Compiles every file; nothing where the one file is linked at once."""
        if self.at_once:
            return
        for number, unit in enumerate((*self.build.units, *self.build.others)):
            yield self._compile(unit, number, ("-c",), self._object(number), ())

    def program(self) -> Iterator[Command]:
        if self.failure is not None or not self.links:
            return
        build, libs = self.build, (*self.build.libs, *self.changes.link)
        ours = tuple(map(str, self.changes.objects))
        if self.at_once:
            yield self._compile(build.units[0], 0, (), self.executable, (*ours, "-o", str(self.executable), *libs))
            return
        theirs = [str(self._object(number)) for number in range(len(build.units))]
        if build.others:
            theirs.append(str(self.workdir / "libothers.a"))
        cc, flags = build.compiler.cc, _for_linking(build.units, self.changes)
        words = (compiler_path(cc, self.environment), *flags, *theirs, *ours, "-o", str(self.executable), *libs)
        yield Command(words, COMPILE_LIMITS, self.environment, build.directory)

    def archive(self) -> Iterator[Command]:
        """Of the other files, so that the linker takes what is needed."""
        first, last = len(self.build.units), len(self.build.units) + len(self.build.others)
        if self.failure is not None or not self.links or first == last:
            return
        (self.workdir / "libothers.a").unlink(missing_ok=True)
        members = (str(self._object(number)) for number in range(first, last))
        words = (compiler_path("ar", self.environment), "rcs", str(self.workdir / "libothers.a"), *members)
        yield Command(words, COMPILE_LIMITS, self.environment, self.workdir)

    def _object(self, number: int) -> Path:
        return self.workdir / f"{number}.o"

    def _compile(self, unit: Unit, number: int, stage: tuple[str, ...], output: Path, rest: tuple[str, ...]) -> Command:
        path = Path(unit.path)
        text = self.changes.texts.get(unit.path)
        source = output.with_suffix(".c") if self.at_once else self.workdir / f"{number}-{path.stem}.c"
        content = self.build.texts.get(unit.path) if text is None else text
        source.write_bytes(standing_in(path.read_bytes() if content is None else content, path))
        flags = (*unit.compiler.flags, "-w", *beside(path), *(self.changes.flags if text is not None else ()))
        words = (compiler_path(unit.compiler.cc, self.environment), *flags, "-x", "none", str(source))
        words += rest or (*stage, "-o", str(output))
        return Command(words, COMPILE_LIMITS, self.environment, unit.directory)


def _for_linking(units: Sequence[Unit], changes: Changes) -> tuple[str, ...]:
    """The flags of all files, each once: the linker ignores those that say nothing to it, and -l come last."""
    flags = dict.fromkeys(flag for unit in units for flag in unit.compiler.flags)
    return (*flags, *(changes.flags if changes.texts else ()))


def _run(jobs: list[_Job]) -> tuple[Made | NotBuilt, ...]:
    """Everything that can go on at once does, stage by stage."""
    for stage in (_Job.objects, _Job.archive, _Job.program):
        commands = [(job, command) for job in jobs for command in stage(job)]
        finished = run_many((command for _, command in commands), jobs=os.cpu_count() or 1)
        for (job, _), done in zip(commands, finished, strict=True):
            if job.failure is None:
                job.failure = _failure(done)
    return tuple(job.failure or Made(job.executable) for job in jobs)


def _failure(finished: Finished) -> NotBuilt | None:
    if finished.ok:
        return None
    if finished.timed_out:
        return NotBuilt(f"the compiler did not finish within {COMPILE_LIMITS.cpu_s:g} s of processor time")
    if any(text in finished.stderr for text in _NO_MAIN):
        return NotBuilt("the file has no main, so there is no program to run")
    called = _OPENMP.search(finished.stderr)
    if called is not None:
        what = called[1].decode()
        return NotBuilt(f"the program calls {what}, so it has to be compiled with OpenMP: --cflags '… -fopenmp'")
    return NotBuilt(said(finished))


def said(finished: Finished, last: bool = False) -> str:
    """The first (or `last`) lines of what a compiler or a build said, or how it ended."""
    lines = (finished.stderr or finished.stdout).decode(errors="replace").splitlines()
    text = "\n".join(lines[-_MESSAGE_LINES:] if last else lines[:_MESSAGE_LINES])[:_MESSAGE_CHARS]
    return text or f"the compiler ended with code {finished.returncode} and no message"
