"""A tuning as one self-contained page: no network, no script. Made of a result, and so of a JSON document, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfembed.report.charts import Segment, bar, chart, swatch, written
from perfembed.report.html import (
    cell,
    facts,
    head_cell,
    number_cell,
    page,
    paragraph,
    parts_or_why_not,
    row,
    table,
    text,
)
from perfembed.report.style import count, day, percent, seconds, times
from perfembed.report.terminal import took
from perfembed.report.tuning_nest import nest_parts
from perfembed.tuning.result import NestReport, TuneResult

_REST = 7  # the colour of what is in no nest
_ROW = 30  # pixels


def tuning_page(result: TuneResult) -> str:
    """HTML. Everything that is in the result is taken for text, whatever it holds."""
    shown = [report for report in result.nests if report.status in ("tuned", "kept")]
    others = [report for report in result.nests if report.status not in ("tuned", "kept")]
    names = [f"nest{number}" for number in range(len(shown))]
    parts = [f"<h1>perfembed: {text(result.path)}</h1>", *_head(result), _contents(shown, names, bool(others))]
    parts += [
        '<section id="time">',
        "<h2>Where the program's time went</h2>",
        *parts_or_why_not(lambda: _program_parts(result)),
        "</section>",
    ]
    parts += [
        '<section id="phases">',
        "<h2>Where the tuning's time went</h2>",
        *parts_or_why_not(lambda: _phase_parts(result)),
        "</section>",
    ]
    for name, report in zip(names, shown, strict=True):
        parts += nest_parts(name, report, result)
    if others:
        parts += ['<section id="others">', "<h2>Left alone</h2>", _others(others), "</section>"]
    return page(f"perfembed: {result.path}", parts)


def summary(result: TuneResult) -> str:
    """HTML of a few lines, for a notebook: the program, and a table of its nests."""
    rows = [
        row(
            head_cell(report.nest),
            cell(f"{report.file}:{report.line}"),
            cell(report.status),
            number_cell(percent(report.share) if report.share is not None else ""),
            number_cell(times(report.speedup) if report.status == "tuned" and report.speedup else ""),
            cell(report.schedule if report.status == "tuned" else report.reason),
        )
        for report in result.nests
    ]
    head = ("nest", "where", "status", "#share", "#faster", "schedule, or why not")
    return "\n".join((paragraph(_said(result)), table(head, rows, "Nests of the program")))


def _said(result: TuneResult) -> str:
    """What became of the program, in a sentence or two."""
    before, after = result.program_before_s, result.program_after_s
    tuned = sum(report.status == "tuned" for report in result.nests)
    said = f"{tuned} of {count(len(result.nests), 'nest')} tuned"
    if before and after:
        ratio = before / after
        change = f"{times(ratio)} faster" if ratio >= 1.005 else "not faster" if ratio > 0.995 else "slower"
        return f"The program: {seconds(before)} → {seconds(after)}, {change}. {said}."
    return f"The program takes {seconds(before)}. {said}." if before else said


def _head(result: TuneResult) -> list[str]:
    same = f"the original's within {result.tolerance:g}" if result.tolerance else "identical to the original's"
    same += f" {result.program_output_note}" if result.program_output_note else ""
    output = {True: same, False: "DIFFERS from the original's", None: ""}
    duration = took(result) + (f"; the budget was {seconds(result.budget_s)}" if result.budget_s else "")
    return [
        paragraph(_said(result), "lead"),
        facts(
            (
                ("machine", result.machine),
                ("compiler", result.compiler),
                ("flags", " ".join(result.flags)),
                ("threads", str(result.threads)),
                ("date", day(result.date)),
                ("search", result.search),
                ("the tuning took", duration),
                ("the program's output", output[result.program_output_equal]),
                ("written", result.output_path or "nothing"),
                ("interrupted", "what was confirmed until then is kept" if result.interrupted else ""),
            )
        ),
    ]


def _contents(shown: Sequence[NestReport], names: Sequence[str], others: bool) -> str:
    links = [("time", "The program's time"), ("phases", "The tuning's time")]
    links += [(name, report.nest) for name, report in zip(names, shown, strict=True)]
    links += [("others", "Left alone")] if others else []
    items = "".join(f'<li><a href="#{name}">{text(title)}</a></li>' for name, title in links)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


# -------------------------------------------------------------------------------- the program's time


@dataclass(frozen=True, slots=True)
class _Part:
    """A nest's seconds in one run of the program, before and (by its own speedup) after."""

    name: str
    function: str
    before: float
    after: float
    color: int


def program_parts(result: TuneResult) -> tuple[list[_Part], float, float]:
    """(the nests that have a share of the program's time, longest first; the whole before; the whole after).

    What the nests take afterwards follows from what was measured of each; what is left of the program's measured time
    is the rest; what runs inside of another nest is that one's. Without a `main` the parts are single calls, and the
    wholes their sums.
    """
    whole = result.program_before_s
    parts: list[_Part] = []
    for report in result.nests:
        if whole and report.share is not None:
            taken = (report.share - report.inside) * whole
        elif not whole and report.original_s is not None:
            taken = report.original_s
        else:
            continue
        gained = report.speedup if report.status == "tuned" and report.speedup else 1.0
        if taken > 0 and gained > 0:
            parts.append(_Part(report.nest, report.function or "", taken, taken / gained, 0))
    parts.sort(key=lambda part: -part.before)
    parts = [_Part(p.name, p.function, p.before, p.after, min(k, _REST - 1)) for k, p in enumerate(parts)]
    before, after = sum(p.before for p in parts), sum(p.after for p in parts)
    if not whole:
        return parts, before, after
    changed = any(p.after != p.before for p in parts)
    return parts, max(whole, before), max(result.program_after_s or (whole if not changed else 0.0), after)


def _program_parts(result: TuneResult) -> list[str]:
    parts, before, after = program_parts(result)
    if not parts:
        return [paragraph("Nothing is known of it: no nest was timed.")]
    single = not result.program_before_s
    what = "one call of each nest" if single else "the program"
    figure: list[str] = []
    y = 0.0
    unchanged = all(part.before == part.after for part in parts) and after == before
    for title, whole, of in (("before", before, "before"), ("after", after, "after"))[: 1 if unchanged else 2]:
        figure.append(written("0", y + 13, f"{'unchanged' if unchanged else title}: {seconds(whole)}"))
        figure += _flame(parts, whole, max(before, after), y + 20, of)
        y += 4 * _ROW + 6
    said = f"{what} takes {seconds(before)} before and {seconds(after)} after; " + "; ".join(
        f"{p.name} {seconds(p.before)} and {seconds(p.after)}" for p in parts[:12]
    )
    drawing = chart("flame", int(y), f"Time of {what} by nest", said, figure)
    caption = (
        "Both bars have one scale. On top all of it, below it the functions, then their nests. Afterwards a nest is as "
        "long as its measured speedup says, and the rest of the program what is left of the measured time."
    )
    rest_before, rest_after = before - sum(p.before for p in parts), after - sum(p.after for p in parts)
    rows = [_time_row(p.name, p.function, p.before, p.after, before, p.color) for p in parts]
    if not single:
        rows.append(_time_row("outside these nests", "", rest_before, rest_after, before, _REST))
    rows.append(_time_row(what, "", before, after, before, None))
    head = ("nest", "function", "#before", "#share", "#after", "#faster")
    return [f"<figure>{drawing}<figcaption>{caption}</figcaption></figure>", table(head, rows, f"Time of {what}")]


def _flame(parts: Sequence[_Part], whole: float, scale: float, y: float, when: str) -> list[str]:
    """Three rows: all, functions, nests."""

    def taken(part: _Part) -> float:
        return part.before if when == "before" else part.after

    functions: dict[str, list[_Part]] = {}
    for part in parts:
        functions.setdefault(part.function, []).append(part)
    rest = max(0.0, whole - sum(map(taken, parts)))
    outside = [Segment("", rest, _REST, f"outside these nests: {seconds(rest)}")] if rest > 0 else []
    rows = [
        [Segment(f"all {seconds(whole)}", whole, _REST, f"all: {seconds(whole)}")],
        [
            Segment(name or "file", sum(map(taken, inside)), 6, f"{name or 'file'}: {seconds(sum(map(taken, inside)))}")
            for name, inside in functions.items()
        ]
        + outside,
        [
            Segment(p.name, taken(p), p.color, f"{p.name}: {seconds(taken(p))}")
            for inside in functions.values()
            for p in inside
        ],
    ]
    return [piece for number, segments in enumerate(rows) for piece in bar(segments, scale, y + number * 26)]


def _time_row(name: str, function: str, before: float, after: float, whole: float, color: int | None) -> str:
    mark = swatch(color) if color is not None else ""
    faster = times(before / after) if after > 0 and before > 0 and color != _REST else ""  # the rest is what is left
    return row(
        f'<th scope="row">{mark}{text(name)}</th>',
        cell(function),
        number_cell(seconds(max(before, 0.0))),
        number_cell(percent(max(before, 0.0) / whole) if whole > 0 else ""),
        number_cell(seconds(max(after, 0.0))),
        number_cell(faster),
    )


# --------------------------------------------------------------------------------- the tuning's time


def _phase_parts(result: TuneResult) -> list[str]:
    spent = sorted(((name, taken) for name, taken in result.phases.items() if taken > 0), key=lambda item: -item[1])
    whole = sum(taken for _, taken in spent)
    if not spent:
        return [paragraph("That was not noted.")]
    segments = [Segment(name, taken, k, f"{name}: {seconds(taken)}") for k, (name, taken) in enumerate(spent)]
    said = "; ".join(segment.said for segment in segments)
    rows = [
        row(
            f'<th scope="row">{swatch(k)}{text(name)}</th>',
            number_cell(seconds(taken)),
            number_cell(percent(taken / whole)),
            cell(_PHASES.get(name, "")),
        )
        for k, (name, taken) in enumerate(spent)
    ]
    drawing = chart("phases-bar", 26, "The tuning's time by what took it", said, bar(segments, whole, 0))
    return [f"<figure>{drawing}</figure>", table(("phase", "#time", "#share", "what it is"), rows, "The tuning's time")]


_PHASES = {
    "starting": "loading the command",
    "front end": "reading the C file",
    "capture": "instrumenting the program and keeping the inputs of its nests",
    "retrieval": "finding donors and what they lead to",
    "legality": "search, proofs and the text of schedules",
    "compiling": "the C compiler",
    "original": "runs of the program and the nests as they were",
    "candidates": "runs of candidates",
    "confirming": "winner and original in turns",
    "checking": "outputs compared, and the whole program",
    "other values": "the tuned loops run on other sizes and values, with sanitizers",
    "waiting": "for others that measure on this machine",
    "other": "all else",
}


def _others(others: Sequence[NestReport]) -> str:
    rows = [
        row(
            head_cell(report.nest),
            cell(f"{report.file}:{report.line}:{report.column}"),
            cell(report.status, report.status),
            number_cell(percent(report.share) if report.share is not None else ""),
            cell(report.reason),
        )
        for report in others
    ]
    return table(("nest", "where", "status", "#share", "reason"), rows, "Nests that were left alone")
