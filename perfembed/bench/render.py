"""Replay times and campaigns as text and as documents."""

from __future__ import annotations

import statistics

from perfembed.bench.contents import LegalityContent, ReplayContent, TimingContent
from perfembed.bench.legality.model import CampaignResult, Disagreement
from perfembed.bench.replay import FRONTEND_AIM_MS, REPLAY_AIM_MS, FileTimes, ReplayTimes
from perfembed.bench.statistics import Distribution
from perfembed.bench.timing import TimingResult
from perfembed.report.documents import document, plain
from perfembed.report.style import Style, count, seconds, table

_SHOWN = 20  # disagreements, faults

# ---------------------------------------------------------------------------------- replay


def render_replay(times: ReplayTimes, style: Style) -> str:
    """One row a file, then the distributions over everything, in milliseconds."""
    header = ["file", "nests", "front end", "setup", "candidates", "legal", "replay", "cold", "codegen"]
    rows = [header, *(_file_row(f) for f in times.files)]
    lines = [style.paint("milliseconds: front end and setup a file, replay and codegen a candidate (median)", "bold")]
    lines += _right(rows)
    lines.append("")
    head = ["", "count", "min", "median", "p90", "max"]
    named = (
        ("front end of a file", times.frontend),
        ("setup of a nest (dependences)", times.setup),
        ("replay + legality of a candidate", times.replay),
        ("the same, nothing cached", times.cold),
        ("code generation of a candidate", times.codegen),
    )
    lines += _right([head, *([name, *_distribution(d)] for name, d in named)])
    lines.append("")
    lines.append(_aim("replay + legality, median", times.replay.median, REPLAY_AIM_MS, style))
    lines.append(_aim("the same, nothing cached", times.cold.median, REPLAY_AIM_MS, style))
    lines.append(_aim("front end, slowest file", times.frontend.greatest, FRONTEND_AIM_MS, style))
    faults = [f"{_stem(f.path)}: {n.nest}: {fault}" for f in times.files for n in f.nests for fault in n.faults]
    lines += [f"code generation failed: {fault}" for fault in faults[:_SHOWN]]
    return "\n".join(lines)


def _file_row(f: FileTimes) -> list[str]:
    if f.problem:
        return [_stem(f.path), f.problem[:60], "", "", "", "", "", "", ""]
    replay, codegen = Distribution.of(f.replay), Distribution.of(f.codegen)
    setup, legal = sum(n.setup for n in f.nests), sum(n.legal for n in f.nests)
    texts = [str(len(f.nests)), _ms(f.frontend), _ms(setup), str(replay.count), str(legal)]
    return [_stem(f.path), *texts, _ms(replay.median), _ms(Distribution.of(f.cold).median), _ms(codegen.median)]


def _stem(path: str) -> str:
    return path.rpartition("/")[2]


def _distribution(d: Distribution) -> list[str]:
    return [str(d.count), *map(_ms, (d.least, d.median, d.p90, d.greatest))]


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _aim(what: str, value: float, aim: float, style: Style) -> str:
    verdict = style.paint("met", "green") if value < aim else style.paint("missed", "red")
    return f"{what}: {_ms(value)} ms, aim < {aim:g} ms: {verdict}"


def _right(rows: list[list[str]]) -> list[str]:
    """A table whose columns after the first are aligned to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    padded = [[row[0], *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))] for row in rows]
    return table(padded)


def replay_document(times: ReplayTimes) -> str:
    content: ReplayContent = {
        "unit": "ms",
        "frontend": times.frontend,
        "setup": times.setup,
        "replay": times.replay,
        "cold": times.cold,
        "codegen": times.codegen,
        "legal": times.legal,
        "files": times.files,
    }
    return document("bench replay", content)


# -------------------------------------------------------------------------------- legality

_COUNTS = ("schedules", "variants", "legal", "illegal", "refused", "undecided")


def render_campaign(result: CampaignResult, style: Style) -> str:
    """Counts, then every disagreement with what it takes to see it again."""
    c, counts = result.campaign, result.counts
    parts = [f"{counts.get(name, 0)} {name}" for name in _COUNTS]
    lines = [f"{count(result.programs, 'program')} of seed {c.seed}, from number {c.first}; {'; '.join(parts)}"]
    for name in ("data-dependent programs", "invalid programs", "too hard programs", "not emitted"):
        lines += [f"{counts[name]} {name}"] if counts.get(name) else []
    planted = {name.removeprefix("planted "): n for name, n in counts.items() if name.startswith("planted ")}
    detail = ", ".join(f"{n} {name}" for name, n in sorted(planted.items(), key=lambda item: -item[1]))
    lines.append(f"{result.planted} planted illegal schedules rejected" + (f": {detail}" if detail else ""))
    runs = {name.removeprefix("compiled runs "): n for name, n in counts.items() if name.startswith("compiled runs ")}
    if runs:
        text = ", ".join(f"{n} by {cc}" for cc, n in runs.items())
        lines.append(f"{sum(runs.values())} runs of compiled code on {_threads(c.threads)} threads: {text}")
    for disagreement in result.disagreements[:_SHOWN]:
        lines += ["", *_disagreement(disagreement, c.seed, style)]
    number = len(result.disagreements)
    if number > _SHOWN:
        lines += ["", f"… and {number - _SHOWN} more; --json has them all"]
    verdict = style.paint(count(number, "disagreement"), "red" if number else "green")
    stopped = "interrupted; " if result.interrupted else ""
    return "\n".join([*lines, "", f"{stopped}{verdict} in {seconds(result.seconds)}"])


def _threads(threads: tuple[int, ...]) -> str:
    return ", ".join(map(str, threads[:-1])) + f" and {threads[-1]}" if len(threads) > 1 else str(threads[0])


def _disagreement(d: Disagreement, seed: int, style: Style) -> list[str]:
    given = ", ".join(f"{name}={value}" for name, value in d.parameters)
    return [
        style.paint(f"program {d.program}: {d.kind}" + (f" for {given}" if given else ""), "bold", "red"),
        f"  again: perfembed bench legality --seed {seed} --first {d.program} --programs 1",
        *(f"  {line}" for line in d.nest.rstrip("\n").split("\n")),
        *(f"  schedule: {line}" for line in (d.schedule or "none").split("\n")),
        *(["  sums may be reordered (--reassociate)"] if d.reassociate else []),
        *(f"  {line}" for line in d.detail.rstrip("\n").split("\n")),
    ]


def campaign_document(result: CampaignResult) -> str:
    c = result.campaign
    content: LegalityContent = {
        "seed": c.seed,
        "first": c.first,
        "programs": result.programs,
        "interrupted": result.interrupted,
        "seconds": result.seconds,
        "planted": result.planted,
        "counts": result.counts,
        "compilers": c.compilers,
        "threads": c.threads,
        "disagreements": result.disagreements,
    }
    shown = [{**plain(d), "parameters": dict(d.parameters)} for d in result.disagreements]
    return document("bench legality", {**content, "disagreements": shown})


def render_timing(result: TimingResult, style: Style) -> str:
    """False alarms against at most 1 %, planted slowdowns found against at least 90 %."""
    alarms = result.alarms / result.equal if result.equal else 0.0
    found = result.found / result.planted if result.planted else 0.0
    ratios = sorted(result.ratios)
    spread = f"{ratios[0]:.4f} to {ratios[-1]:.4f}, median {statistics.median(ratios):.4f}" if ratios else "none"
    missing = result.untold / result.equal if result.equal else 0.0
    lines = [
        f"{result.equal} comparisons of a nest with itself: {result.alarms} declared faster"
        f" ({alarms:.1%}, aim at most 1 %: {style.paint(*_verdict(alarms <= 0.01))}), {result.others} slower;"
        f" ratios {spread}",
        f"{result.untold} of their intervals as they are printed leave 1 out ({missing:.1%}, promised at most"
        f" {1 - result.told:.1%}: {style.paint(*_verdict(missing <= 1 - result.told))})",
        f"{result.planted} comparisons with one that is {result.bench.slowdown:.1%} slower: {result.found} found"
        f" ({found:.1%}, aim at least 90 %: {style.paint(*_verdict(found >= 0.9))}), {result.reversed} declared faster",
        f"{result.noisy} of them on a noisy machine; {'interrupted; ' if result.interrupted else ''}"
        f"{seconds(result.seconds)}",
    ]
    return "\n".join(lines)


def _verdict(met: bool) -> tuple[str, str]:
    return ("met", "green") if met else ("missed", "red")


def timing_document(result: TimingResult) -> str:
    content: TimingContent = {
        "slowdown": result.bench.slowdown,
        "equal": {"comparisons": result.equal, "faster": result.alarms, "slower": result.others},
        "planted": {"comparisons": result.planted, "slower": result.found, "faster": result.reversed},
        "ratios": result.ratios,
        "told": {"coverage": result.told, "missed": result.untold},
        "noisy": result.noisy,
        "seconds": result.seconds,
        "interrupted": result.interrupted,
    }
    return document("bench timing", content)
