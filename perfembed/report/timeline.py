"""What was run of a nest over time: every candidate, the best so far, and the loops as they were written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from perfembed.report.charts import Plot, chart, linear, logarithmic
from perfembed.report.html import cell, code_cell, details, number_cell, paragraph, row, table
from perfembed.report.style import count, seconds, times
from perfembed.tuning.pictures import TrialReport
from perfembed.tuning.result import NestReport

_HEIGHT = 260
_MOST = 400  # candidates that are listed


def timeline_parts(name: str, report: NestReport) -> list[str]:
    """The drawing and, folded, its table. `name`: its own on the page."""
    shown = [t for t in report.trials if 0 <= t.at_s < math.inf]
    if not shown:
        return [paragraph("No candidate was run.")]
    timed = [t for t in shown if _timed(t)]
    parts = [_drawing(name, report, shown)] if timed else []
    rows = [_row(t, report.original_s) for t in shown[:_MOST]]
    if len(shown) > _MOST:
        rows.append(row(cell(f"… and {len(shown) - _MOST} more")))
    listed = table(["#after", "#a call", "#speedup", "note", "schedule"], rows, "Candidates in the order of time")
    return [*parts, details(f"All {count(len(shown), 'candidate')} as a table", listed, opened=not timed)]


def _timed(trial: TrialReport) -> bool:
    return trial.seconds is not None and 0 < trial.seconds < math.inf


def best_so_far(trials: Sequence[TrialReport]) -> list[tuple[float, float]]:
    """(when, the fastest until then in seconds) wherever a candidate was faster than all before it."""
    found: list[tuple[float, float]] = []
    for trial in trials:
        if _timed(trial) and not trial.given_up:
            assert trial.seconds is not None
            if not found or trial.seconds < found[-1][1]:
                found.append((trial.at_s, trial.seconds))
    return found


def _drawing(name: str, report: NestReport, shown: Sequence[TrialReport]) -> str:
    original = report.original_s if report.original_s and 0 < report.original_s < math.inf else None
    values = [t.seconds for t in shown if _timed(t) and t.seconds is not None] + ([original] if original else [])
    last = max(t.at_s for t in shown)
    plot = Plot(linear(last, 0.09, 0.04), logarithmic((v * 1e3 for v in values), 1.6, 1.4), _HEIGHT)
    parts = plot.axes("seconds since the nest was begun", "ms a call, logarithmic")
    if original:
        parts.append(plot.line((0, original * 1e3), (plot.x.high, original * 1e3), "level"))
        said = f"as written: {seconds(original)}"
        parts.append(plot.label((plot.x.high, original * 1e3), said, dx=2, dy=-5))
    best = best_so_far(shown)
    until = [*(at for at, _ in best[1:]), plot.x.high]
    for (at, taken), end in zip(best, until, strict=False):  # nothing is best where every one was given up
        parts.append(plot.line((at, taken * 1e3), (end, taken * 1e3), "best"))
    for (_, before), (at, taken) in pairwise(best):
        parts.append(plot.line((at, before * 1e3), (at, taken * 1e3), "best"))
    for trial in sorted(shown, key=lambda t: t.chosen):
        parts.append(_mark(plot, trial, original))
    if best:
        at, taken = best[-1]
        parts.append(plot.label((plot.x.high, taken * 1e3), f"best: {seconds(taken)}", dx=2, dy=16))
    failed = sum(t.seconds is None for t in shown)
    description = (
        f"{count(len(shown), 'candidate')} in {seconds(last)}"
        + (f", {failed} of them failed" if failed else "")
        + (f"; the loops as written take {seconds(original)} a call" if original else "")
        + (f"; the best takes {seconds(best[-1][1])}, found after {seconds(best[-1][0])}" if best else "")
    )
    caption = (
        "Each dot is a candidate; a triangle was stopped when it had taken that long, a ring ran on less work, a cross "
        "failed, the diamond was chosen. The line is the best so far."
    )
    drawing = chart(name, _HEIGHT + 12, f"Candidates of {report.nest} over time", description, parts, above=20)
    return f"<figure>{drawing}<figcaption>{caption}</figcaption></figure>"


def _mark(plot: Plot, trial: TrialReport, original: float | None) -> str:
    said = f"after {seconds(trial.at_s)}: {_outcome(trial, original)}: {trial.schedule}"
    if not _timed(trial) or trial.seconds is None:
        return plot.mark_at("cross", trial.at_s, plot.down(plot.y.low) - 8, "fail", said)
    at = (trial.at_s, trial.seconds * 1e3)
    if trial.chosen:
        return plot.mark("diamond", at, "after", said)
    if trial.given_up:
        return plot.mark("up", at, "dot", said)
    return plot.mark("circle", at, "open" if trial.estimated else "dot", said)


def _outcome(trial: TrialReport, original: float | None) -> str:
    if not _timed(trial) or trial.seconds is None:
        return "failed"
    gained = f", {times(original / trial.seconds)}" if original else ""
    said = "stopped, it takes more than " if trial.given_up else ""
    return f"{said}{seconds(trial.seconds)}{gained}{' on less work' if trial.estimated else ''}"


def _row(trial: TrialReport, original: float | None) -> str:
    timed = _timed(trial) and trial.seconds is not None
    taken = trial.seconds if timed and trial.seconds is not None else None
    notes = [
        "chosen" if trial.chosen else "",
        "stopped: takes more" if trial.given_up else "",
        "on less work" if trial.estimated else "",
        "" if timed else "failed",
    ]
    return row(
        number_cell(seconds(trial.at_s)),
        number_cell(seconds(taken) if taken else ""),
        number_cell(times(original / taken) if taken and original else ""),
        cell(", ".join(filter(None, notes))),
        code_cell(trial.schedule),
        kind="chosen" if trial.chosen else "",
    )
