"""An inspection with what each loop costs in a run of the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from perfembed.capture.program import ProgramFailed
from perfembed.capture.samples import NAME, sample_program
from perfembed.errors import SourceRejected
from perfembed.files import read_input
from perfembed.inspection.inspect_file import Inspection, inspect_source
from perfembed.inspection.shares import loop_shares
from perfembed.measuring.stopwatch import Stopwatch
from perfembed.tuning.opening import HowBuilt, open_project
from perfembed.tuning.openmp import with_openmp
from perfembed.tuning.project import one_file
from perfembed.tuning.result import TuneOptions
from perfembed.tuning.source import parse, with_inputs_apart
from profilers.scratch import scratch_folder


def inspect_run(path: str, how: HowBuilt | None, options: TuneOptions, tell: Callable[[str], None]) -> Inspection:
    """Inspects the file as it is compiled in its program (`how` None: it is the program), and runs that in a copy.

    Raises SourceRejected where the program cannot be built or run, UsageError, EnvironmentMissing.
    """
    functions = options.functions
    options = with_inputs_apart(replace(options, functions=()))  # loops of all functions take their time
    with scratch_folder(options.workdir) as scratch:
        if how is None:
            content = read_input(path)
            options = replace(options, cflags=with_openmp(path, content, options.cflags, tell))
            project = one_file(parse(path, content, options), options)
        else:
            project = open_project((path,), how, options, tell, scratch, Stopwatch())
        source = project.sources[0]
        if not project.runs:
            raise SourceRejected(f"{path}: the file has no main, so there is no program to run", "--build says how")
        inspection = inspect_source(source, functions)
        tell("running the program to see where its time goes")
        environment = dict(options.environment)
        found = sample_program(source, project.build, options.world, Path(scratch) / "samples", environment)
    if isinstance(found, ProgramFailed):
        raise SourceRejected(f"{path}: {found.reason}", found.advice)
    shares = loop_shares(source, found.stacks, NAME, found.runs, found.wall_s, found.cpu_s)
    return replace(inspection, run=shares)
