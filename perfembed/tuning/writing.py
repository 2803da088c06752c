"""What a run of tune says of its nests, and the files that it writes: the user's, or files of their own."""

from __future__ import annotations

import os
from dataclasses import replace

from perfembed.building.text import under_name
from perfembed.files import write_output
from perfembed.tuning.nest_outcome import NestOutcome
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.pictures import TrialReport
from perfembed.tuning.project import Project
from perfembed.tuning.result import FileResult, NestReport
from perfembed.tuning.winners import Winners
from scheduler.frontend import Rejection, SourceFile
from scheduler.ir.names import spelled
from scheduler.ir.nest import LoopNest
from scheduler.schedule import format_schedule


def blank(file: str, nest: LoopNest) -> NestReport:
    span = nest.span
    return NestReport(
        nest=nest.name,
        function=nest.function,
        file=file,
        line=span.line if span else 0,
        column=span.column if span else 0,
        share=None,
        status="skipped",
        reason="the budget was spent before it was reached",
    )


def refused(r: Rejection) -> NestReport:
    return NestReport(
        nest=f"loop at line {r.span.line}",
        function=r.function,
        file=r.span.file,
        line=r.span.line,
        column=r.span.column,
        share=None,
        status="refused",
        reason=f"{r.reason} ({r.advice})" if r.advice else r.reason,
    )


def tuned(file: str, nest: LoopNest, share: float | None, outcome: NestOutcome) -> NestReport:
    winner = outcome.winner
    comparison = winner.comparison if winner else None
    told = comparison.told if comparison else None
    return replace(
        blank(file, nest),
        share=share,
        status="tuned" if winner else "kept",
        reason="confirmed faster and checked" if winner else spelled(outcome.reason),
        schedule=format_schedule(winner.scheduled.schedule) if winner else "",
        speedup=comparison.ratio if comparison else None,
        low=comparison.low if comparison else None,
        high=comparison.high if comparison else None,
        told_low=told.low if told else None,
        told_high=told.high if told else None,
        told_coverage=told.coverage if told else None,
        runs=comparison.runs if comparison else None,
        original_s=min(comparison.samples_original) if comparison else outcome.original_s,
        tuned_s=min(comparison.samples_candidate) if comparison else None,
        candidates=outcome.candidates,
        predicted=outcome.predicted,
        notes=tuple(outcome.notes),
        less_work=outcome.less_work,
        illegal=outcome.illegal,
        failed=outcome.failed,
        wrong=outcome.wrong,
        normalization=outcome.normalization,
        checks=winner.checks if winner else (),
        trials=trials(outcome),
    )


def trials(outcome: NestOutcome) -> tuple[TrialReport, ...]:
    """What was run of a nest, in the order of time."""
    found = [
        TrialReport(
            at_s=at_s,
            schedule=format_schedule(schedule),
            seconds=outcome.seconds.get(schedule),
            given_up=schedule in outcome.given_up,
            estimated=schedule in outcome.estimated,
            chosen=schedule == outcome.chosen,
        )
        for schedule, at_s in outcome.at_s.items()
    ]
    return tuple(sorted(found, key=lambda trial: trial.at_s))


_PARALLEL = b"#pragma omp parallel"


def write(project: Project, winners: Winners, options: TuneOptions) -> tuple[FileResult, ...]:
    """A file as it is now, the original's bytes where nothing was better; nothing on a dry run.

    In place, and of several, files in which nothing changes are not written. Raises UsageError.
    """
    always = options.output is not None and not options.in_place
    texts = winners.rewritten(winners.found)
    found = []
    for source in project.sources:
        tuned = sum(nest.name == winner.name for nest in source.nests for winner, _ in winners.found)
        target = _target(source.path, options) if not options.dry_run and (tuned or always) else None
        if target is not None:
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
            text = texts[source.path]
            changed = tuned and not options.in_place
            write_output(target, under_name(text, source.path) if changed else text)
        found.append(FileResult(source.path, target, tuned, _needs(project, source, winners, texts[source.path])))
    return tuple(found)


def _needs(project: Project, source: SourceFile, winners: Winners, text: bytes) -> tuple[str, ...]:
    """The flags that the build has to be given for a text, which does with fewer threads without them."""
    if project.flags_given or not (text != source.content and _PARALLEL in text):
        return ()
    return tuple(flag for flag in winners.flags if flag not in project.unit_of(source).compiler.flags)


def _target(path: str, options: TuneOptions) -> str | None:
    if options.in_place:
        return path
    if options.output_folder is not None:
        return os.path.join(options.output_folder, path)
    return options.output
