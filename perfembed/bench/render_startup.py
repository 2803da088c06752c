"""Start-up costs as text and as a document."""

from __future__ import annotations

from collections.abc import Callable

from perfembed.bench.contents import StartupContent
from perfembed.bench.startup import AIMS, INSTALL_AIM_S, StartupResult
from perfembed.report.documents import document
from perfembed.report.style import Style, count, seconds, table

_NAMES = (
    ("library_s", "import perfembed"),
    ("help_s", "perfembed --help"),
    ("imports_s", "importing what tune needs"),
    ("program_s", "first program has run"),
    ("candidate_s", "first candidate measured"),
    ("processor_s", "processor time until then"),
    ("memory_bytes", "memory at most"),
)


def render_startup(result: StartupResult, style: Style) -> str:
    """Medians of both, and how many times as much the other one needs."""
    if not result.ours:
        return "nothing was measured"
    other = str(result.bench.against) if result.bench.against is not None else "torch loaded first"
    runs = count(len(result.ours), "run")
    lines = [style.paint(f"perfembed tune of an example: medians of {runs} of each, in alternation", "bold")]
    rows = [["", "this", other, "ratio", "aim"]]
    if result.installed is not None:
        ours, theirs = result.installed
        for label, values, show, aim in (
            ("pip install, cached", (ours.install_s, theirs.install_s), seconds, INSTALL_AIM_S),
            ("installed: perfembed", (ours.own_bytes, theirs.own_bytes), _mebibytes, None),
            ("installed: everything", (ours.all_bytes, theirs.all_bytes), _mebibytes, None),
        ):
            rows.append(_row(label, values, show, aim, style))
    for name, label in _NAMES:
        show = _mebibytes if name == "memory_bytes" else seconds
        rows.append(_row(label, result.median(name), show, AIMS.get(name), style))
    return "\n".join([*lines, *table(rows)])


def _row(
    label: str, values: tuple[float, float], show: Callable[[float], str], aim: float | None, style: Style
) -> list[str]:
    ours, theirs = values
    met = "" if aim is None else f"{show(aim)}: {'met' if ours <= aim else style.paint('missed', 'red')}"
    return [label, show(ours), show(theirs), f"{theirs / ours:.2f}", met]


def startup_document(result: StartupResult) -> str:
    content: StartupContent = {
        "against": str(result.bench.against) if result.bench.against is not None else None,
        "ours": result.ours,
        "theirs": result.theirs,
        "ratios": {name: theirs / ours for name, _ in _NAMES if result.ours for ours, theirs in (result.median(name),)},
        "installed": result.installed,
        "interrupted": result.interrupted,
    }
    return document("bench-startup", content)


def _mebibytes(value: float) -> str:
    return f"{value / 2**20:.0f} MiB"
