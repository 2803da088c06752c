"""An inspection with what each loop costs in a run of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from perfembed.capture.program import ProgramFailed
from perfembed.capture.samples import name_of, sample_program
from perfembed.errors import SourceRejected
from perfembed.files import read_input
from perfembed.inspection.inspect_file import Inspection, inspect_source
from perfembed.inspection.shares import RunShares, loop_shares
from perfembed.measuring.stopwatch import Stopwatch
from perfembed.tuning.opening import HowBuilt, open_project
from perfembed.tuning.openmp import with_openmp
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import one_file
from perfembed.tuning.source import parse, with_inputs_apart
from profilers.contained.scratch import scratch_folder


def inspect_run(
    paths: Sequence[str],
    how: HowBuilt | None,
    options: TuneOptions,
    tell: Callable[[str], None],
    analysed: bool = True,
) -> tuple[tuple[Inspection, ...], RunShares]:
    """Inspects the files as they are compiled in their program (`how` None: the one is the program), runs that in a
    copy, and says what the loops of all of them cost. An inspection has the shares of its own file, and of nests only
    their places where they are not `analysed`.

    Raises SourceRejected where the program cannot be built or run, UsageError, EnvironmentMissing.
    """
    functions = options.functions
    options = with_inputs_apart(replace(options, functions=()))  # loops of all functions take their time
    with scratch_folder(options.workdir) as scratch:
        if how is None:
            (path,) = paths
            content = read_input(path)
            options = replace(options, cflags=with_openmp(path, content, options.cflags, tell))
            project = one_file(parse(path, content, options), options)
        else:
            project = open_project(tuple(paths), how, options, tell, scratch, Stopwatch(), whole=bool(functions))
        names = ", ".join(paths)
        if not project.runs:
            raise SourceRejected(f"{names}: there is no main, so there is no program to run", "--build says how")
        inspections = [inspect_source(source, functions, analysed=analysed) for source in project.sources]
        tell("running the program to see where its time goes")
        environment = dict(options.environment)
        read = [source for source in project.sources if source.path not in project.cold]
        found = sample_program(read, project.build, options.world, Path(scratch) / "samples", environment)
    if isinstance(found, ProgramFailed):
        raise SourceRejected(f"{names}: {found.reason}", found.advice)
    sources = {name_of(k): source for k, source in enumerate(read)}
    shares = loop_shares(sources, found.stacks, found.runs, found.wall_s, found.cpu_s)
    return tuple(replace(one, run=_of_file(shares, one.path)) for one in inspections), shares


def _of_file(shares: RunShares, path: str) -> RunShares:
    loops = tuple(loop for loop in shares.loops if loop.file == path)
    return replace(shares, loops=loops, elsewhere=1 - sum(loop.share for loop in loops))
