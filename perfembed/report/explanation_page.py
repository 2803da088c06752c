"""Where a transfer's schedules come from, as one self-contained page: tables, and the matched nodes as a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from perfembed.report.explanation import gained
from perfembed.report.style import percent, seconds, times
from perfembed.report.terminal import told
from perfembed.tuning.result import CandidateReport, MatchReport, NestReport, TransferReport, TuneResult

_DONORS = ("", "donor", "from", "distance", "gained", "its schedule", "")
_CANDIDATES = ("", "from", "parameters", "predicted", "measured", "schedule")
_ROW = 26  # pixels
_LEFT, _RIGHT, _WIDTH = 170, 430, 600
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1c2733; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #c9d3dc; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th { text-align: left; color: #5b6b7a; font-weight: 600; }
th, td { padding: .25rem .7rem .25rem 0; vertical-align: top; border-bottom: 1px solid #e6ebf0; }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.chosen { background: #e7f6ec; } .skipped { color: #a33; } .inserted, .substituted { color: #8a5a00; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
svg text { font: 13px ui-monospace, monospace; } svg line { stroke: #4a7fb5; }
"""


def explanation_page(result: TuneResult) -> str:
    """HTML that needs no network and no script."""
    parts = [f"<h1>{escape(result.path)}</h1>", f"<p>{escape(_summary(result))}</p>"]
    for report in result.nests:
        parts.append(f"<h2>{escape(report.nest)}</h2><p>{escape(_nest_line(report))}</p>")
        if report.transfer is not None:
            parts += _transfer(report.transfer)
    body = "\n".join(parts)
    title = f"<title>perfembed: {escape(result.path)}</title>"
    head = f'<head><meta charset="utf-8">{title}<style>{_STYLE}</style></head>'
    return f'<!doctype html>\n<html lang="en">{head}\n<body>\n{body}\n</body></html>\n'


def _summary(result: TuneResult) -> str:
    before, after = result.program_before_s, result.program_after_s
    text = f"{sum(r.status == 'tuned' for r in result.nests)} of {len(result.nests)} nests tuned"
    if before and after:
        text += f"; the program: {seconds(before)} → {seconds(after)}, {times(before / after)} faster"
    return f"{text}; {result.compiler}, {' '.join(result.flags)}, {result.threads} threads, {result.machine}"


def _nest_line(report: NestReport) -> str:
    share = f"{percent(report.share)} of the run; " if report.share is not None else ""
    tuned = report.status == "tuned" and report.speedup
    if tuned and report.told_low is not None and report.told_high is not None:
        interval = f" [{times(report.told_low)}, {times(report.told_high)}] ({told(report)})"
    else:
        interval = ""
    gained = f"{times(tuned)} faster{interval}: {report.schedule}" if tuned else report.reason
    return f"{report.file}:{report.line}:{report.column}; {share}{report.status}: {gained}"


def _transfer(transfer: TransferReport) -> list[str]:
    ranks = {donor.nest_id: rank for rank, donor in enumerate(transfer.donors, 1)}
    failed = dict(transfer.failed)
    donors = [
        _row(
            _number(rank),
            _text(f"{d.name}: {d.algorithm}"),
            _text(d.place),
            _number(f"{d.distance:.3f}"),
            _number(times(d.speedup)),
            _code(d.schedule),
            _text(f"leads to nothing: {failed[d.nest_id]}" if d.nest_id in failed else ""),
        )
        for rank, d in enumerate(transfer.donors, 1)
    ]
    parts = ["<h3>Nearest donors</h3>", _table(_DONORS, donors)]
    candidates = [_candidate(number, c, ranks) for number, c in enumerate(transfer.candidates, 1)]
    parts += [f"<h3>Candidates: the best of {transfer.pool}</h3>", _table(_CANDIDATES, candidates)]
    for c in transfer.candidates:
        if c.chosen and c.steps:
            rows = [
                _row(f'<td class="{s.action}">{s.action}</td>', _code(s.donor), _code(s.steps), _text(s.reason))
                for s in c.steps
            ]
            whose = f"Steps of {c.refines}, whose sizes were then changed" if c.refines else "Its steps"
            parts += [f"<h3>{whose}</h3>", _table(("", "donor's step", "here", "reason"), rows)]
        if c.chosen and c.matches:
            parts += ["<h3>Nodes that stand for each other</h3>", _drawing(c.matches)]
    return parts


def _candidate(number: int, c: CandidateReport, ranks: dict[str, int]) -> str:
    cells = (
        _number(number),
        _text(
            f"refined from {c.refines}" if c.refines else f"donor {ranks[c.donor]}" if c.donor in ranks else c.origin
        ),
        _text(c.parameters),
        _number(times(c.predicted) if c.predicted is not None else ""),
        _number(gained(c).removeprefix("measured ")),
        _code(c.schedule),
    )
    return _row(*cells, chosen=c.chosen)


def _drawing(matches: Sequence[MatchReport]) -> str:
    """The donor's nodes to the left, the target's to the right; the nearer two are, the bolder the line."""
    theirs = list(dict.fromkeys((m.kind, m.target) for m in matches))
    height = _ROW * (max(len(matches), len(theirs)) + 1)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" aria-label="matched nodes">']
    for row, match in enumerate(matches, 1):
        other = theirs.index((match.kind, match.target)) + 1
        width = 0.6 + 3.4 * max(0.0, 1 - match.distance)
        parts.append(
            f'<line x1="{_LEFT + 8}" y1="{row * _ROW - 4}" x2="{_RIGHT - 8}" y2="{other * _ROW - 4}" '
            f'stroke-width="{width:.1f}"><title>distance {match.distance:.3f}</title></line>'
        )
        name = escape(f"{match.kind} {match.donor}")
        parts.append(f'<text x="{_LEFT}" y="{row * _ROW}" text-anchor="end">{name}</text>')
    for row, (kind, target) in enumerate(theirs, 1):
        parts.append(f'<text x="{_RIGHT}" y="{row * _ROW}">{escape(f"{kind} {target}")}</text>')
    return "\n".join((*parts, "</svg>"))


def _table(head: Iterable[str], rows: Iterable[str]) -> str:
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    return "\n".join(("<table>", f"<tr>{titles}</tr>", *rows, "</table>"))


def _row(*cells: str, chosen: bool = False) -> str:
    mark = ' class="chosen"' if chosen else ""
    return f"<tr{mark}>{''.join(cells)}</tr>"


def _text(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _code(text: str) -> str:
    return f"<td><code>{escape(text)}</code></td>"


def _number(value: object) -> str:
    return f'<td class="number">{escape(str(value))}</td>'
