"""`tune`: a C file in, a verified and faster C file out, with the reason for every decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from perfembed.errors import NoTunableNest
from perfembed.files import check_output, read_input
from perfembed.measuring.stopwatch import Budget
from perfembed.tuning.openmp import with_openmp
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import one_file
from perfembed.tuning.project_tuner import Tuning
from perfembed.tuning.result import Event, Message, TuneResult
from perfembed.tuning.source import nothing_tunable, parse, with_inputs_apart
from perfembed.tuning.time_plan import in_budget, with_all_time
from profilers.build import CompilerConfig, prepare_harness
from profilers.contained.scratch import scratch_folder, sweep


def tune(path: str, options: TuneOptions, progress: Callable[[Event], None]) -> TuneResult:
    """Tunes the nests of a C file in the order of their share of the run time and writes the result.

    Raises perfembed.errors.PerfembedError with the exit codes of the command line. On Ctrl-C the best so
    far is kept and written.
    """
    with in_budget(options) as budget:
        return with_all_time(_tuned(path, options, progress, budget), budget)


def _tuned(path: str, options: TuneOptions, progress: Callable[[Event], None], budget: Budget) -> TuneResult:
    content = read_input(path)
    check_output(path, options.output, options.in_place)
    options = with_inputs_apart(options)
    options = replace(options, cflags=with_openmp(path, content, options.cflags, lambda text: progress(Message(text))))
    prepare_harness(CompilerConfig(options.cc, options.cflags), dict(options.environment))
    with budget.watch.phase("front end"):
        source = parse(path, content, options)
    if not source.nests:
        raise NoTunableNest(nothing_tunable((source,)), f"perfembed inspect {path} says why")
    target = path if options.in_place else options.output
    if target is not None:
        sweep(Path(target).resolve().parent)
    with scratch_folder(options.workdir) as scratch:
        return Tuning(one_file(source, options), options, progress, scratch, budget).run()
