"""Start-up costs as text and as a document."""

from __future__ import annotations

from perfembed.bench.contents import StartupContent
from perfembed.bench.startup import MEMORY_AIM_BYTES, TIME_AIM_S, StartupResult
from perfembed.report.documents import document
from perfembed.report.style import Style, count, seconds, table

_NAMES = (
    ("imports_s", "importing it"),
    ("program_s", "first program runs"),
    ("candidate_s", "first candidate measured"),
    ("memory_bytes", "memory at most"),
)


def render_startup(result: StartupResult, style: Style) -> str:
    """Medians of both, and how many times as much the other one needs."""
    if not result.ours:
        return "nothing was measured"
    other = str(result.bench.against) if result.bench.against is not None else "torch loaded first"
    runs = count(len(result.ours), "run")
    lines = [style.paint(f"perfembed tune of an example: medians of {runs} of each, in alternation", "bold")]
    rows = [["", "this", other, "ratio"]]
    for name, label in _NAMES:
        ours, theirs = result.median(name)
        shown = (_mebibytes(v) if name == "memory_bytes" else seconds(v) for v in (ours, theirs))
        rows.append([label, *shown, f"{theirs / ours:.2f}"])
    lines += table(rows)
    program_s, memory = result.median("program_s")[0], result.median("memory_bytes")[0]
    for label, met, aim in (
        ("first program", program_s <= TIME_AIM_S, seconds(TIME_AIM_S)),
        ("memory", memory <= MEMORY_AIM_BYTES, _mebibytes(MEMORY_AIM_BYTES)),
    ):
        lines.append(f"{label}: aim at most {aim}: {'met' if met else style.paint('missed', 'red')}")
    return "\n".join(lines)


def startup_document(result: StartupResult) -> str:
    content: StartupContent = {
        "against": str(result.bench.against) if result.bench.against is not None else None,
        "ours": result.ours,
        "theirs": result.theirs,
        "ratios": {name: theirs / ours for name, _ in _NAMES if result.ours for ours, theirs in (result.median(name),)},
        "interrupted": result.interrupted,
    }
    return document("bench-startup", content)


def _mebibytes(value: float) -> str:
    return f"{value / 2**20:.0f} MiB"
