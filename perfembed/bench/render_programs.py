"""Programs before and after, as text and as a document."""

from __future__ import annotations

from collections import Counter

from perfembed.bench.contents import ProgramsContent
from perfembed.bench.programs import OPENMP, SEQUENTIAL, TUNED, ProgramScore, ProgramsResult
from perfembed.report.documents import document
from perfembed.report.style import Style, count, seconds, table, times

_HEADER = [
    "program", "lines", "sequential", "OpenMP", "tuned", "over sequential", "over OpenMP", "seen", "tuned nests",
    "output", "took",
]  # fmt: skip


def render_programs(result: ProgramsResult, style: Style) -> str:
    """A row a program, then what kept loops from being read."""
    bench = result.bench
    head = (
        f"{count(len(result.scores), 'program')} at {count(bench.threads, 'thread')}, budget {seconds(bench.budget_s)}"
    )
    lines = [head, *table([_HEADER, *map(_row, result.scores)])]
    lines += [f"  {s.name}: {s.problem}" for s in result.scores if s.problem]
    over = ", ".join(f"{times(result.mean_gain(form))} over {form}" for form in (SEQUENTIAL, OPENMP))
    good = sum(s.output is True for s in result.scores)
    lines += ["", style.paint(f"geometric mean of {good}: {over}", "bold")]
    reasons = sum((Counter(s.refused) for s in result.scores), Counter[str]())
    if reasons:
        lines += ["", "refused loops"]
        lines += table([[str(number), reason] for reason, number in reasons.most_common(12)], 2)
    return "\n".join(lines)


def _row(score: ProgramScore) -> list[str]:
    if score.problem:
        return [score.name, str(score.lines), *[""] * 8, ""]
    output = {True: "same", False: "DIFFERS", None: ""}[score.output]
    return [
        score.name,
        str(score.lines),
        *(seconds(score.best(form)) for form in (SEQUENTIAL, OPENMP, TUNED)),
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
