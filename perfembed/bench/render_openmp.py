"""What became of OpenMP programs, as text and as a document."""

from __future__ import annotations

from perfembed.bench.contents import OpenmpContent
from perfembed.bench.openmp.check import OpenmpResult
from perfembed.report.documents import document
from perfembed.report.style import Style, count, table

_SHOWN = 20


def render_openmp(result: OpenmpResult, style: Style) -> str:
    """What was seen and done, then all that is wrong."""
    lines = [f"{count(result.programs, 'program')} with OpenMP pragmas, seed {result.bench.seed}"]
    lines += table([[str(number), what] for what, number in sorted(result.counts.items())], 2)
    for name, what in result.wrong[:_SHOWN]:
        lines += ["", style.paint(name, "bold", "red"), f"  {what}"]
    if len(result.wrong) > _SHOWN:
        lines += ["", f"… and {len(result.wrong) - _SHOWN} more; --json has them all"]
    stopped = "interrupted; " if result.interrupted else ""
    verdict = style.paint(f"{len(result.wrong)} wrong", "red" if result.wrong else "green")
    return "\n".join([*lines, "", f"{stopped}{verdict}"])


def openmp_document(result: OpenmpResult) -> str:
    content: OpenmpContent = {
        "seed": result.bench.seed,
        "draws": result.bench.draws,
        "programs": result.programs,
        "interrupted": result.interrupted,
        "counts": dict(sorted(result.counts.items())),
        "wrong": [{"program": name, "problem": what} for name, what in result.wrong],
    }
    return document("bench openmp", dict(content))
