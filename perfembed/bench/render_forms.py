"""A campaign over forms of programs as text and as a document."""

from __future__ import annotations

from perfembed.bench.contents import FormsContent
from perfembed.bench.forms.model import CampaignResult, Fault
from perfembed.report.documents import document
from perfembed.report.style import Style, seconds

_SHOWN = 20  # faults
_COLUMNS = (
    *("programs", "undefined", "nests", "refused", "for values"),
    *("untestable", "rewritten", "reordered", "parallel loops"),
)


def render_forms(result: CampaignResult, style: Style) -> str:
    """What was read and written by form, then the faults, with how to see them again."""
    campaign, took = result.campaign, seconds(result.seconds)
    head = f"{result.programs} programs of seed {campaign.seed}, from number {campaign.first} on, in {took}"
    lines = [style.paint(head, "bold"), " " * 12 + "".join(f"{name:>16}" for name in _COLUMNS)]
    for form, counts in result.counts.items():
        lines.append(f"{form:12}" + "".join(f"{counts.get(name, 0):>16}" for name in _COLUMNS))
    lines.append(f"{len(result.faults)} faults")
    for fault in result.faults[:_SHOWN]:
        lines += ["", *_shown(fault, result, style)]
    return "\n".join(lines)


def _shown(fault: Fault, result: CampaignResult, style: Style) -> list[str]:
    chosen = f"--form {fault.form} --seed {result.campaign.seed} --first {fault.program} --programs 1"
    again = f"perfembed bench forms {chosen}"
    what = f"{fault.form}, program {fault.program}: {fault.kind}"
    lines = fault.detail.splitlines()
    return [style.paint(what, "bold"), f"  again: {again} --keep DIR", *(f"  {line}" for line in lines[-14:])]


def forms_document(result: CampaignResult) -> str:
    campaign = result.campaign
    content: FormsContent = {
        "programs": result.programs,
        "seed": campaign.seed,
        "first": campaign.first,
        "counts": result.counts,
        "faults": result.faults,
        "seconds": result.seconds,
        "interrupted": result.interrupted,
    }
    return document("bench forms", content)
