"""A spelling campaign as text and as a document."""

from __future__ import annotations

from perfembed.bench.contents import SpellingContent
from perfembed.bench.spelling.model import CampaignResult, Fault
from perfembed.report.documents import document
from perfembed.report.style import Style, seconds

_SHOWN = 20  # faults


def render_spelling(result: CampaignResult, style: Style) -> str:
    """What was read and written, then the faults, with how to see them again."""
    campaign, counts = result.campaign, result.counts
    head = f"{result.files} files of seed {campaign.seed}, from number {campaign.first}, in {seconds(result.seconds)}"
    lines = [style.paint(head, "bold")]
    plain = {name: n for name, n in counts.items() if not name.startswith("rewrite ")}
    lines += [f"{n:>10}  {name}" for name, n in plain.items()]
    rewrites = sorted(((n, name[8:]) for name, n in counts.items() if name.startswith("rewrite ")), reverse=True)
    if rewrites:
        lines.append(f"rewrites: {', '.join(f'{name} {n}' for n, name in rewrites)}")
    lines.append(f"{len(result.faults)} faults" if result.faults else "0 faults")
    for fault in result.faults[:_SHOWN]:
        lines += ["", *_shown(fault, result, style)]
    return "\n".join(lines)


def _shown(fault: Fault, result: CampaignResult, style: Style) -> list[str]:
    again = f"perfembed bench spelling --seed {result.campaign.seed} --first {fault.file} --files 1"
    what = f"file {fault.file} ({fault.base}): {fault.kind}"
    return [style.paint(what, "bold"), f"  again: {again} --every {result.campaign.every} --keep DIR",
            f"  rewrites: {', '.join(fault.rewrites) or 'none'}",
            *(f"  {line}" for line in fault.detail.splitlines()[-12:])]  # fmt: skip


def spelling_document(result: CampaignResult) -> str:
    campaign = result.campaign
    content: SpellingContent = {
        "files": result.files,
        "seed": campaign.seed,
        "first": campaign.first,
        "every": campaign.every,
        "counts": result.counts,
        "faults": result.faults,
        "seconds": result.seconds,
        "interrupted": result.interrupted,
    }
    return document("bench spelling", content)
