"""Where a transfer's schedules come from, as one self-contained page: tables, and the matched nodes as a drawing."""

from __future__ import annotations

from collections.abc import Sequence

from perfembed.report.explanation import gained, profile_words
from perfembed.report.html import cell, code_cell, details, name_cell, number_cell, page, paragraph, row, table, text
from perfembed.report.style import percent, seconds, times
from perfembed.report.terminal import told
from perfembed.tuning.result import CandidateReport, MatchReport, NestReport, TransferReport, TuneResult

_DONORS = ("#", "donor", "from", "#distance", "#gained", "its schedule", "note")
_CANDIDATES = ("#", "from", "parameters", "#predicted", "#measured", "schedule")
_ROW = 26  # pixels
_LEFT, _RIGHT, _WIDTH = 170, 430, 600


def explanation_page(result: TuneResult) -> str:
    """HTML that needs no network and no script."""
    parts = [f"<h1>{text(result.path)}</h1>", paragraph(_summary(result))]
    for number, report in enumerate(result.nests):
        parts.append(f"<h2>{text(report.nest)}</h2>{paragraph(_nest_line(report))}")
        if report.transfer is not None:
            parts += transfer_parts(f"nest{number}", report.transfer)
    return page(f"perfembed: {result.path}", parts)


def _summary(result: TuneResult) -> str:
    before, after = result.program_before_s, result.program_after_s
    said = f"{sum(r.status == 'tuned' for r in result.nests)} of {len(result.nests)} nests tuned"
    if before and after:
        said += f"; the program: {seconds(before)} → {seconds(after)}, {times(before / after)} faster"
    return f"{said}; {result.compiler}, {' '.join(result.flags)}, {result.threads} threads, {result.machine}"


def _nest_line(report: NestReport) -> str:
    share = f"{percent(report.share)} of the run; " if report.share is not None else ""
    tuned = report.status == "tuned" and report.speedup
    if tuned and report.told_low is not None and report.told_high is not None:
        interval = f" [{times(report.told_low)}, {times(report.told_high)}] ({told(report)})"
    else:
        interval = ""
    gained = f"{times(tuned)} faster{interval}: {report.schedule}" if tuned else report.reason
    return f"{report.file}:{report.line}:{report.column}; {share}{report.status}: {gained}"


def transfer_parts(name: str, transfer: TransferReport) -> list[str]:
    """Donors, candidates, and of the chosen one its steps and the matched nodes. `name`: its own on the page."""
    ranks = {donor.nest_id: rank for rank, donor in enumerate(transfer.donors, 1)}
    failed = dict(transfer.failed)
    donors = [
        row(
            number_cell(rank),
            cell(f"{d.name}: {d.algorithm}"),
            cell(d.place),
            number_cell(f"{d.distance:.3f}"),
            number_cell(times(d.speedup)),
            code_cell(d.schedule),
            cell(f"leads to nothing: {failed[d.nest_id]}" if d.nest_id in failed else ""),
        )
        for rank, d in enumerate(transfer.donors, 1)
    ]
    parts = ["<h3>Nearest donors</h3>", table(_DONORS, donors, "Nearest donors")]
    if transfer.profile is not None:
        parts.append(paragraph(f"Profile: {profile_words(transfer.profile)}."))
    candidates = [_candidate(number, c, ranks) for number, c in enumerate(transfer.candidates, 1)]
    parts += [f"<h3>Candidates: the best of {transfer.pool}</h3>", table(_CANDIDATES, candidates, "Candidates")]
    for c in transfer.candidates:
        if c.chosen and c.steps:
            rows = [
                row(cell(s.action, s.action), code_cell(s.donor), code_cell(s.steps), cell(s.reason)) for s in c.steps
            ]
            whose = f"Steps of {c.refines}, whose sizes were then changed" if c.refines else "Its steps"
            head = ("what became of it", "donor's step", "here", "reason")
            parts += [f"<h3>{whose}</h3>", table(head, rows, whose)]
        if c.chosen and c.matches:
            parts += ["<h3>Nodes that stand for each other</h3>", *matched_nodes(name, c.matches)]
    return parts


def _candidate(number: int, c: CandidateReport, ranks: dict[str, int]) -> str:
    cells = (
        number_cell(number),
        cell(f"refined from {c.refines}" if c.refines else f"donor {ranks[c.donor]}" if c.donor in ranks else c.origin),
        cell(c.parameters),
        number_cell(times(c.predicted) if c.predicted is not None else ""),
        number_cell(gained(c).removeprefix("measured ")),
        code_cell(c.schedule),
    )
    return row(*cells, kind="chosen" if c.chosen else "")


def matched_nodes(name: str, matches: Sequence[MatchReport]) -> list[str]:
    """The donor's nodes to the left, the target's to the right; the nearer two are, the bolder the line."""
    theirs = list(dict.fromkeys((m.kind, m.target) for m in matches))
    height = _ROW * (max(len(matches), len(theirs)) + 1)
    said = "; ".join(f"{m.kind} {m.donor} stands for {m.target} at distance {m.distance:.3f}" for m in matches)
    parts = [
        f'<div class="scroll" tabindex="0" role="group" aria-label="Matched nodes">'
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'aria-labelledby="{name}-match-title {name}-match-text">',
        f'<title id="{name}-match-title">Matched nodes</title><desc id="{name}-match-text">{text(said)}</desc>',
    ]
    for position, match in enumerate(matches, 1):
        other = theirs.index((match.kind, match.target)) + 1
        width = 0.6 + 3.4 * max(0.0, 1 - match.distance)
        parts.append(
            f'<line class="match" x1="{_LEFT + 8}" y1="{position * _ROW - 4}" x2="{_RIGHT - 8}" '
            f'y2="{other * _ROW - 4}" stroke-width="{width:.1f}"><title>distance {match.distance:.3f}</title></line>'
        )
        label = text(f"{match.kind} {match.donor}")
        parts.append(f'<text class="code" x="{_LEFT}" y="{position * _ROW}" text-anchor="end">{label}</text>')
    for position, (kind, target) in enumerate(theirs, 1):
        parts.append(f'<text class="code" x="{_RIGHT}" y="{position * _ROW}">{text(f"{kind} {target}")}</text>')
    rows = [
        row(cell(m.kind), name_cell(m.donor), name_cell(m.target), number_cell(f"{m.distance:.3f}")) for m in matches
    ]
    head = ("kind", "donor's", "here", "#distance")
    listed = details("The same as a table", table(head, rows, "Matched nodes"))
    return ["\n".join((*parts, "</svg></div>")), listed]
