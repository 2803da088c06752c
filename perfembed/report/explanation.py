"""Where a transfer's schedules come from, as text."""

from __future__ import annotations

from perfembed.report.style import Style, count, one_line, percent, printable, seconds, table, times
from perfembed.report.terminal import render_result
from perfembed.tuning.result import CandidateReport, NestReport, ProfileReport, TransferReport, TuneResult

_PLACE = 40  # characters of where a donor comes from: of generated programs all that they were made with
_DONORS = ["donor", "gained", "distance", "algorithm", "from"]
_MATCHES = ["kind", "donor's", "here", "distance"]


def render_explanation(result: TuneResult, style: Style, *, verbose: bool = False) -> str:
    """For each nest its donors and candidates; of the chosen one (`verbose`: of all) steps and matched nodes."""
    lines: list[str] = []
    for report in result.nests:
        if report.transfer is not None:
            lines += [*_nest(report, report.transfer, style, verbose), ""]
    lines.append(render_result(result, style, quiet=any(report.transfer for report in result.nests)))
    return "\n".join(lines)


def _nest(report: NestReport, transfer: TransferReport, style: Style, verbose: bool) -> list[str]:
    where = f"{one_line(report.file)}:{report.line}:{report.column}"
    share = f", {percent(report.share)} of the run" if report.share is not None else ""
    lines = [style.paint(f"{report.nest} ({where}){share}", "bold")]
    rows = [
        [
            f"#{rank} {d.name}",
            times(d.speedup),
            f"{d.distance:.3f}",
            one_line(d.algorithm),
            _shortened(one_line(d.place)),
        ]
        for rank, d in enumerate(transfer.donors, 1)
    ]
    lines += table([_DONORS, *rows]) if rows else ["  no donor is known"]
    always = [rank for rank, d in enumerate(transfer.donors, 1) if d.portfolio]
    if always:
        lines.append(f"  #{always[0]}{f' to #{always[-1]}' if always[1:] else ''}: tried at every nest")
    if transfer.profile is not None:
        lines.append(f"  profile: {profile_words(transfer.profile)}")
    ranks = {d.nest_id: f"#{rank}" for rank, d in enumerate(transfer.donors, 1)}
    for donor, reason in transfer.failed:
        lines.append(f"  {ranks.get(donor, donor)} leads to nothing: {printable(reason)}")
    shown = count(len(transfer.candidates), "candidate")
    lines.append(f"  {shown} to measure, the best of {transfer.pool} that the donors lead to")
    for number, candidate in enumerate(transfer.candidates, 1):
        lines += _candidate(number, candidate, ranks, style, verbose)
    return lines


def profile_words(profile: ProfileReport) -> str:
    """Why a nest was profiled, by whom, and what that changed."""
    if profile.problem:
        return f"none ({profile.reason}): {printable(profile.problem)}"
    left = ", ".join(one_line(name) for _, name in profile.left)
    changed = f"without it {left} would be among the donors" if left else "the donors are the same without it"
    return f"{profile.source}, {seconds(profile.seconds)} ({profile.reason}); {changed}"


def _candidate(
    number: int, candidate: CandidateReport, ranks: dict[str, str], style: Style, verbose: bool
) -> list[str]:
    origin = f"from {ranks.get(candidate.donor, candidate.donor)}" if candidate.donor else candidate.origin
    facts = [f"refined from {candidate.refines}" if candidate.refines else origin]
    if candidate.parameters:
        facts.append(f"parameters {candidate.parameters}")
    if candidate.predicted is not None:
        between = " to ".join(map(times, candidate.predicted_range or ()))
        facts.append(f"predicted {times(candidate.predicted)}{f' ({between})' if between else ''}")
    facts.append(gained(candidate))
    head = f"  {number:2d} {', '.join(facts)}"
    lines = [style.paint(f"{head}  <- chosen", "green") if candidate.chosen else head]
    lines.append(" " * 5 + style.paint(style.clauses(candidate.schedule, 5), "dim"))
    if candidate.chosen or (verbose and not candidate.refines):
        if candidate.refines and candidate.steps:
            lines.append(f"       steps of {candidate.refines}, whose sizes were then changed:")
        lines += table([[s.action, _step_text(s.donor, s.steps), s.reason] for s in candidate.steps], 7)
        if candidate.matches:
            rows = [[m.kind, m.donor, m.target, f"{m.distance:.3f}"] for m in candidate.matches]
            lines += table([_MATCHES, *rows], 7)
    return lines


def gained(candidate: CandidateReport) -> str:
    """What was measured, in words."""
    if candidate.measured is None:
        return "not measured"
    said = "given up below" if candidate.given_up else "measured"
    return f"{said} {times(candidate.measured)}{' on less work' if candidate.estimated else ''}"


def _shortened(place: str) -> str:
    line = one_line(place)
    return line if len(line) <= _PLACE else f"{line[: _PLACE - 1]}…"


def _step_text(donor: str, steps: str) -> str:
    return f"{donor or '-'}  =>  {steps}" if steps else donor
