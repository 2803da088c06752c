"""Programs before and after, as text and as a document."""

from __future__ import annotations

import math
import statistics
from collections import Counter

from perfembed.bench.contents import ProgramsContent
from perfembed.bench.programs import OPENMP, SEQUENTIAL, TUNED, ProgramScore, ProgramsResult
from perfembed.report.documents import document
from perfembed.report.style import Style, count, markdown_table, seconds, table, times

_HEADER = [
    "program", "lines", "sequential", "OpenMP", "tuned", "spread", "over sequential", "over OpenMP", "seen",
    "tuned nests", "output", "took",
]  # fmt: skip


def render_programs(result: ProgramsResult, style: Style, *, markdown: bool = False) -> str:
    """A row a program, then what kept loops from being read. `markdown`: as docs/results/programs.md has it."""
    bench = result.bench
    head = (
        f"{count(len(result.scores), 'program')} at {count(bench.threads, 'thread')}, budget {seconds(bench.budget_s)}"
    )
    machines = sorted({s.machine for s in result.scores if s.machine})
    dates = sorted({s.date for s in result.scores if s.date})
    head = "; ".join([head, *machines, " to ".join(sorted({*dates[:1], *dates[-1:]}))])
    rows = [_HEADER, *map(_row, result.scores)]
    lines = [head, "", *markdown_table(rows)] if markdown else [head, *table(rows)]
    lines += [f"  {s.name}: {s.problem}" for s in result.scores if s.problem]
    over = ", ".join(f"{times(result.mean_gain(form))} over {form}" for form in (SEQUENTIAL, OPENMP))
    good = sum(s.output is True for s in result.scores)
    seen = statistics.fmean(s.seen for s in result.scores) if result.scores else math.nan
    mean = f"geometric mean of {good}: {over}; {seen:.0%} seen in the mean"
    lines += ["", mean if markdown else style.paint(mean, "bold")]
    reasons = sum((Counter(s.refused) for s in result.scores), Counter[str]())
    if reasons:
        lines += ["", "refused loops"]
        rows = [[str(number), reason] for reason, number in reasons.most_common(12)]
        lines += ["", *markdown_table([["loops", "reason"], *rows])] if markdown else table(rows, 2)
    return "\n".join(lines)


def _row(score: ProgramScore) -> list[str]:
    if score.problem:
        return [score.name, str(score.lines), *[""] * (len(_HEADER) - 2)]
    output = {True: "same", False: "DIFFERS", None: ""}[score.output]
    return [
        score.name,
        str(score.lines),
        *(seconds(score.best(form)) for form in (SEQUENTIAL, OPENMP, TUNED)),
        f"{score.spread:.0%}",
        times(score.gain(SEQUENTIAL)),
        times(score.gain(OPENMP)),
        f"{score.seen:.0%}",
        f"{score.nests_tuned} of {score.nests} ({score.tuned:.0%})",
        output,
        seconds(score.tuning_s),
    ]


def programs_document(result: ProgramsResult) -> str:
    content: ProgramsContent = {
        "threads": result.bench.threads,
        "budget_s": result.bench.budget_s,
        "interrupted": result.interrupted,
        "over_sequential": result.mean_gain(SEQUENTIAL),
        "over_openmp": result.mean_gain(OPENMP),
        "programs": result.scores,
    }
    return document("bench programs", dict(content))
