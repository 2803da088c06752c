"""What became of a nest, as the report tells it."""

from __future__ import annotations

from dataclasses import replace

from perfembed.tuning.nest_outcome import NestOutcome
from perfembed.tuning.pictures import TrialReport
from perfembed.tuning.result import NestReport
from scheduler.frontend import Rejection
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
