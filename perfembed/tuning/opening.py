"""Opens a project of several files: how they are built, what stands in them, and what keeps their loops from tuning."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.building.arguments import code_flags
from perfembed.building.build import Build, Unit
from perfembed.building.command import BuildCommand
from perfembed.building.compile_commands import NAME, read_compile_commands
from perfembed.building.compiling import CompileAndLink
from perfembed.capture.entered import entered_files
from perfembed.capture.program import ProgramFailed, ProgramRun, build_plain
from perfembed.capture.stage import Stage
from perfembed.errors import NotRead, NoTunableNest, SourceRejected, UsageError
from perfembed.files import check_output, read_input
from perfembed.flags import apart
from perfembed.measuring.stopwatch import Stopwatch
from perfembed.reading import AGAIN
from perfembed.tuning.openmp import has_openmp, use_of_openmp, with_openmp
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import NOT_ENTERED, Project, loops_in_headers
from perfembed.tuning.project_tuner import Tuning
from perfembed.tuning.result import Event, Message, TuneResult
from perfembed.tuning.source import left_alone, nothing_tunable, parse_all, with_inputs_apart
from perfembed.tuning.time_plan import in_budget, with_all_time
from profilers.build import CompilerConfig, prepare_harness
from profilers.contained.scratch import scratch_folder, sweep
from scheduler.frontend import SourceFile
from scheduler.frontend.clang.processes import processes
from scheduler.frontend.model import Rejection, without_threads
from scheduler.ir.nest import Span


@dataclass(frozen=True, slots=True)
class HowBuilt:
    """By a `command` for the shell, which makes `program` (None: the one program that it links).

    Or `commands`, a compile_commands.json, says how files are compiled (None: there is none). `more`: flags behind
    those that are known of a file.
    """

    command: str | None = None
    program: str | None = None
    commands: str | None = None
    more: tuple[str, ...] = ()


def tune_project(
    paths: Sequence[str], how: HowBuilt, options: TuneOptions, progress: Callable[[Event], None]
) -> TuneResult:
    """Tunes the nests of several C files of one program, in the order of their share of its run time.

    Raises perfembed.errors.PerfembedError with the exit codes of the command line. On Ctrl-C the best so far is kept
    and written.
    """
    options = with_inputs_apart(options)

    def tell(text: str) -> None:
        progress(Message(text))

    with in_budget(options) as budget:
        with scratch_folder(options.workdir) as scratch:
            project = open_project(paths, how, options, tell, scratch, budget.watch)
            for problem in project.unread:
                progress(Message(f"warning: {problem}; what is in it is left alone", loud=True))
            if not project.nests and project.unread:
                raise NotRead("\n".join(project.unread), AGAIN)
            if not project.nests:
                raise NoTunableNest(nothing_tunable(project.sources), "perfembed inspect FILE says why")
            files = [source.path for source in project.sources]
            for folder in {str(Path(target).resolve().parent) for target in _targets(files, options)}:
                if os.path.isdir(folder):
                    sweep(Path(folder))
            result = Tuning(project, options, progress, scratch, budget).run()
        return with_all_time(result, budget)


def open_project(
    paths: Sequence[str],
    how: HowBuilt,
    options: TuneOptions,
    tell: Callable[[str], None],
    scratch: Path,
    watch: Stopwatch,
    whole: bool = False,
) -> Project:
    """The files (none: all that a build compiles) and the build they are part of, which is run in `scratch`.

    Of many files only those in which the program spends time are read, unless it is asked for functions, schedules or
    the `whole`. Raises UsageError, SourceRejected, NotRead, NoTunableNest.
    """
    build: Build
    if how.command is None:
        texts = _read(paths, options)
        build = _compiled(texts, how, options, tell)
        program = [unit.path for unit in build.others]
    else:
        environment = dict(options.environment)
        tell(f"building in a copy of the folder, to see how: {how.command}")
        build = BuildCommand(
            how.command, how.program, Path.cwd(), scratch / "build", environment, options.world.writable
        )
        program = [unit.path for unit in build.units]
        texts = _read(paths, options) if paths else _read(_worth_reading(build), options)
        build.units = _units_by_name(build, texts)
    cold: Mapping[str, str] = {}
    if isinstance(build, BuildCommand) and not (whole or options.functions or options.schedules):
        cold = _cold(texts, build, options, tell, scratch / "entered")
    prepare_harness(build.compiler, dict(options.environment))
    with watch.phase("front end"):
        hot = {path: content for path, content in texts.items() if path not in cold}
        project = _opened(hot, build, options, not paths, [path for path in program if os.path.isfile(path)])
    more = tuple(left_alone(path, texts[path], reason, _ANYWAY) for path, reason in cold.items())
    return replace(project, sources=(*project.sources, *more), cold=frozenset(cold))


_READ_S = 3e-5  # of processor time, to read and survey a byte of a C file
_MUCH_S = 2.0  # of that, less of which is not worth runs of the program
_ANYWAY = "--function NAME looks at it anyway"


def _cold(
    texts: Mapping[str, bytes], build: BuildCommand, options: TuneOptions, tell: Callable[[str], None], scratch: Path
) -> Mapping[str, str]:
    """Why files are not read in which the program spends no time. To see that may take what it takes to read all."""
    most_s = _READ_S * sum(map(len, texts.values()))
    real = {os.path.realpath(path): path for path in texts}
    objects = {real[path]: made for path, made in build.objects().items() if path in real}
    if most_s < _MUCH_S or len(objects) < len(texts):
        return {}
    tell("running the program to see which files it spends its time in")
    program = ProgramRun(build, Stage(options.world, scratch / "stage"), dict(options.environment))
    plain = build_plain(texts, program, scratch)
    found = None
    if not isinstance(plain, ProgramFailed):
        found = entered_files(plain, program, objects, scratch, most_s)
    if found is None:
        return {}
    entered, samples = found
    reason = f"{NOT_ENTERED}: none of {samples} samples was in it"
    return {path: reason for path in texts if path not in entered}


def _read(paths: Sequence[str], options: TuneOptions) -> dict[str, bytes]:
    """The files' contents. Raises UsageError, NoTunableNest, SourceRejected."""
    seen: dict[str, str] = {}
    texts: dict[str, bytes] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise UsageError(f"{path} is the same file as {seen[real]}")
        seen[real] = path
        texts[path] = read_input(path)
        if options.in_place:
            check_output(path, None, True)
        elif options.output_folder is not None and os.path.relpath(path).startswith(os.pardir):
            raise UsageError(f"{path}: not below the current folder", "--in-place rewrites it where it is")
    return texts


def _targets(paths: Sequence[str], options: TuneOptions) -> Iterable[str]:
    if options.in_place:
        return paths
    folder = options.output_folder
    return [] if folder is None else [os.path.join(folder, path) for path in paths]


# ------------------------------------------------------------------------------------ how it is built


def _compiled(
    texts: Mapping[str, bytes], how: HowBuilt, options: TuneOptions, tell: Callable[[str], None]
) -> CompileAndLink:
    """The files are compiled, by the flags that are known of each, and linked together with what they need."""
    known = {os.path.realpath(unit.path): unit for unit in read_compile_commands(how.commands)} if how.commands else {}
    flags, (more, _) = options.cflags, apart(how.more)
    for path, content in texts.items():
        if os.path.realpath(path) not in known:
            flags = with_openmp(path, content, flags, tell)
    units: list[Unit] = []
    for path in texts:
        unit = known.pop(os.path.realpath(path), None)
        if unit is None:
            units.append(Unit(path, CompilerConfig(options.cc, flags), Path.cwd(), flags))
            continue
        compiler = replace(unit.compiler, flags=(*unit.compiler.flags, *more))
        units.append(Unit(path, compiler, unit.directory, (*unit.alone, *code_flags(more))))
    libs = (*options.inputs, *(flag for flag in options.cflags if flag.startswith("-l")), "-lm")
    environment = dict(options.environment)
    return CompileAndLink(tuple(units), texts, Path.cwd(), libs, tuple(known.values()), environment)


_LOOP = re.compile(rb"\bfor\b")


def _worth_reading(build: BuildCommand) -> list[str]:
    """The user's files among those that the build compiles, where they may have loops."""
    own = [unit.path for unit in build.units if build.unchanged(unit.path)]
    return [path for path in own if _LOOP.search(Path(path).read_bytes())]


def _units_by_name(build: BuildCommand, texts: Mapping[str, bytes]) -> list[Unit]:
    """How these files are compiled. Raises UsageError where one is not."""
    known = {os.path.realpath(unit.path): unit for unit in build.units}
    found = []
    for path in texts:
        unit = known.get(os.path.realpath(path))
        if unit is None:
            compiled = ", ".join(one.path for one in build.units)
            raise UsageError(f"{path}: not compiled by the build: {build.command}", f"it compiles {compiled}")
        if not build.unchanged(path):
            raise UsageError(f"{path}: the build changes it", "tune the file that it is made of")
        found.append(replace(unit, path=path))
    return found


def found_commands(paths: Sequence[str]) -> str | None:
    """The compile_commands.json of the current folder, where one of the files is in it. Raises UsageError."""
    if not os.path.isfile(NAME):
        return None
    known = {os.path.realpath(unit.path) for unit in read_compile_commands(NAME)}
    return NAME if any(os.path.realpath(path) in known for path in paths) else None


# ------------------------------------------------------------------------------------ what stands in it


def _opened(
    texts: Mapping[str, bytes], build: Build, options: TuneOptions, tolerant: bool, program: Sequence[str]
) -> Project:
    """`tolerant`: files that cannot be read are left alone; `program`: more files that are compiled for it.

    Raises SourceRejected, NotRead, UsageError (a --function).
    """
    named = build.named if isinstance(build, BuildCommand) else str
    units = {unit.path: unit for unit in build.units}
    files = [(path, content, units[path].compiler) for path, content in texts.items()]
    unread: list[str] = []
    try:
        sources = parse_all(files, options, unread if tolerant else None)
    except (SourceRejected, NotRead) as problem:
        raise type(problem)(named(problem.message), problem.advice) from None
    whole = processes(Path(path).read_bytes() for path in program)
    whole = whole.united(source.processes for source in sources)
    sources = tuple(without_threads(source, whole) for source in sources)
    mains = [source.path for source in sources if source.has_main]
    if isinstance(build, CompileAndLink) and len(mains) > 1:
        raise SourceRejected(f"{' and '.join(mains)}: each has a main", "name the files of one program")
    loops = loops_in_headers([units[path] for path in texts], dict(options.environment), named)
    asleep = [source for source in sources if not has_openmp(units[source.path].compiler.flags) and _uses(source)]
    sources = tuple(source for source in sources if source not in asleep)
    if asleep and not sources:
        raise SourceRejected(f"{asleep[0].path}: {_uses(asleep[0])}", "compile it with -fopenmp")
    others = [Rejection(Span(s.path, 0, 0, 1, 1), _uses(s), "compile it with -fopenmp", None) for s in asleep]
    if sources:
        sources = (replace(sources[0], rejections=(*sources[0].rejections, *loops, *others)), *sources[1:])
    runs = bool(mains) or not isinstance(build, CompileAndLink) or bool(build.others)
    return Project(unique(sources), build, runs, flags_given=False, unread=tuple(map(named, unread)))


def _uses(source: SourceFile) -> str:
    """Why a file that is compiled without OpenMP is left alone; empty where it does not use it."""
    found = use_of_openmp(source.content)
    if found is None:
        return ""
    return f"it uses OpenMP ({found[0]}, line {found[1]}), and the build compiles it without"


def unique(sources: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
    """The files with nests of different names: `init_0` of a second file is `init_0_b` there."""
    taken: set[str] = set()
    found = []
    for source in sources:
        names: dict[str, str] = {}
        for nest in source.nests:
            name, letters = nest.name, iter("bcdefghijklmnopqrstuvwxyz")
            while name in taken:
                name = f"{nest.name}_{next(letters, len(taken))}"
            taken.add(name)
            names[nest.name] = name
        nests = tuple(replace(nest, name=names[nest.name]) for nest in source.nests)
        assumptions = {names.get(name, name): value for name, value in source.assumptions.items()}
        sharing = {names.get(name, name): value for name, value in source.sharing.items()}
        fixable = {names.get(name, name): value for name, value in source.fixable.items()}
        found.append(replace(source, nests=nests, assumptions=assumptions, sharing=sharing, fixable=fixable))
    return tuple(found)
