"""One nest on the page of a tuning: what was decided and why, and what was found out on the way."""

from __future__ import annotations

from perfembed.report.dependences import dependence_parts
from perfembed.report.explanation_page import transfer_parts
from perfembed.report.html import details, facts, paragraph, parts_or_why_not, text
from perfembed.report.roofline import roofline_parts, usable
from perfembed.report.style import count, percent, seconds, times
from perfembed.report.terminal import given, told, tried
from perfembed.report.timeline import timeline_parts
from perfembed.report.words import schedule_list
from perfembed.tuning.pictures import NestPicture, SourceLines
from perfembed.tuning.result import NestReport, TuneResult
from scheduler.ir.names import spelled

_MOST_LINES = 600  # of a source


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
