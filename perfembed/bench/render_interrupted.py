"""What became of interrupted runs, as text and as a document."""

from __future__ import annotations

from perfembed.bench.interrupted import EXAMPLES, InterruptedResult
from perfembed.report.documents import document, plain
from perfembed.report.style import Style, count, seconds


def render_interrupted(result: InterruptedResult, style: Style) -> str:
    """Verdict first, then what it rests on."""
    good = "nothing lost, nothing left"
    verdict = style.paint(good, "green") if result.passed else style.paint("NOT as it should be", "red")
    lines = [
        f"{count(result.kills, 'kill')}, {result.writing} of them while the file was written: {verdict}",
        f"{count(result.old, 'old file')}, {count(result.new, 'new one')}; {result.alone} times the command alone was "
        f"killed, its descendants ended within {seconds(result.slowest_end_s)}",
        f"{count(result.whole_runs, 'run')} to the end, {seconds(result.undisturbed_s)} undisturbed",
        *(f"  {problem}" for problem in result.problems[:EXAMPLES]),
    ]
    return "\n".join([*lines, *(["interrupted"] if result.interrupted else [])])


def interrupted_document(result: InterruptedResult) -> str:
    return document("bench interrupted", {"passed": result.passed, **plain(result)})
