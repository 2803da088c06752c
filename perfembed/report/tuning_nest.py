"""One nest on the page of a tuning: what was decided and why, and what was found out on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perfembed.report.dependences import dependence_parts
from perfembed.report.explanation import gained, profile_words
from perfembed.report.html import (
    cell,
    code_cell,
    details,
    facts,
    name_cell,
    number_cell,
    paragraph,
    parts_or_why_not,
    row,
    table,
    text,
)
from perfembed.report.roofline import roofline_parts, usable
from perfembed.report.style import count, percent, seconds, times
from perfembed.report.terminal import given, told, tried
from perfembed.report.timeline import timeline_parts
from perfembed.tuning.pictures import NestPicture, SourceLines
from perfembed.tuning.result import CandidateReport, DonorReport, MatchReport, NestReport, TransferReport, TuneResult
from scheduler.errors import SchedulerError
from scheduler.ir.names import spelled
from scheduler.schedule import format_transformation, parse_schedule

_MOST_LINES = 600  # of a source
_DONORS = ("#", "donor", "from", "#gained", "#distance", "its schedule", "note")
_CANDIDATES = ("#", "from", "parameters", "#predicted", "#measured", "schedule")
_ROW = 26  # pixels
_LEFT, _RIGHT, _WIDTH = 170, 430, 600


def nest_parts(name: str, report: NestReport, result: TuneResult) -> list[str]:
    """A section; `name` is its own on the page."""
    add = parts_or_why_not
    picture = report.picture or NestPicture()
    parts = [f'<section id="{name}">', f"<h2>{text(report.nest)}: {_verdict(report)}</h2>", *_decision(report)]
    if report.status == "tuned" and report.schedule:
        parts += ["<h3>The schedule, step by step</h3>", schedule_list(report.schedule)]
    if report.picture is not None:
        ceilings = result.ceilings if usable(result.ceilings) else None
        parts += ["<h3>Roofline</h3>", *add(lambda: roofline_parts(f"{name}-roof", report, ceilings, result.threads))]
    if report.trials:
        parts += ["<h3>Candidates over time</h3>", *add(lambda: timeline_parts(f"{name}-time", report))]
    if (transfer := report.transfer) is not None:
        folded = add(lambda: transfer_parts(name, transfer))
        parts.append(details("Where the candidates come from: donors, steps, matched nodes", *folded, opened=True))
    if picture.before is not None or picture.after is not None:
        parts += ["<h3>Source</h3>", *add(lambda: [_sources(report, picture)])]
    if report.picture is not None:
        parts += ["<h3>Dependences</h3>", *add(lambda: _dependences(picture))]
    return [*parts, "</section>"]


def _verdict(report: NestReport) -> str:
    if report.status == "tuned" and report.speedup:
        return f'<span class="good">{text(times(report.speedup))} faster</span>'
    return text(report.status)


def _decision(report: NestReport) -> list[str]:
    where = f"{report.file}:{report.line}:{report.column}" + (f", in {report.function}" if report.function else "")
    change = ""
    if report.original_s is not None:
        change = seconds(report.original_s)
        change += f" → {seconds(report.tuned_s)}" if report.tuned_s is not None else ""
    interval = ""
    if report.told_low is not None and report.told_high is not None:
        interval = f"{times(report.told_low)} to {times(report.told_high)}: {told(report)}"
    reason = "It was confirmed faster than the original, and computes the same." if report.status == "tuned" else ""
    parts = [
        paragraph(reason or f"{report.status.capitalize()}: {report.reason}."),
        facts(
            (
                ("where", where),
                ("share of the run", percent(report.share) if report.share is not None else ""),
                ("one call", change),
                ("speedup", interval),
                ("for", given(report)),
                ("no threads", report.no_threads),
                ("tried", tried(report) if report.candidates or report.failed else ""),
                ("normalized first", spelled(report.normalization)),
                ("checked", "; ".join(report.checks)),
                ("WRONG", report.other_values.wrong if report.other_values is not None else ""),
                ("given back", "the whole program was not right, or not faster, with it" if report.given_back else ""),
            )
        ),
    ]
    if report.notes:
        notes = "".join(f"<li>{text(note)}</li>" for note in report.notes)
        parts.append(details(f"{count(len(report.notes), 'note')} on the way", f"<ul>{notes}</ul>"))
    return parts


def _sources(report: NestReport, picture: NestPicture) -> str:
    sides = [
        _source(title, lines)
        for title, lines in (("as it was", picture.before), ("as it is written", picture.after))
        if lines is not None
    ]
    kind = ' class="sides"' if len(sides) > 1 else ""
    return "\n".join((f"<div{kind}>", *sides, "</div>"))


def _source(title: str, lines: SourceLines) -> str:
    shown = lines.text.split("\n")
    more = ""
    if len(shown) > _MOST_LINES:
        more = paragraph(f"… and {len(shown) - _MOST_LINES} more lines", "note")
        shown = shown[:_MOST_LINES]
    body = "".join(
        f'<span class="l" data-n="{number}">{text(line)}</span>' for number, line in enumerate(shown, lines.first)
    )
    last = lines.first + len(shown) - 1
    label = text(f"{title}, lines {lines.first} to {last}")
    return (
        f'<figure><figcaption>{label}</figcaption><pre tabindex="0" role="group" aria-label="Source {label}">'
        f"<code>{body}</code></pre>{more}</figure>"
    )


def _dependences(picture: NestPicture) -> list[str]:
    parts: list[str] = []
    if picture.problem and not picture.text:
        return [paragraph(f"Not known: {picture.problem}.")]
    parts += dependence_parts(picture.dependences)
    if picture.text:
        shown = f'<pre tabindex="0" role="group" aria-label="The nest"><code>{text(picture.text)}</code></pre>'
        parts.append(details("The nest with the names of its statements", shown))
    return parts


def _notes(donor: DonorReport, failed: Mapping[str, str]) -> Iterator[str]:
    if donor.portfolio:
        yield "tried at every nest"
    if donor.nest_id in failed:
        yield f"leads to nothing: {failed[donor.nest_id]}"


def transfer_parts(name: str, transfer: TransferReport) -> list[str]:
    """Donors, candidates, and of the chosen one its steps and the matched nodes. `name`: its own on the page."""
    ranks = {donor.nest_id: rank for rank, donor in enumerate(transfer.donors, 1)}
    failed = dict(transfer.failed)
    donors = [
        row(
            number_cell(rank),
            cell(f"{d.name}: {d.algorithm}"),
            cell(d.place),
            number_cell(times(d.speedup)),
            number_cell(f"{d.distance:.3f}"),
            code_cell(d.schedule),
            cell("; ".join(_notes(d, failed))),
        )
        for rank, d in enumerate(transfer.donors, 1)
    ]
    parts = ["<h3>Donors</h3>", table(_DONORS, donors, "Donors")]
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


def schedule_list(schedule: str) -> str:
    """An ordered list; a schedule that this version cannot read is shown as it stands."""
    try:
        steps = parse_schedule(schedule)
    except SchedulerError:
        return f"<p><code>{text(schedule)}</code></p>"
    items = (
        f"<li>{text(spelled(step.words()))} <code>{text(spelled(format_transformation(step)))}</code></li>"
        for step in steps
    )
    return "\n".join(('<ol class="steps">', *items, "</ol>"))
