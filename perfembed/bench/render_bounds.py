"""A campaign over typed bounds as text and as a document."""

from __future__ import annotations

from collections.abc import Mapping

from perfembed.bench.bounds.model import CampaignResult, Fault
from perfembed.bench.contents import BoundsContent, BoundsFault
from perfembed.report.documents import document
from perfembed.report.style import Style, count, seconds

_SHOWN = 20  # faults
_REASONS = 12


def render_bounds(result: CampaignResult, style: Style) -> str:
    """What was read and written, which loops ran, why nests were left alone, and the faults."""
    campaign, tally = result.campaign, result.tally
    counts: Mapping[str, int] = tally.counts
    head = f"{result.programs} programs of seed {campaign.seed}, from number {campaign.first} on"
    lines = [style.paint(f"{head}, in {seconds(result.seconds)}", "bold")]
    lines.append(
        f"  programs   {counts['programs'] - counts['undefined']} that C defines for {counts['calls']} sets of values"
    )
    lines.append(
        f"  nests      {counts['nests']} read, {counts['refused']} loops refused, {counts['untestable']} untestable, "
        f"{counts['without code']} without code"
    )
    lines.append(
        f"  schedules  {counts['rewritten']} of nests, {counts['reordered']} of them not the order of the source"
    )
    lines.append(
        f"  runs       {counts['runs']}: {share(counts['runs tuned'], counts['runs'])} ran tuned loops, "
        f"{share(counts['runs original'], counts['runs'])} the original ones alone, "
        f"{share(counts['runs without nest'], counts['runs'])} no nest that was written"
    )
    lines.append(f"  nests run  {counts['nests run']}: {share(counts['nests run tuned'], counts['nests run'])} tuned")
    lines.append(
        f"             {counts['nests never tuned']} of {counts['nests reached']} nests, under a schedule in a way, "
        "never ran tuned"
    )
    for reason, number in tally.refused.most_common(_REASONS):
        lines.append(f"  {number:>9}  {reason}")
    for fault in tally.faults[:_SHOWN]:
        lines += ["", *_shown(fault, result, style)]
    if len(tally.faults) > _SHOWN:
        lines.append(f"… and {len(tally.faults) - _SHOWN} more; --json has them all")
    stopped = "interrupted; " if result.interrupted else ""
    return "\n".join([*lines, "", f"{stopped}{count(len(tally.faults), 'fault')}"])


def share(part: int, whole: int) -> str:
    """Percent."""
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def _again(fault: Fault, result: CampaignResult) -> str:
    begin = result.campaign.first + (fault.program - result.campaign.first) // 10 * 10
    flags = "".join(f" --flags '{text}'" for text in result.campaign.flags if text)
    return (
        f"perfembed bench bounds --seed {result.campaign.seed} --first {begin} --programs 10{flags} --reduce --keep DIR"
    )


def _shown(fault: Fault, result: CampaignResult, style: Style) -> list[str]:
    """With the function, which `--reduce` made small."""
    lines = [
        style.paint(f"program {fault.program}: {fault.kind}{f' ({fault.way})' if fault.way else ''}", "bold", "red")
    ]
    lines += [f"  again      {_again(fault, result)}"]
    if fault.values:
        lines.append(f"  values     {' '.join(map(str, fault.values))}")
    lines += [f"  schedule   {schedule}" for schedule in fault.schedules]
    lines += [f"  {line}" for line in fault.detail.splitlines()[-14:]]
    if fault.unit is not None:
        lines += [f"    {line}" for line in fault.unit.text().splitlines()]
    return lines


def bounds_document(result: CampaignResult) -> str:
    campaign, tally = result.campaign, result.tally
    faults: list[BoundsFault] = [
        {
            "program": fault.program,
            "kind": fault.kind,
            "way": fault.way,
            "flags": fault.flags,
            "schedules": list(fault.schedules),
            "values": list(fault.values),
            "detail": fault.detail,
            "function": fault.unit.text() if fault.unit is not None else "",
        }
        for fault in tally.faults
    ]
    content: BoundsContent = {
        "programs": result.programs,
        "seed": campaign.seed,
        "first": campaign.first,
        "counts": dict(sorted(tally.counts.items())),
        "refused": dict(tally.refused.most_common()),
        "faults": faults,
        "seconds": result.seconds,
        "interrupted": result.interrupted,
    }
    return document("bench bounds", content)
